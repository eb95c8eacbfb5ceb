# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check a program's object for calls and instructions that a kernel cannot allow, by function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from grader.base.errors import LabError

KERNEL = Path(__file__).with_name("kernel")

# Kernel functions that programs may call directly; kernel/module.c has the same list.
AS_THEY_ARE = frozenset(
    "memcpy memmove memset memcmp memchr strlen strnlen strcmp strncmp strcpy strcat"
    " strncat strchr strstr strspn strcspn strpbrk".split()
)
# Other names that C libraries and compilers use for functions with a shim.
OTHER_NAMES = {
    "__isoc99_scanf": "scanf",
    "__isoc23_scanf": "scanf",
    "__assert_fail": "assert_fail",
    "_IO_getc": "getc",
    "_IO_putc": "putc",
    "_sysy_starttime": "starttime",
    "_sysy_stoptime": "stoptime",
}
SYSY = frozenset(
    "getint getch getarray putint putch putarray putf starttime stoptime".split()
)  # available only with SYSY=1
# Library functions that compilers call for types without processor support.
_SOFT_FLOAT = re.compile(
    r"__(?:add|sub|mul|div|neg|cmp|eq|ne|lt|le|gt|ge|unord|fix\w*|float\w*|extend\w+|trunc\w+)"
    r"(?:[sdtx]f\w*)$"
)
_WIDE = re.compile(r"__u?(?:div|mod|divmod|mul|ashl|ashr|lshr)ti\d$")
# Instructions that enter the kernel, or that only a kernel may use.
_FORBIDDEN = re.compile(
    r"^(?:syscall|sysenter|sysret\w*|sysexit\w*|int|int1|int3|into|iret\w*|hlt|cli|sti|in[bwl]?"
    r"|out[bwl]?|ins[bwl]|outs[bwl]|rdmsr|wrmsr|lgdt\w*|lidt\w*|lldt|ltr|invlpg|invd|wbinvd"
    r"|swapgs|clts|lmsw|vmcall|vmmcall|stac|clac|pushf\w*|popf\w*|xsetbv|rdpmc)$"
)
_VECTORS = re.compile(r"%[xyz]?mm\d|%st\b|%[cdt][rb]\d")
_HEAD = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_STEP = re.compile(r"^\s+[0-9a-f]+:\s+(?:(?:rep\w*|lock|data16|notrack)\s+)*(\S+)\s*(.*)$")
_RELOCATED = re.compile(r"^\s+[0-9a-f]+: R_X86_64_\w+\s+([\w.$]+)")


@cache
def shims() -> frozenset[str]:
    """Read kernel/shims.h. Return the names of the shims that a program may call."""
    text = (KERNEL / "shims.h").read_text()
    return frozenset(re.findall(r"\bkb_(\w+)(?=\(|,|;)", text))


def replaced(undefined: set[str], sysy: bool) -> dict[str, str]:
    """Return the name of the shim for each undefined name that has a shim."""
    found = {}
    for name in undefined:
        shim = OTHER_NAMES.get(name, name)
        if shim in shims() and (sysy or shim not in SYSY):
            found[name] = f"kb_{shim}"
    return found


def rejection(listing: str, undefined: set[str], sysy: bool) -> LabError | None:
    """Return the first reason to reject the object, with the function; None if there is none.

    listing: the output of objdump -dr; undefined: the names that the object does not define.
    """
    known = set(replaced(undefined, sysy)) | AS_THEY_ARE
    for function, mnemonic, operands, symbol in _steps(listing):
        if symbol in undefined and symbol not in known:
            return _of_symbol(function, symbol)
        if _FORBIDDEN.match(mnemonic):
            return LabError(
                f"{function} has the instruction {mnemonic}, which leaves user space or is a"
                " kernel's own",
                "remove it, because a program in a kernel has no system to call",
            )
        if _VECTORS.search(operands):
            return LabError(
                f"{function} uses vector, floating point or control registers:"
                f" {mnemonic} {operands}",
                "use general registers",
            )
    unknown = sorted(undefined - known)
    return _of_symbol("the program", unknown[0]) if unknown else None


def _of_symbol(user: str, symbol: str) -> LabError:
    if _SOFT_FLOAT.match(symbol):
        problem = f"{user} uses floating point (by {symbol}), which a kernel does not have"
        return LabError(problem, "use whole numbers")
    if _WIDE.match(symbol):
        problem = f"{user} divides 128-bit numbers (by {symbol})"
        return LabError(problem, "use 64-bit numbers, because a kernel has no function for that")
    problem = f"{user} calls {symbol}, which nothing defines"
    if OTHER_NAMES.get(symbol, symbol) in SYSY:
        return LabError(problem, "give SYSY=1 for the library of SysY")
    return LabError(problem, "use only the functions that kernel/shims.h lists")


def _steps(listing: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the function, mnemonic, operands and symbol of each line of the listing.

    A line with a relocation has only a function and a symbol.
    """
    function = "?"
    for line in listing.splitlines():
        if match := _HEAD.match(line):
            function = match[1]
        elif match := _RELOCATED.match(line):
            yield function, "", "", re.split(r"[-+]0x", match[1])[0]
        elif match := _STEP.match(line):
            yield function, match[1], match[2].split("<")[0].split("#")[0].strip(), ""
