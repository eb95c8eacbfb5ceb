# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check which kernel symbols a learner's driver uses.

interposer.c tracks the resources that a driver acquires and releases. So a driver may use only
those functions for devices and memory that the interposer wraps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from grader.exercise.files import driver_device
from grader.exercise.static_contract import hidden_accesses, stage_contract
from grader.exercise.static_contract.stage_contract import ContractViolation
from grader.lab import allowed_c, module

# The functions that interposer.c wraps, by their linker names in kernels from 6.1 on.
WATCHED = (
    "alloc_chrdev_region unregister_chrdev_region cdev_add cdev_del device_create device_destroy"
    " class_register __class_register class_unregister misc_register misc_deregister"
    " __kmalloc kmalloc_trace kmalloc_large vmalloc vzalloc kfree vfree"
    " __kmalloc_noprof __kmalloc_cache_noprof __kmalloc_large_noprof vmalloc_noprof vzalloc_noprof"
    " _copy_to_user _copy_from_user mutex_lock mutex_unlock"
).split()
# The functions for strings and memory that strings.c wraps, by the tables in that file.
STRINGS = re.findall(
    r"^(?:FUNCTION|PRINTS|PRINTS_LIST|SCANS)\((\w+)",
    (driver_device.SOURCES / "strings.c").read_text(),
    re.MULTILINE,
)
# The functions that locks.c wraps. The names of _SPINNING begin with _raw_spin, _raw_read or
# _raw_write.
_SPINNING = (
    "lock lock_bh lock_irq lock_irqsave unlock unlock_bh unlock_irq unlock_irqrestore"
).split()
LOCKS = (
    *"mutex_lock_interruptible mutex_lock_killable".split(),
    *"down_read down_read_interruptible down_read_killable up_read".split(),
    *"down_write down_write_killable up_write".split(),
    *(f"_raw_{kind}_{name}" for kind in ("spin", "read", "write") for name in _SPINNING),
)
# Functions that acquire no resource that must be released.
HARMLESS = re.compile(
    r"first_(may_fault|copies|atomic)|cdev_init|kmalloc_caches|random_kmalloc_seed|compat_ptr_ioctl|__this_module"
    r"|(no|noop)_llseek|nonseekable_open"
    r"|_?printk|dump_stack|_ctype"
    r"|raw_copy_(to|from)_user|_?copy_(to|from)_user|clear_user|__clear_user|copy_user_\w+"
    r"|__(get|put)_user_\w+|__(check_object_size|copy_overflow|virt_addr_valid|access_ok)"
    r"|validate_usercopy_range"
    r"|rep_movs_alternative|rep_stos_alternative"
    r"|(__)?mutex_\w+|down_(read|write)\w*|up_(read|write)|__init_rwsem|__rwlock_init"
    r"|__raw_spin_lock_init|_raw_(spin|read|write)_(un)?lock\w*|queued_\w+_slowpath"
    r"|lock_(acquire|release|is_held_type)|lockdep_\w+|debug_locks\w*|preempt_count\w*"
    r"|__(SCT__)?(SCK__)?(might_resched|preempt_schedule\w*)|__SC[TK]__\w+|dynamic_preempt_\w+"
    r"|__might_(sleep|fault)|__cond_resched|refcount_warn_saturate|arch_atomic\w*|atomic64_\w+"
    r"|(?:un)?block_signals\w*|[gs]et_signals\w*|signals_enabled"  # UML's way to stop interrupts
    r"|__warn_printk|warn_slowpath_fmt|__x86_return_thunk|__x86_indirect_thunk_\w+|__fentry__"
    r"|__stack_chk_(fail|guard)|__ref_stack_chk_guard|_?_?fortify_panic|current_task|pcpu_hot|task_size"
    r"|__(asan|ubsan|kasan|sanitizer)_\w+"
)
# Advice on the functions that are refused most often.
INSTEAD = {
    r"_?copy_.*|simple_(read|write)_\w+": "write the function yourself, with copy_to_user",
    r"__register_chrdev|register_chrdev_region|(__)?class_create": "for example misc_register",
    r"\w+_llseek\w*|vfs_setpos": "write the function yourself",
    r"_*k\w*alloc\w*|_*kmem\w*|__get_free\w*": "for example kmalloc or kzalloc",
}


# The prefixes of the names of the interposer's and the compiler's functions, which a driver must
# not define.
OTHERS = re.compile(r"__(wrap|real|tsan|ubsan|asan|kcsan|kasan|sanitizer)_")


# Kernel functions that access user memory without checking the address, or without checking whether
# the caller may sleep.
UNCHECKED = re.compile(
    r"raw_copy_(?:to|from)_user\w*|__copy_(?:to|from|in)_user\w*|copy_user_\w+"
    r"|rep_\w+_alternative|__copy_user_\w+|__(?:put|get)_user\w*|__clear_user\w*|unsafe_(?:put|get)_user"
    r"|unsafe_copy_(?:to|from)_user|user_(?:\w+_)?access_(?:begin|end|save|restore)"
)
CHECKED = "copy_to_user, copy_from_user, put_user and get_user, which check the address"
# The compiler does not instrument accesses by inline assembly, so race.c cannot detect their data
# races. Kernel headers wrap assembly in macros, which are named here, too. hidden_accesses.py finds
# the headers' own assembly.
ASSEMBLY = re.compile(
    r"(?:__)?asm(?:__)?|asm_(?:inline|volatile_goto|goto_output)|alternative\w*", re.IGNORECASE
)
# Atomic functions that return what they have read. locks.c could not tell such a read, which needs
# the lock like any other, from the count of a call.
ATOMIC = re.compile(
    r"\w*xchg\w*|\w*test_and_(?:set|clear|change)\w*|__(?:atomic|sync)_\w+"
    r"|atomic\w*_(?:fetch|return|test|unless|positive|negative|not_zero)\w*|(?:refcount|kref)_\w+"
)
# A second name of a variable. As the name of a constant it hides the accesses from the compiler.
ALIAS = re.compile(r"_*(?:alias|weakref|ifunc|symver)_*")
# Functions that do not wait for a lock. The answer to a call must not depend on other callers.
TRYING = re.compile(r"\w*try_?lock\w*|\w+_is_(?:locked|contended)|(?:__)?mutex_owner")
# race.c does not see variables that each CPU has for itself.
PER_CPU = re.compile(r"\w*_PER_CPU\w*|per_cpu\w*|(?:get|put)_cpu_\w+")
# Macros of kernel headers that join two words, and so could hide one of the words above.
JOINED = re.compile(r"_*PASTE|CONCATENATE|__CONCAT\w*")
# The macros of may_fault.h, which report accesses to user memory. A driver could replace them.
REPORTS = re.compile(
    "|".join(
        re.findall(
            r"^#define (\w+)\b.* first_", (driver_device.SOURCES / "may_fault.h").read_text(), re.M
        )
    )
)
# The words that a driver's source must not contain, and what it may use instead.
WORDS = {
    REPORTS: "only what the handout names",
    PER_CPU: "variables that all CPUs share",
    UNCHECKED: CHECKED,
    ASSEMBLY: "only C and functions of the kernel",
    ATOMIC: "atomic64_inc, atomic64_read and the like, or a lock, for a number that callers share",
    ALIAS: "one name for each variable",
    TRYING: "functions that wait for the lock, such as mutex_lock",
    JOINED: "names that are written in one word",
}


def violations(path: Path, tree: Path) -> list[ContractViolation]:
    """Return the violations in the driver's object; tree is the kernel's headers."""
    source = path.with_suffix(".c").read_text(errors="replace")
    kernels = module.exported(tree)
    found: list[ContractViolation] = [
        ContractViolation(instead, f"a use of {word}")
        for word in sorted(allowed_c.words(source))
        for pattern, instead in WORDS.items()
        if pattern.fullmatch(word)
    ]
    for letter, name in sorted(stage_contract.symbols(path)):
        if letter == "U" and not _is_allowed(name):
            advice = next((t for pattern, t in INSTEAD.items() if re.fullmatch(pattern, name)), "")
            message = f" ({advice})" if advice else ""
            found.append(
                ContractViolation(f"only what the handout names{message}", f"a use of {name}")
            )
        elif letter != "U" and (OTHERS.match(name) or (letter == "T" and name in kernels)):
            found.append(ContractViolation("names of its own", f"a {name}"))
        elif letter == "V":
            # The linker could resolve such a symbol to one of the interposer's functions. An
            # ordinary global symbol of the same name would be an error of the linker.
            message = "static functions and variables; write static before it"
            found.append(ContractViolation(message, f"a weak or common {name}"))
    return found[: stage_contract.SHOWN] + list(stage_contract.includes(path, tree, HEADERS))


def _is_allowed(name: str) -> bool:
    return name in WATCHED or name in STRINGS or HARMLESS.fullmatch(name) is not None


def evades(path: Path, folder: str, shown: str) -> str:
    """Return an error for a line that turns a sanitizer off, or whose access it does not report.

    path: the driver's object, beside its preprocessed text and its statements. folder: the driver's
    folder in their line markers. shown: this folder in the result.
    """
    text, statements = (
        path.with_suffix(suffix).read_text(errors="surrogateescape") for suffix in (".i", ".ssa")
    )
    message = allowed_c.unsanitized(text, f"{folder}/") or hidden_accesses.first(
        statements, f"{folder}/", stage_contract.symbols(path)
    )
    return message.replace(folder, shown)


HEADERS: Sequence[str] = ("first.h", "may_fault.h")
