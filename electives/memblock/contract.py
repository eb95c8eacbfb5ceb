# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a function may not do in the program that tries it: end it, or speak in its place.

It is linked into the tests. One that runs before them, calls the C library, or stands in for a part
of it would say what it likes; so its object is held against the kernel's own.
"""

from __future__ import annotations

import re
from pathlib import Path

from electives.memblock import runner
from grader.base.errors import LabError
from grader.sandbox import ResourceLimits, run

LIMITS = ResourceLimits(wall_seconds=60, cpu_seconds=30)
# What the compiler calls by itself, or any kernel has.
USUAL = {"memcpy", "memmove", "memset", "memcmp", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
BEFORE_MAIN = re.compile(r"\.(?:preinit_array|init_array|fini_array|ctors|dtors|init|fini)\b")
SYSTEM_CALL = re.compile(r"\t(syscall|sysenter|int +\$0x80)\b")


def violation(own: Path, kernels: Path) -> str:
    """What is wrong with the object in own, beside the one with the kernel's function; or ""."""
    called = _names(own, "-u") - _names(kernels, "-u") - USUAL
    if called:
        return f"it calls {min(called)}, which mm/memblock.c does not"
    defined = _names(own, "-g", "--defined-only") - _names(kernels, "-g", "--defined-only")
    if defined:
        return f"it defines {min(defined)} for the whole program: make it static"
    if BEFORE_MAIN.search(_said(own, "objdump", "-h")):
        return "it has a constructor or destructor"
    call = SYSTEM_CALL.search(_said(own, "objdump", "-d", "--no-show-raw-insn"))
    return f"it makes a system call ({call[1]})" if call else ""


def _names(out: Path, *options: str) -> set[str]:
    return {line.split()[-1] for line in _said(out, "nm", *options).splitlines() if line.strip()}


def _said(out: Path, *command: str) -> str:
    result = run(
        [*command, str(out / "memblock.o")],
        LIMITS,
        runner.sandbox_view(out),
        environment={"LC_ALL": "C"},
    )
    if result.status:
        raise LabError(f"{command[0]}: {result.text.strip() or result.cause}")
    return result.text
