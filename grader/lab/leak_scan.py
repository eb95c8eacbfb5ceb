# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find memory that a module does not free, with kmemleak or by the allocation traces of SLUB."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.lab import kernel_log, log_diagnostics
from grader.lab.module import Module

KMEMLEAK = "/sys/kernel/debug/kmemleak"
# kmemleak does not report blocks that are younger than this, in seconds.
KMEMLEAK_AGE = 5
# Scan twice: the first scan finds possible leaks, and the second reports those that are old enough
# by then.
COMMAND = (
    f"echo scan >{KMEMLEAK} && sleep {KMEMLEAK_AGE} && echo scan >{KMEMLEAK} && cat {KMEMLEAK}"
)


@dataclass(frozen=True)
class Leaks:
    """The result of a scan: the number of leaked blocks and an explanation ("" if none)."""

    blocks: int
    meaning: str
    report: str


def read(report: str, module: Module) -> Leaks:
    """Parse the output of COMMAND, the kmemleak scan."""
    meaning = log_diagnostics.leaks(report, kernel_log.log_context(module))
    return Leaks(log_diagnostics.leaked(report), meaning, report)


def held_command(name: str) -> str:
    """Return a command that prints the allocation traces of the blocks that a module holds.

    The command fails unless the kernel runs with slub_debug=U. Blocks that the module allocated
    when it was loaded are left out. The command waits for blocks that RCU has not freed yet.
    """
    traces = "/sys/kernel/debug/slab"
    chosen = f"/\\[{name}\\]/ && !/do_init_module|memcg_alloc/"
    scan = f"cat {traces}/*/alloc_traces | awk -v RS= '{chosen}'"
    loop = f'for i in 1 2 3 4 5; do sleep 2; r=$({scan}); [ -n "$r" ] || break; done; echo "$r"'
    return f"grep -q age= {traces}/kmalloc-64/alloc_traces && {{ {loop}; }}"


def held(report: str, name: str) -> str:
    """Return a sentence about the first leaked block in the output of held_command(), or ""."""
    found = re.search(rf"^\s*(\d+) (?:.*\n)*?.*?([\w.]+)\+0x\S+ \[{name}\]", report)
    if not found:
        return ""
    return f"{found[1]} blocks that are allocated in {found[2]} are never freed"
