# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What is found in an object: its instructions, and what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from grader.exercise.static_contract import opcodes
from grader.exercise.static_contract.elf import Section

# Constants of a program that the loader puts addresses into.
RELOCATED = re.compile(r"\.data\.rel\.ro(\.local)?")
SANITIZER = re.compile(r"__(asan|ubsan|kasan)_\w+")

DATA_USED = "a use of writable static data"

NOTHING_KEPT = "no writable static data: nothing is kept between two calls"
WHOLE = "code that is instructions and nothing else"
OWN = "addresses of its own functions and constants, and of what stage.h offers"

Place = tuple[int, int]  # index of a section, offset in it


@dataclass(frozen=True)
class ObjectFault:
    """Something in a section that is not allowed: what, and what would be."""

    section: Section
    offset: int
    got: str
    expected: str


@dataclass
class CodeSurvey:
    """All the code of an object."""

    faults: list[ObjectFault] = field(default_factory=list)
    whole: bool = True  # whether all of it is instructions
    starts: dict[Place, str] = field(default_factory=dict)  # each instruction's name
    jumps: dict[Place, str] = field(default_factory=dict)  # names of what is jumped to elsewhere
    follows: dict[Place, list[Place]] = field(default_factory=dict)  # what may come next
    numbers: dict[int, int] = field(default_factory=dict)  # of more than a byte, and their bytes

    @property
    def number_bytes(self) -> int:
        """Bytes of large numbers in instructions, each counted once."""
        return sum(self.numbers.values())


def kind_of(section: Section | None) -> str:
    """What an address in a section is one of."""
    if section is None:
        return "elsewhere"
    if section.code:
        return "code"
    constant = section.loaded and section.name.startswith(".rodata") and not section.writable
    if constant or RELOCATED.fullmatch(section.name):
        return "constants"
    return "data" if section.writable else "other"


def touches(section: Section, insn: Any, kind: str, writes: bool) -> ObjectFault | None:
    """An access by an instruction to memory that has the object's, or another's, address."""
    what = {"code": "code", "constants": "constants", "elsewhere": "functions of others"}
    if kind == "data":
        return ObjectFault(section, insn.address, DATA_USED, NOTHING_KEPT)
    if writes:
        got = f"the instruction {opcodes.name(insn)} that writes to {what.get(kind, kind)}"
        return ObjectFault(section, insn.address, got, NOTHING_KEPT)
    if kind in ("code", "elsewhere"):
        got = f"the instruction {opcodes.name(insn)} that reads {what[kind]} as data"
        return ObjectFault(section, insn.address, got, "code that is run, not read")
    return None
