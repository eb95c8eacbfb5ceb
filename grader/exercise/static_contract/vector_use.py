# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check that a stage uses vector registers only in vector sections, see common/vector.h.

Only vector files may hold vector instructions. Their functions may be called only in a vector
section, which is the code between fib_fpu_begin and fib_fpu_end in one function. A vector section
must not call other functions, because it must not sleep. The check follows every path through each
function.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from grader.exercise.static_contract.elf import Object
from grader.exercise.static_contract.object_findings import CodeSurvey, ObjectFault, Place

BEGIN, END = "fib_fpu_begin", "fib_fpu_end"
OFFERED = re.compile(r"fib_fpu_(begin|end)|fib_has_avx2")
# Functions that the compiler calls on its own in any file.
ANYWHERE = re.compile(
    r"mem(cpy|set|move|cmp)|__x86_(return|indirect)_thunk\w*|__fentry__|__(asan|ubsan)_\w+"
)
# Functions that do not return.
NO_RETURN = re.compile(
    r"__stack_chk_fail\w*|fortify_panic|__assert_fail|__asan_report_\w+|__ubsan_\w+_abort"
)
# Functions that the compiler calls on its own in a vector file.
COMPILER = re.compile(
    rf"{ANYWHERE.pattern}|__stack_chk_\w+|__ref_stack_chk_guard|__warn_printk"
    r"|_GLOBAL_OFFSET_TABLE_"
)

PAIRED = f"sections that begin with {BEGIN} and end with {END} in the same function"
INSIDE = f"calls of vector functions between {BEGIN} and {END} only"
NO_SLEEP = f"nothing that may sleep between {BEGIN} and {END}: calls of vector functions only"
IN_VECTOR_FILES = "in vector files, calls of functions of vector files only"


def functions(objects: list[Object]) -> frozenset[str]:
    """Return the names of the global functions that these objects define."""
    return frozenset(
        symbol.name
        for obj in objects
        for symbol in obj.symbols
        if symbol.kind == "FUNC" and symbol.bind == "GLOBAL" and symbol.section != "UNDEF"
    )


def calls(obj: Object, vector: frozenset[str]) -> list[str]:
    """Return the undefined functions in a vector file that a vector file must not use."""
    used = {symbol.name for symbol in obj.symbols if symbol.section == "UNDEF" and symbol.name}
    return sorted(name for name in used if name not in vector and not COMPILER.fullmatch(name))


def faults(obj: Object, swept: CodeSurvey, vector: frozenset[str]) -> list[ObjectFault]:
    """Return the faults in the vector sections of a file that is not a vector file."""
    check = _Paths(obj, swept, vector)
    for symbol in obj.symbols:
        section = obj.section_of(symbol)
        if section is not None and section.code and symbol.kind == "FUNC":
            check.follow((section.index, symbol.value))
    return check.faults


class _Paths:
    """The paths from each function's entry, each point inside or outside of a vector section."""

    def __init__(self, obj: Object, swept: CodeSurvey, vector: frozenset[str]) -> None:
        self.obj = obj
        self.swept = swept
        self.vector = vector
        self.order = sorted(swept.starts)
        self.seen: set[tuple[Place, bool]] = set()
        self.faults: list[ObjectFault] = []
        self.entries = {
            (symbol.section, symbol.value) for symbol in obj.symbols if symbol.kind == "FUNC"
        }

    def follow(self, entry: Place) -> None:
        """Follow all paths from an entry."""
        todo = [(entry, False)]
        while todo:
            place, within = todo.pop()
            if (place, within) in self.seen or place not in self.swept.starts:
                continue
            self.seen.add((place, within))
            todo += self._step(place, within)

    def _fault(self, place: Place, got: str, expected: str) -> None:
        fault = ObjectFault(self.obj.sections[place[0]], place[1], got, expected)
        if fault not in self.faults:
            self.faults.append(fault)

    def _next(self, place: Place) -> Place:
        at = bisect_right(self.order, place)
        return self.order[at] if at < len(self.order) else (-1, 0)

    def _step(self, place: Place, within: bool) -> list[tuple[Place, bool]]:
        """Return the successors of an instruction. True marks those within a vector section."""
        verb = self.swept.starts[place]
        follows = self.swept.follows.get(place, [])
        callee = self.swept.jumps.get(place, "")
        leaves = verb == "ret" or (verb == "jmp" and bool(callee))
        local = [target for target in follows if target in self.entries]
        if callee or verb == "call":
            within = self._call(place, callee, within)
        elif verb.startswith("j") and local and within:
            self._fault(place, "a call of another function within a section", NO_SLEEP)
        if leaves and within:
            self._fault(place, "a return within a section", PAIRED)
        if NO_RETURN.fullmatch(callee):
            return []
        if verb == "call":
            return [(self._next(place), within)]
        return [(target, within) for target in follows if not (target in local and verb == "jmp")]

    def _call(self, place: Place, callee: str, within: bool) -> bool:
        """Check a call. Return whether the next instruction is within a vector section."""
        if callee == BEGIN:
            if within:
                self._fault(place, "a section within a section", PAIRED)
            return True
        if callee == END:
            if not within:
                self._fault(place, f"{END} without {BEGIN}", PAIRED)
            return False
        if callee in self.vector:
            if not within:
                self._fault(place, f"a call of {callee} outside of a section", INSIDE)
        elif within and not ANYWHERE.fullmatch(callee) and not NO_RETURN.fullmatch(callee):
            self._fault(place, f"a call of {callee or 'a function'} within a section", NO_SLEEP)
        return within
