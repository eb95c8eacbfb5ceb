# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check the sections of a stage's object, by one rule for each kind of section.

The loader, the linker and build tools act on the names of sections. Therefore a section without a
rule is a fault, and so is a section whose content does not fit its rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from grader.exercise.static_contract.elf import RELATIVE, Object, Section
from grader.exercise.static_contract.object_findings import (
    NOTHING_KEPT,
    CodeSurvey,
    ObjectFault,
    kind_of,
)

# The largest alignment that is allowed, which is that of a cache line.
ALIGNED = 64
NOTE_BYTES = 64
CODE_AND_CONSTANTS = "code and constants only"
WHEN_CALLED = "functions that run when they are called"

Check = Callable[[Object, Section, CodeSurvey], list[ObjectFault]]


def _fault(section: Section, got: str, expected: str, offset: int = 0) -> list[ObjectFault]:
    return [ObjectFault(section, offset, got, expected)]


def _right(obj: Object, section: Section, swept: CodeSurvey) -> list[ObjectFault]:
    """Accept the section, because other functions check code and count the constants."""
    return []


def _addresses(obj: Object, section: Section, swept: CodeSurvey) -> list[ObjectFault]:
    """Check that constants that are addresses lead to code or constants."""
    for relocation in section.relocations:
        where = obj.section_of(relocation.symbol)
        inside = where is None or 0 <= relocation.target() <= where.size
        if kind_of(where) not in ("code", "constants", "elsewhere") or not inside:
            got = f"a constant that is an address in {where.name if where else 'nowhere'}"
            return _fault(section, got, "addresses of code and constants")
        if relocation.type in RELATIVE or (where is None and relocation.addend):
            got = f"a constant that is a distance to {relocation.symbol.name or 'a section'}"
            return _fault(section, got, "addresses of code and constants")
    return []


def _empty(obj: Object, section: Section, swept: CodeSurvey) -> list[ObjectFault]:
    if not section.size:
        return []
    return _fault(section, f"{section.size:,} bytes of it", NOTHING_KEPT)


def _note(obj: Object, section: Section, swept: CodeSurvey) -> list[ObjectFault]:
    if section.size <= NOTE_BYTES and not section.relocations:
        return []
    return _fault(section, "a note", CODE_AND_CONSTANTS)


def _unwinding(obj: Object, section: Section, swept: CodeSurvey) -> list[ObjectFault]:
    """Check that the kernel's unwind table has six bytes for each entry of .orc_unwind_ip."""
    places = sum(s.size // 4 for s in obj.loaded if s.name == ".orc_unwind_ip")
    if section.size == 6 * places and not section.relocations:
        return []
    return _fault(section, "a table for unwinding that does not fit", CODE_AND_CONSTANTS)


def _frames(obj: Object, section: Section, swept: CodeSurvey) -> list[ObjectFault]:
    """Check a program's unwind table, which debuggers and exceptions use."""
    code = sum(s.size for s in obj.loaded if s.code)
    if section.size <= 2 * code + 256 and all(
        kind_of(obj.section_of(r.symbol)) == "code" for r in section.relocations
    ):
        return []
    return _fault(section, "a table for unwinding that does not fit", CODE_AND_CONSTANTS)


def _sites(width: int, verbs: str) -> Check:
    """Return a check of a table of code addresses, each of which leads to an instruction in verbs.

    The kernel patches the code at these addresses, so each address must be right.
    """

    def check(obj: Object, section: Section, swept: CodeSurvey) -> list[ObjectFault]:
        if not swept.whole:
            return []  # a fault in the code itself has already been reported
        right = [r.offset for r in section.relocations] == list(range(0, section.size, width))
        for relocation in section.relocations:
            where = obj.section_of(relocation.symbol)
            if not right or where is None or not where.code:
                right = False
                break
            at = relocation.target()
            verb = swept.starts.get((where.index, at), "")
            right &= verb in verbs.split() if verbs else bool(verb) or at == where.size
            right &= relocation.type == (1 if width == 8 else 2)
        if right and not section.size % width:
            return []
        return _fault(section, "a table of places that are not in its code", CODE_AND_CONSTANTS)

    return check


def _sanitizers(obj: Object, section: Section, swept: CodeSurvey) -> list[ObjectFault]:
    """Accept a sanitizer's writable data.

    The data has no name, and the disassembly has checked that no code of the stage uses the data.
    """
    return []


# The instructions of a sanitizer's constructor.
_PLAIN = frozenset("push mov lea call pop ret endbr64 sub add and leave".split())
_REGISTERS = re.compile(r"__asan_(init|version\w+|(un)?register_globals)")


def _sanitizers_function(obj: Object, section: Section, swept: CodeSurvey) -> list[ObjectFault]:
    """Check that a constructor belongs to a sanitizer and only calls the sanitizer."""
    name = "of no name"
    for relocation in section.relocations[:1]:
        place = relocation.symbol.section, relocation.target()
        for symbol in obj.symbols:
            if symbol.kind != "FUNC" or (symbol.section, symbol.value) != place:
                continue
            name = symbol.name
            end = symbol.value + symbol.size
            body = [p for p in swept.starts if p[0] == place[0] and place[1] <= p[1] < end]
            verbs = [swept.starts[p] for p in body]
            calls = [swept.jumps.get(p, "") for p in body if swept.starts[p] == "call"]
            if (
                re.fullmatch(r"_sub_[ID]_00099_\d", name)
                and verbs[-1:] == ["ret"]
                and set(verbs) <= _PLAIN
                and all(map(_REGISTERS.fullmatch, calls))
                and (len(section.relocations), section.size) == (1, 8)
            ):
                return []
    return _fault(section, f"the constructor {name}", WHEN_CALLED)


@dataclass(frozen=True)
class SectionRule:
    """A rule for one kind of section: names, types and flags as in readelf, and a check."""

    names: str
    flags: str  # the combinations of flags that are allowed
    check: Check
    types: str = "PROGBITS"


CODE = SectionRule(r"\.text(\.unlikely|\.hot)?", "AX", _right)
CONSTANTS = SectionRule(r"\.rodata(\.[\w.]+)?", "A AM AMS", _addresses)
PROPERTY = SectionRule(r"\.note\.gnu\.property", "A", _note, "NOTE")
# The rules for a stage in a module. The kernel uses the tables of addresses to patch or trace
# calls, returns and jumps. The flags and sizes of these tables are valid for kernels from 6.1 on.
MODULE = (
    CODE,
    CONSTANTS,
    PROPERTY,
    SectionRule(r"\.data|\.bss", "WA", _empty, "PROGBITS NOBITS"),
    SectionRule(r"__mcount_loc", "A WA", _sites(8, "call nop")),
    SectionRule(r"__patchable_function_entries", "A WA AL WAL", _sites(8, "")),
    SectionRule(r"\.return_sites", "A", _sites(4, "ret jmp")),
    SectionRule(r"\.retpoline_sites", "A", _sites(4, "call jmp")),
    SectionRule(r"\.call_sites", "A", _sites(4, "call jmp")),
    SectionRule(r"\.ibt_endbr_seal", "A", _sites(4, "endbr64")),
    SectionRule(r"\.orc_unwind_ip", "A", _sites(4, "")),
    SectionRule(r"\.orc_unwind", "A", _unwinding),
)
# The rules for a stage in a program with sanitizers.
PROGRAM = (
    CODE,
    CONSTANTS,
    PROPERTY,
    SectionRule(r"\.data\.rel\.ro(\.local)?", "WA", _addresses),
    SectionRule(r"\.data(\.rel(\.local)?)?|\.bss", "WA", _sanitizers, "PROGBITS NOBITS"),
    SectionRule(r"\.eh_frame", "A", _frames, "PROGBITS X86_64_UNWIND AMD64_UNWIND"),
    SectionRule(r"\.(init|fini)_array\.00099", "WA", _sanitizers_function, "INIT_ARRAY FINI_ARRAY"),
)
# Sections that are not loaded, for debuggers, linkers and objtool; they do not affect a stage.
BESIDE = re.compile(
    r"|\.debug_\w+|\.comment|\.note\.GNU-stack|\.(sym|str|shstr)tab|\.symtab_shndx"
    r"|\.rela?[._].*|\.discard\.[\w.]+"
)
BESIDE_TYPES = frozenset("NULL PROGBITS SYMTAB STRTAB SYMTAB_SHNDX RELA NOTE".split())
CONSTRUCTORS = re.compile(r"\.((pre)?init|fini)(_array.*)?|\.[cd]tors.*|\.text\.(startup|exit)")


def faults(obj: Object, rows: tuple[SectionRule, ...], swept: CodeSurvey) -> list[ObjectFault]:
    """Return the faults in an object's sections."""
    found: list[ObjectFault] = []
    for section in obj.sections:
        if not section.loaded:
            if not BESIDE.fullmatch(section.name) or section.type not in BESIDE_TYPES:
                found += _fault(section, f"a section {section.name}", CODE_AND_CONSTANTS)
            continue
        row = next((row for row in rows if re.fullmatch(row.names, section.name)), None)
        if row and section.type in row.types.split() and section.letters in row.flags.split():
            known = not section.flags & ~0xB7
            if not known or section.align > ALIGNED:
                found += _fault(section, f"an odd section {section.name}", CODE_AND_CONSTANTS)
            found += row.check(obj, section, swept)
        elif CONSTRUCTORS.fullmatch(section.name) or section.type.endswith("_ARRAY"):
            found += _fault(section, "a constructor or destructor", WHEN_CALLED)
        elif section.writable:
            found += _fault(section, f"{section.size:,} bytes of it", NOTHING_KEPT)
        else:
            found += _fault(section, f"a section {section.name}", CODE_AND_CONSTANTS)
    return found


def constants(obj: Object, label: str) -> int:
    """Return the number of bytes of constants and strings, without directories in source names."""
    count = 0
    for section in obj.loaded:
        if kind_of(section) != "constants":
            continue
        count += section.size
        head = f"{label}/".encode()
        if "S" in section.letters:
            count -= sum(len(head) for text in section.data.split(b"\0") if text.startswith(head))
    return count
