# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find the accesses to a driver's memory that the compiler does not report to race.c and locks.c.

With -fsanitize=thread, gcc calls a function before each access by an assignment. It does not do so
for a structure in memory that is an argument or the result of a call, for assembly, or for built-in
functions. Some functions of kernel headers contain assembly; those for atomic variables and for
user memory report their accesses (may_fault.h). This module reads the statements that gcc writes by
FLAG, before it inlines functions. So it finds these accesses by their form, without a list of the
kernel's functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

FLAG = "-fdump-tree-ssa-lineno"

_PLACE = r"\[([^\[\]\n]*):(\d+):\d+\] "
_CALL = re.compile(rf"^ *{_PLACE}(?:([^\n]*?) = )?([\w.]+) \((.*)\);", re.M)
_ASM = re.compile(rf"^ *{_PLACE}(__asm__.*?\);)$", re.M | re.S)
_OPERAND = re.compile(r'(?:"\w*" )?"([^"]*)" ([^"]*?)(?:, (?=")|$)')
_DECLARED = re.compile(r"^  [^\[\n]*?([\w.]+)(?:\[\d*\])*;$", re.M)
# The name of a value, such as x_3(D), a constant or an address.
_VALUE = re.compile(r"[\w.]*_\d+(?:\(D\))?|-?\d\S*|[\"&{].*|<retval>|", re.S)
# Each of these functions of the interposer is called before an access by assembly.
_REPORTS = ("first_atomic", "first_copies", "first_may_fault")
# The kernel's functions for user memory check the address.
_USER = re.compile(r"__asm__[\w ]*\(\"call __(?:get|put)_user_")
# Functions that some kernels inline, for locks, which are no data of the driver, and for flags.
_LOCK = re.compile(r"\w*(?:spin|read|write|irq|fl)_(?:lock|unlock|save|restore)\w*")
# Built-in functions that access no memory of the driver.
_PLAIN = re.compile(
    r"__builtin_(?:expect\w*|constant_p|\w*object_size|unreachable|trap|prefetch|return_address"
    r"|(?:clz|ctz|ffs|popcount|parity|abs)l*|bswap\d+|\w+_overflow|va_\w+|__tsan_init)"
)


@dataclass(frozen=True)
class _Function:
    """A function of the dump, with its calls and the accesses that gcc does not report.

    Each of them is a line number and the name of the callee, or a description.
    """

    name: str
    file: str
    calls: list[tuple[int, str]]
    accesses: list[tuple[int, str]]

    def uses(self, names: Collection[str]) -> list[tuple[int, str]]:
        """Return the calls of functions with these names."""
        return [call for call in self.calls if call[1] in names]


def first(dump: str, own: str, symbols: Collection[tuple[str, str]]) -> str:
    """Return an error for the first access that is not reported, or "".

    own: how the names of the driver's files begin. symbols: those of the object, each after the
    letter that nm prints for it.
    """
    foreign = {name for letter, name in symbols if letter == "U"}
    defined = {name for letter, name in symbols if letter != "U"}
    texts = re.split(r"^;; Function ", dump, flags=re.M)[1:]
    functions = [_function(text, foreign, defined) for text in texts]
    kernels = [x for x in functions if not (x.file.startswith(own) or _LOCK.fullmatch(x.name))]
    # A function such as atomic64_inc reports its access, or calls a function that does only this.
    reporting = {x.name for x in kernels if x.uses(_REPORTS)}
    reporting |= {x.name for x in kernels if x.uses(reporting)}
    hidden = {x.name for x in kernels if x.accesses} - reporting
    while added := {x.name for x in kernels if x.uses(hidden)} - reporting - hidden:
        hidden |= added
    for one in functions:
        if one.file.startswith(own) and (found := one.accesses + one.uses(hidden)):
            return _message(f"{one.file}:{min(found)[0]}", min(found)[1])
    # gcc compiles a function that is always inlined only if there is a pointer to it.
    compiled = sorted(defined & hidden)
    return _message(own.rstrip("/"), compiled[0]) if compiled else ""


def _message(place: str, what: str) -> str:
    return (
        f"{place}: {what} hides an access to memory from the checks of the locks; access the"
        " variable by an assignment, and use a pointer instead of a copy of a structure"
    )


def _function(text: str, foreign: Collection[str], defined: Collection[str]) -> _Function:
    """Read a function of the dump.

    foreign: the kernel's names. defined: the names that the driver defines.
    """
    head, _, body = text.partition("\n{\n")
    local = {*_DECLARED.findall(body.partition("<bb 2>")[0])}
    local |= {*re.findall(r"(\w+)(?=[,)])", head.rpartition("\n")[2])}

    def is_access(operand: str) -> bool:
        begin = re.split(r"->|[.\[]", operand)[0]
        is_local = operand in local or (begin in local and "->" not in operand)
        return not (is_local or operand in foreign or _VALUE.fullmatch(operand))

    def reaches(constraint: str, operand: str, clobbers: str) -> bool:
        """Return whether assembly accesses memory by an input or output."""
        if "m" in constraint:
            return is_access(operand)
        by_pointer = '"memory"' in clobbers and constraint[:1] not in ("=", "i", "n")
        if "p" in constraint or by_pointer:
            name = operand.lstrip("&")
            return name not in foreign and name != "current_stack_pointer"
        return False

    place = re.search(_PLACE, text)
    calls, accesses = [], []
    for _, line, assembly in _ASM.findall(body):
        template, _, operands = assembly.removesuffix(");").partition('" : ')
        outputs, inputs, clobbers = [*re.sub(_PLACE, "", operands).split(" : "), "", "", ""][:3]
        found = _OPERAND.findall(outputs) + _OPERAND.findall(inputs)
        named = {
            word for x in re.split(r"[;\n]", template) for word in re.findall(r"[\w.]+", x)[1:]
        }
        by_operand = any(reaches(letters, operand, clobbers) for letters, operand in found)
        if not named.isdisjoint(defined) or (by_operand and not _USER.match(template)):
            accesses.append((int(line), "assembly"))
    for _, line, result, callee, listed in _CALL.findall(_ASM.sub("", body)):
        calls.append((int(line), callee))
        arguments = re.sub(_PLACE, "", re.sub(r'"(?:\\.|[^"\\])*"', '""', listed)).split(", ")
        if any(map(is_access, (re.sub(_PLACE, "", result), *arguments))):
            accesses.append((int(line), f"the structure in a call of {callee}"))
        elif callee.startswith("__builtin_") and not _PLAIN.fullmatch(callee):
            accesses.append((int(line), callee))
    return _Function(text.split(None, 1)[0], place[1] if place else "", calls, accesses)
