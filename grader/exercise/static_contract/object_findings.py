# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define the findings in an object: its instructions and its faults."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from grader.exercise.static_contract import opcodes
from grader.exercise.static_contract.elf import Section

# Sections of a program's constants into which the loader writes addresses.
RELOCATED = re.compile(r"\.data\.rel\.ro(\.local)?")
SANITIZER = re.compile(r"__(asan|ubsan|kasan)_\w+")

DATA_USED = "a use of writable static data"

NOTHING_KEPT = "no writable static data: nothing is kept between two calls"
WHOLE = "code that is instructions and nothing else"
OWN = "addresses of its own functions and constants, and of what stage.h offers"

Place = tuple[int, int]  # index of a section, offset in the section


@dataclass(frozen=True)
class ObjectFault:
    """A part of a section that is not allowed, with a description of what is allowed."""

    section: Section
    offset: int
    got: str
    expected: str


@dataclass
class CodeSurvey:
    """The result of reading all code of an object."""

    faults: list[ObjectFault] = field(default_factory=list)
    whole: bool = True  # True if all of the code is instructions.
    starts: dict[Place, str] = field(default_factory=dict)  # The mnemonic of each instruction.
    jumps: dict[Place, str] = field(default_factory=dict)  # Names of targets in other objects.
    follows: dict[Place, list[Place]] = field(default_factory=dict)  # Possible successors.
    numbers: dict[int, int] = field(default_factory=dict)  # The size of each large constant.
    compared: set[int] = field(default_factory=set)  # Numbers that decide which way code goes.


def kind_of(section: Section | None) -> str:
    """Return the kind of memory that an address in a section refers to."""
    if section is None:
        return "elsewhere"
    if section.code:
        return "code"
    constant = section.loaded and section.name.startswith(".rodata") and not section.writable
    if constant or RELOCATED.fullmatch(section.name):
        return "constants"
    return "data" if section.writable else "other"


def touches(section: Section, insn: Any, kind: str, writes: bool) -> ObjectFault | None:
    """Return a fault if an instruction must not access memory of this kind, else None."""
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
