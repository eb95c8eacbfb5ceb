# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reject a module that uses parts of the kernel which no task needs.

The tests see only a module's behaviour. A module that chose the processor of a thread, or hid its
memory from the leak scan, would pass without solving the task. So it may use only the symbols that
the kit's module uses in the same kernel, and those that another solution may need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from electives import source_folder
from grader.base.errors import LabError
from grader.lab.module import Module
from grader.sandbox import ResourceLimits, SandboxView, run

LIMITS = ResourceLimits(wall_seconds=60, cpu_seconds=30)
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


def refused(made: Module, kits: Module, sources: dict[str, str]) -> str:
    """Return a message on the first symbol that a module may not use, or "".

    sources: the name of each object's source for the message, by the object's name.
    """
    allowed = {symbol for _, symbol in _used(kits, sources)}
    for name, symbol in _used(made, sources):
        if symbol not in allowed and not ALSO.fullmatch(symbol):
            return f"{sources[name]}: {symbol} is not allowed, no task needs it; remove it"
    return ""


def defined(made: Module, name: str) -> set[str]:
    """Return the symbols that an object of a module defines."""
    lines = [line.split()[:2] for line in _listed(made, name).splitlines()]
    return {symbol for symbol, kind in lines if kind not in "Uvw"}


def _used(made: Module, names: Iterable[str]) -> list[tuple[str, str]]:
    """Return (object, symbol) pairs: the symbols that a module's objects use but do not define."""
    symbols = [
        (name, *line.split()[:2]) for name in names for line in _listed(made, name).splitlines()
    ]
    defined = {symbol for _, symbol, kind in symbols if kind not in "Uvw"}
    return [(name, symbol) for name, symbol, kind in symbols if symbol not in defined]


def _listed(made: Module, name: str) -> str:
    command = ["nm", "--format=posix", str(made.directory / f"{name}.o")]
    view = SandboxView(read=(made.directory,)) if source_folder.submission() else None
    result = run(command, LIMITS, view, environment={"LC_ALL": "C"})
    if result.status:
        raise LabError(f"nm: {result.text.strip() or result.cause}", "run make doctor")
    return result.text
