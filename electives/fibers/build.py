# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build the module for a machine's kernel and the programs that use it, and boot with them."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from electives import imports, source_folder
from grader.base import paths, test_record, toml
from grader.base.errors import LabError
from grader.lab import allowed_c, guest_program, module
from grader.lab.machines import Contents, Machine, Running
from grader.lab.module import Kernel, Module, Recipe
from grader.lab.qemu import EMULATED_ARGUMENTS, EMULATED_CPU, Qemu
from grader.sandbox import SandboxView, run

HERE = Path(__file__).parent
SOURCES = HERE / "kernel"
TEST_PROGRAMS = HERE / "test_programs"
USER = HERE / "user"
VARIANTS = HERE / "variants"
DEVICE = "/dev/fibers"
KO = "/lib/fibers.ko"
# Time limit in seconds for short commands. It is long because of emulation on a busy computer.
PATIENCE = 60.0
OBJECTS = ("table", "fiber", "storage", "list")
# Two emulated CPUs with AVX, which QEMU supports from 7.2 on.
WIDE = Qemu("qemu-smp with AVX", "", ("-accel", "tcg"), 2, EMULATED_ARGUMENTS, "Haswell-noTSX")
# Two CPUs with a kernel that fills freed memory with a pattern, reports writes to freed memory, and
# stores where each block was allocated.
POISON = Qemu(
    "qemu-smp with poison", "", ("-accel", "tcg"), 2,
    f"{EMULATED_ARGUMENTS} slub_debug=FPZU", EMULATED_CPU,
)  # fmt: skip
# The file that accesses a thread's user registers, by kbuild's ARCH.
CONTEXTS = {"x86": "context_x86", "um": "context_um"}
# The files with a task. A learner's other files are not used: the variants replace functions by
# macros, and a learner's table.c could avoid these macros. Task 1 has the files of all contexts.
# Each task is tested with its own files only, so that no mistake costs the points of another task.
CONTEXT_FILES = tuple(sorted(f"{name}.c" for name in CONTEXTS.values()))
FILES_OF_TASKS: Mapping[int, tuple[str, ...]] = {
    number: CONTEXT_FILES if task["file"] in CONTEXT_FILES else (str(task["file"]),)
    for number, task in enumerate(toml.read(HERE / "tasks.toml")["task"], 1)
}
TASK_FILES = tuple(sorted({name for files in FILES_OF_TASKS.values() for name in files}))
# The object that each file of variants/ replaces. The variant file includes the source of that
# object. If the variant has a header, it is included before fiber.c.
STANDS_FOR = {
    "migration": "table",
    "mixed_fpu_state": "",
    "use_after_free": "fiber",
    "leak": "storage",
    "readers": "fiber",
    "interleaved": "table",
}
# The functions that a file of variants/ replaces in the whole module.
WRAPPED = {
    "readers": (
        *("fibers_convert", "fibers_create", "fibers_delete", "fibers_end"),
        *("kfree", "kvfree", "kfree_sensitive", "krealloc", "krealloc_noprof"),
        *("get_task_pid", "put_pid", "call_rcu", "kvfree_call_rcu"),
    )
}


class ModuleNotBuiltError(LabError):
    """The module does not build. The problem is the compiler's first error."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the module of fibers does not build: {problem}", "correct the source")


def recipe(
    arch: str,
    changed: Mapping[str, bytes] | None = None,
    variant: str = "",
    own: tuple[str, ...] = TASK_FILES,
) -> Recipe:
    """Return the recipe of the learner's module, or of the kit's module with changed files.

    variant: a file of variants/, which makes tests stricter or contains a fault for them to find.
    own: the files that are taken from the learner's copy; all others are the kit's.
    """
    kit = changed is not None
    folder = SOURCES if kit else source_folder.folder("fibers", SOURCES)
    files = _sources(folder, own)
    place = source_folder.build_name("fibers", folder, SOURCES)
    if folder != SOURCES and own != TASK_FILES:
        place += f"-{Path(own[0]).stem}"
    if changed is not None:
        files |= changed
        digest = hashlib.sha256(repr(sorted(changed.items())).encode()).hexdigest()
        place = f"fibers-{digest[:8]}"
    submission = None if kit else source_folder.submission()
    context = CONTEXTS[arch]
    objects = [*OBJECTS, context]
    if variant:
        objects[objects.index(STANDS_FOR[variant] or context)] = variant
        files[f"{variant}.c"] = (VARIANTS / f"{variant}.c").read_bytes()
        place += f"-{variant}"
    header = f"{variant}.h"
    settings = [f"LDFLAGS_fibers.o += --wrap={name}" for name in WRAPPED.get(variant, ())]
    if variant and (VARIANTS / header).is_file():
        files[header] = (VARIANTS / header).read_bytes()
        settings.append(f"CFLAGS_fiber.o += -include $(src)/{header}")
    others = {f"{name}.c" for name in CONTEXTS.values()} - {f"{context}.c"}
    return Recipe(
        name="fibers",
        folder=place,
        files={name: text for name, text in files.items() if name not in others},
        objects=tuple(objects),
        settings=tuple(settings),
        labels={"": paths.place(SOURCES), **{n: f"{paths.place(folder)}/{n}" for n in own}},
        shown={"": paths.shown(SOURCES), **{n: f"{paths.shown(folder)}/{n}" for n in own}},
        isolated=submission is not None,
    )


def _sources(folder: Path, own: Iterable[str]) -> dict[str, bytes]:
    """Return the files of the module: its own from a folder, all others from the kit."""
    homes = {path.name: SOURCES for path in sorted(SOURCES.iterdir())}
    homes |= dict.fromkeys(own, folder)
    return {
        name: (home / name).read_bytes() for name, home in homes.items() if (home / name).is_file()
    }


def excluded() -> list[str]:
    """Return a message for each source of the submission or the copy that is not used."""
    folder = source_folder.folder("fibers", SOURCES)
    return source_folder.excluded(folder, SOURCES, TASK_FILES)


# Symbols that other solutions may use. Symbols that the compiler or the kernel's configuration adds
# are in the kit's module, too, except for variants of their names.
ALSO = re.compile(
    # memory; variants/readers.c checks each function that frees
    r"kv?free|kfree_sensitive|kvfree_call_rcu|krealloc(_noprof)?"
    r"|__kmalloc\w*|kmalloc_(caches|trace|large)\w*|random_kmalloc_seed|kmemdup\w*"
    r"|mem(cpy|set|move|cmp)|__?copy_(to|from)_user|raw_copy_\w+_user"
    r"|__(get|put)_user_\w+|__(check_object_size|copy_overflow)|validate_usercopy_range"
    # tables, lists and bits
    r"|(__)?(xa|xas|idr|ida)_\w+|radix_tree_\w+|__list_\w+|rb_\w+|__rb_\w+|_find_\w+|__bitmap_\w+"
    # locks and RCU
    r"|_raw_(spin|read|write)_\w+|__raw_spin_lock_init|__rwlock_init|(__)?mutex_\w+"
    r"|(down|up)_(read|write)\w*|__init_rwsem|queued_\w+_slowpath|refcount_\w+"
    r"|call_rcu|synchronize_rcu|rcu_barrier|rcu_lock_map|__rcu_read_(un)?lock|rcu_read_lock_\w+"
    r"|lock_(acquire|release|is_held_type)|(debug_)?lockdep_\w+|debug_locks\w*"
    # threads and their registers
    r"|pid_task|get_pid_task|find_vpid|(get|put)_pid|get_task_pid|pid_v?nr\w*"
    r"|__task_pid_nr_ns|__put_task_struct\w*|__mmdrop|current_task|pcpu_hot|task_size"
    r"|kernel_fpu_(begin_mask|end)"
    # time, messages, and functions to which the compiler adds calls
    r"|ktime_get\w*|_?printk|dump_stack|seq_\w+|__warn_printk|warn_slowpath_fmt"
    r"|__(cond_resched|might_\w+)|__SC[TK]__\w+|preempt_schedule\w*|__fentry__|__stack_chk_\w+"
    r"|__x86_\w+_thunk\w*|(__)?fortify_panic|__(asan|kasan|ubsan)_\w+"
)
# Atomic operations that no claim may use: they do not order later accesses, or belong to the
# compiler, whose operations take their order as an argument.
_REFUSED_CLAIMS = {
    re.compile(r"\w*xchg\w*_(?:relaxed|release)"): "does not order later accesses",
    re.compile(r"__(?:atomic|sync)_\w+"): "is not an operation of the kernel",
}
# An exchange that releases a fiber must order the earlier stores.
_EXCHANGE_WITH_NULL = r"\b\w*xchg_{}\s*\((?:[^();,]*,){{1,2}}\s*NULL\s*\)"
_RELEASE = re.compile(_EXCHANGE_WITH_NULL.format("release"))
_WRONG_RELEASE = re.compile(_EXCHANGE_WITH_NULL.format("acquire"))


def unordered(text: str, shown: str) -> str:
    """Return a message if a claim in fiber.c orders no later access, or a release no earlier one.

    No test on x86 shows this mistake, because every atomic operation there is a full barrier.
    variants/interleaved.c checks that the claim is atomic, and finds releases by a plain store.
    """
    if wrong := _WRONG_RELEASE.search(text):
        return f"{shown}: {wrong[0]} does not order earlier stores; use smp_store_release"
    words = sorted(allowed_c.words(_RELEASE.sub("", text)))
    for refused, why in _REFUSED_CLAIMS.items():
        if found := next(filter(refused.fullmatch, words), ""):
            return f"{shown}: {found} {why}; use cmpxchg_acquire"
    return ""


# Functions that the switch may call, because they never wait. Atomic operations are inline code.
_NEVER_WAIT = re.compile(
    # look-ups
    r"(?:__)?xas?_(?:load|find\w*|get_mark|start|next\w*)|radix_tree_(?:lookup|next|tagged)\w*"
    r"|idr_(?:find|get_next\w*)|_find_\w+|mem(?:cpy|set|move|cmp)"
    # RCU, which waits only in synchronize_rcu and rcu_barrier
    r"|__rcu_read_(?:un)?lock|rcu_read_(?:un)?lock_\w+|call_rcu|kvfree_call_rcu"
    r"|lock_(?:acquire|release|is_held_type)|(?:debug_)?lockdep_\w+"
    # threads and their registers
    r"|pid_task|get_pid_task|find_vpid|(?:get|put)_pid|get_task_pid|pid_v?nr\w*|__task_pid_nr_ns"
    r"|__put_task_struct\w*|context_(?:size|switch)|refcount_warn_saturate"
    # time, messages, and functions to which the compiler adds calls
    r"|ktime_get\w*|_?printk|dump_stack|__warn_printk|warn_slowpath_fmt"
    r"|__SCT__preempt_schedule\w*|preempt_schedule\w*|__fentry__|__stack_chk_\w+"
    r"|__x86_return_thunk|(?:__)?fortify_panic|__(?:asan|kasan|ubsan)_\w+"
)
_SECTION = re.compile(r"Disassembly of section (\S+):")
_FUNCTION = re.compile(r"([0-9a-f]+) <(\S+)>:")
_REFERENCE = re.compile(r"\bR_\w+\t(\S+?)(?:([+-])0x([0-9a-f]+))?$")
_BRANCH = re.compile(r"\t(?:call|j\w+)\s+[0-9a-f]+ <([^+>]+)")
_POINTER = re.compile(r"\t(?:call|jmp)q?\s+\*")


def waiting(made: Module, shown: str) -> str:
    """Return a message if the switch may call a function that can wait, else "".

    The test programs see a lock only in the states of a table that they reach. So the calls in the
    object file are followed, from fibers_switch() on.
    """
    command = ["objdump", "-dr", "--no-show-raw-insn", str(made.directory / "fiber.o")]
    view = SandboxView(read=(made.directory,)) if source_folder.submission() else None
    result = run(command, imports.LIMITS, view, environment={"LC_ALL": "C"})
    if result.status:
        raise LabError(f"objdump: {result.text.strip() or result.cause}", "run make doctor")
    reached, todo = set[str](), ["fibers_switch"]
    calls = _calls(result.text)
    while todo:
        name = todo.pop()
        if name not in calls and not _NEVER_WAIT.fullmatch(name):
            what = "a call through a pointer" if "thunk" in name else name
            return f"{shown}: a switch may reach {what}, which can wait; it must not take a lock"
        if name not in reached:
            reached.add(name)
            todo += sorted(calls.get(name, ()))
    return ""


def _calls(listing: str) -> dict[str, set[str]]:
    """Return the names that each function of an object file calls, or to which it jumps."""
    calls: dict[str, set[str]] = {}
    begins: dict[str, list[tuple[int, str]]] = {}
    parts: list[tuple[str, str, int]] = []
    section = function = ""
    branches = False  # the last instruction is a call or a jump
    for line in listing.splitlines():
        if found := _SECTION.match(line):
            section = found[1]
        elif found := _FUNCTION.match(line):
            function = found[2]
            calls[function] = set()
            begins.setdefault(section, []).append((int(found[1], 16), function))
        elif found := _REFERENCE.search(line):
            if not branches:
                continue  # the address of data or of a function
            if not found[1].startswith("."):
                calls[function].add(found[1])
            # A part of a function in another section is known by its place only, which is 4 bytes
            # above the number, because the processor counts from the next instruction.
            place = int(f"{found[2] or '+'}{found[3] or '0'}", 16) + 4
            parts.append((function, found[1], place))
        else:
            target = _BRANCH.search(line)
            branches = bool(target)
            if target:
                calls[function].add(target[1])
            elif _POINTER.search(line):
                calls[function].add("__x86_indirect_thunk_pointer")
    for function, section, place in parts:
        names = [name for begin, name in begins.get(section, ()) if begin <= place]
        calls[function].update(names[-1:])
    return calls


def _label(of: Recipe, name: str) -> str:
    """Return the path of a source for messages."""
    return of.labels.get(name, f"{of.labels['']}/{name}")


def _check(recipe_to_check: Recipe) -> None:
    """Raise ModuleNotBuiltError if a changed file could detect how it is built."""
    for name, text in recipe_to_check.files.items():
        kits = next((path for path in (SOURCES / name, VARIANTS / name) if path.is_file()), None)
        of_kit = kits.read_bytes() if kits else b""
        if text != of_kit and name.endswith((".c", ".h")):
            decoded = (part.decode(errors="replace") for part in (text, of_kit))
            if message := allowed_c.refused_with_kernel_headers(
                _label(recipe_to_check, name), *decoded
            ):
                raise ModuleNotBuiltError(message)


def built(
    kernel: Kernel,
    changed: Mapping[str, bytes] | None = None,
    variant: str = "",
    own: tuple[str, ...] = TASK_FILES,
) -> Module:
    """Build the module. Raise ModuleNotBuiltError for a compile error or a forbidden symbol."""
    if kernel.arch not in CONTEXTS:
        raise LabError(
            f"fibers switch between registers of x86 and of user-mode Linux, not of {kernel.arch}",
            "choose machine=uml or machine=qemu",
        )
    wanted = recipe(kernel.arch, changed, variant, own)
    _check(wanted)
    made = module.build(wanted, kernel)
    if not made.ok:
        raise ModuleNotBuiltError(made.cause)
    kits = recipe(kernel.arch, {}, variant)
    if wanted.files != kits.files:
        replaced = {variant: STANDS_FOR[variant] or CONTEXTS[kernel.arch]} if variant else {}
        sources = {n: _label(wanted, f"{replaced.get(n, n)}.c") for n in wanted.objects}
        if message := imports.refused(made, module.build(kits, kernel), sources, ALSO, kernel):
            raise ModuleNotBuiltError(message)
    return made


def forget(kernel: Kernel) -> None:
    """Remove the build of an untrusted submission, which is not needed again."""
    folder = module.folder_of(recipe(kernel.arch), kernel)
    for made in folder.parent.glob(f"{folder.name}*"):  # also removes the builds of variants
        shutil.rmtree(made, ignore_errors=True) if made.is_dir() else made.unlink(missing_ok=True)


def program(name: str) -> Path:
    """Return a static program, compiled from a file of test_programs/."""
    sources = [TEST_PROGRAMS / f"{name}.c"]
    include = [SOURCES, USER, test_record.INCLUDE]
    if "fault_injection.h" in sources[0].read_text():
        sources.append(guest_program.GUEST / "fault_injection.c")
        include.append(guest_program.GUEST)
    return guest_program.compiled(f"fibers-{name}", sources, include)


@contextmanager
def machine_with(machine: Machine, made: Module, programs: Iterable[str]) -> Iterator[Running]:
    """Boot a machine with programs in /bin, load the module, and stop it at the end."""
    files = {f"/bin/fibers-{name}": program(name) for name in programs}
    guest = machine.boot(Contents({KO: made.stripped, **files}, "fibers", (DEVICE,)))
    try:
        guest.channel.check(f"insmod {KO}", PATIENCE)
        yield guest
    finally:
        guest.stop()
