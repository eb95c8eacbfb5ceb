# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reject a function that could end the test program or fake its output, or that has a large table.

The function is linked into the tests. If it ran before them, called the C library or replaced a
part of it, it could print any result; so its object is compared with the object of the kernel's
function.
"""

from __future__ import annotations

import re
from pathlib import Path

from electives.memblock import runner
from grader.base.errors import LabError
from grader.sandbox import ResourceLimits, run

LIMITS = ResourceLimits(wall_seconds=60, cpu_seconds=30)
# Symbols that the compiler uses by itself, or that every kernel has.
USUAL = {"memcpy", "memmove", "memset", "memcmp", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
# A static table has a bound, and the array of regions has none.
MOST_VARIABLES = 1024
# The size of a section and its flags, in the two lines of objdump -h.
SECTION = re.compile(r"^ *\d+ \S+ +([0-9a-f]+) .*\n +(.*)", re.MULTILINE)
BEFORE_MAIN = re.compile(r"\.(?:preinit_array|init_array|fini_array|ctors|dtors|init|fini)\b")
SYSTEM_CALL = re.compile(r"\t(syscall|sysenter|int +\$0x80)\b")
# A jump or call whose target is in a register or in memory could lead into the middle of an
# instruction, where a constant can hide another instruction.
THROUGH_POINTER = re.compile(r"\t(?:notrack |bnd )?(?:call|jmp)q? +\*")
# An instruction that uses an address, and the symbol that the linker puts there. Without a symbol
# the address is in the code itself.
ADDRESSED = re.compile(r"\t(?!call|j)\w+ .*\(%rip\).*\n(?:\t+[0-9a-f]+: R_\w+\t([^\s+-]+))?")
# A variable or constant that is the address of code.
POINTER = re.compile(
    r"^RELOCATION RECORDS FOR \[(?!\.debug|\.eh)[^]]*\]:\n(?:.+\n)*?.* \.text", re.M
)


def violation(own: Path, kernels: Path) -> str:
    """Compare the object in `own` with that in `kernels`. Return the first violation, or ""."""
    called = _names(own, "-u") - _names(kernels, "-u") - USUAL
    if called:
        return f"it calls {min(called)}, which mm/memblock.c does not"
    defined = _names(own, "-g", "--defined-only") - _names(kernels, "-g", "--defined-only")
    if defined:
        return f"it defines {min(defined)} for the whole program: make it static"
    if BEFORE_MAIN.search(_said(own, "objdump", "-h")):
        return "it has a constructor or destructor"
    added = _variables(own) - _variables(kernels)
    if added > MOST_VARIABLES:
        return (
            f"it has {added:,} bytes of static variables; at most {MOST_VARIABLES:,} are allowed,"
            " because an array may have more regions than any table"
        )
    code = _said(own, "objdump", "-d", "--no-show-raw-insn")
    if call := SYSTEM_CALL.search(code):
        return f"it makes a system call ({call[1]})"
    if THROUGH_POINTER.search(code):
        return "it calls a function through a pointer; call it by its name"
    if POINTER.search(_said(own, "objdump", "-r")) or _addresses(own) - _addresses(kernels):
        return "it uses the address of a function; call functions by their names only"
    return ""


def _variables(out: Path) -> int:
    """Return the size of the object's writable variables, in sections of any name."""
    return sum(
        int(size, 16)
        for size, flags in SECTION.findall(_said(out, "objdump", "-h"))
        if "ALLOC" in flags and "READONLY" not in flags
    )


def _addresses(out: Path) -> set[str]:
    """Return the symbols of other files whose addresses are used, and "" or .text for own code."""
    used = ADDRESSED.findall(_said(out, "objdump", "-dr", "--no-show-raw-insn"))
    return {name for name in used if not re.match(r"\.(?!text)", name)}


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
        raise LabError(f"{command[0]}: {result.text.strip() or result.cause}", "run make doctor")
    return result.text
