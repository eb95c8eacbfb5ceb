# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Disassemble all code of an object and check the targets of its jumps and addresses.

Each byte of the code must belong to an instruction of opcodes.py. Each jump and each address of
code must lead to the first byte of an instruction, and each instruction must be reachable, so code
cannot hide tables. Only addresses in instructions are followed, not addresses in registers.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import capstone  # type: ignore[import-untyped]
from capstone import x86_const as x86

from grader.base import object_store
from grader.exercise.static_contract import opcodes, stack_frames
from grader.exercise.static_contract.elf import (
    BY_TABLE,
    RELATIVE,
    WIDTHS,
    Object,
    Relocation,
    Section,
)
from grader.exercise.static_contract.object_findings import (
    OWN,
    SANITIZER,
    WHOLE,
    CodeSurvey,
    ObjectFault,
    Place,
    kind_of,
    touches,
)

# The distance allowed between an address in an instruction and the table to which it belongs,
# because a compiler may add the offset of an index that starts at 1 or -1 to the address.
BESIDE = 64
CALLER = "results that do not depend on the caller"
# Instructions whose constant may decide a jump. A compiler subtracts one end of a range, and then
# compares the difference with the length of the range.
DECIDING = frozenset(("cmp", "test", "and", "sub", "add"))
# Numbers in this range, and jump offsets, do not count as constants.
SMALL = range(-(1 << 7), 1 << 8)


class _Reader:
    """The reader of one object's code.

    canary is the segment that holds the stack protector's canary. vector: the object is a vector
    file, which may hold vector instructions.
    """

    def __init__(self, obj: Object, canary: str, vector: bool) -> None:
        self.obj = obj
        self.vector = vector
        self.canary = canary
        self.swept = CodeSurvey()
        self.follows = self.swept.follows
        self.targets: dict[Place, Place] = {}  # the source of a jump or address, by its target
        self.insns: dict[int, list[Any]] = {}

    def read(self) -> CodeSurvey:
        """Decode all code, then check each instruction."""
        sections = [section for section in self.obj.loaded if section.code]
        self.swept.whole = all([self._decode(section) for section in sections])
        if self.swept.whole:
            marked = set(self._marked())
            for section in sections:
                self._look(section)
            leads = self._lead_somewhere()
            if leads:
                self._reachable(sections, marked)
            self._callers(sections)
        self.swept.faults.sort(key=lambda fault: (fault.section.index, fault.offset))
        return self.swept

    def _fault(self, section: Section, offset: int, got: str, expected: str) -> None:
        self.swept.faults.append(ObjectFault(section, offset, got, expected))

    def _decode(self, section: Section) -> bool:
        """Decode a section. Return whether each byte is part of an instruction."""
        done = list(opcodes.MACHINE.disasm(section.data, 0))
        self.insns[section.index] = done
        end = 0
        for insn in done:
            self.swept.starts[section.index, insn.address] = opcodes.name(insn)
            wrong = opcodes.fault(insn, self.vector)
            if wrong:
                self._fault(section, insn.address, *wrong)
            end = insn.address + insn.size
        if end < section.size:
            self._fault(section, end, "bytes that are no instruction", WHOLE)
        return end >= section.size

    def _marked(self) -> Iterator[Place]:
        """Yield the entries of functions and the targets of tables of addresses."""
        for symbol in self.obj.symbols:
            section = self.obj.section_of(symbol)
            if section is None or not section.code or symbol.kind in ("SECTION", "FILE"):
                continue
            place = section.index, symbol.value
            if place in self.swept.starts:
                yield place
            elif symbol.value < section.size:
                self._fault(section, symbol.value, f"{symbol.name} within an instruction", WHOLE)
        for section in self.obj.loaded:
            if kind_of(section) != "constants":
                continue
            for relocation in section.relocations:
                target = self.obj.section_of(relocation.symbol)
                if target and target.code and relocation.type not in RELATIVE:
                    place = target.index, relocation.target()
                    self.targets.setdefault(place, (section.index, relocation.offset))
                    yield place

    def _look(self, section: Section) -> None:
        """Check the addresses and numbers of each instruction, and record its successors."""
        relocations = iter([*section.relocations, None])
        relocation = next(relocations)
        for insn in self.insns[section.index]:
            place = section.index, insn.address
            end = insn.address + insn.size
            own: dict[int, Relocation] = {}
            while relocation is not None and relocation.offset < end:
                own[relocation.offset - insn.address] = relocation
                relocation = next(relocations)
            verb = opcodes.name(insn)
            ends = verb in opcodes.RETURNS or verb in ("jmp", "int3")
            self.follows[place] = [] if ends else [(section.index, end)]
            if any(at not in (insn.disp_offset, insn.imm_offset) or not at for at in own) or any(
                at + WIDTHS[r.type] > insn.size for at, r in own.items()
            ):
                self._fault(section, insn.address, "an address within an opcode", WHOLE)
                continue
            for at, one in own.items():
                self._refers(section, insn, at, one)
            self._operands(section, insn, own)

    def _refers(
        self, section: Section, insn: Any, field_offset: int, relocation: Relocation
    ) -> None:
        """Check an address that the linker puts into an instruction."""
        symbol = relocation.symbol
        where = self.obj.section_of(symbol)
        offset = relocation.target(insn.size - field_offset)
        kind = kind_of(where)
        verb = opcodes.name(insn)
        place = section.index, insn.address
        branch = verb in opcodes.JUMPS | opcodes.CALLS and field_offset == insn.imm_offset
        if kind == "elsewhere":
            if branch:
                self.swept.jumps[place] = symbol.name
            if relocation.type in BY_TABLE or symbol.name in opcodes.CANARY_NAMES:
                return
            if offset:
                got = f"the address {symbol.name}{offset:+d}"
                self._fault(section, insn.address, got, OWN)
        elif kind == "code" and where:
            self._leads(place, (where.index, offset))
        elif kind == "constants" and where and not branch:
            room = (
                BESIDE
                if opcodes.registers(insn) or verb == "lea" or field_offset == insn.imm_offset
                else 0
            )
            if not -room <= offset <= where.size + room:
                got = f"an address {offset - where.size:,} bytes behind its own constants"
                self._fault(section, insn.address, got, OWN)
        elif kind != "data":
            name = where.name if where else ""
            self._fault(section, insn.address, f"an address in section {name}", OWN)

    def _leads(self, source: Place, target: Place) -> None:
        self.targets.setdefault(target, source)
        self.follows[source].append(target)

    def _operands(self, section: Section, insn: Any, own: dict[int, Relocation]) -> None:
        verb = opcodes.name(insn)
        place = section.index, insn.address
        segment = opcodes.segment(insn)
        if verb == "nop":
            if not opcodes.plain_nop(insn):
                self._fault(section, insn.address, "a nop with a number in it", WHOLE)
            return
        if segment and not self._is_canary(insn, segment, own):
            got = f"the instruction {verb} with memory at %{segment}"
            self._fault(section, insn.address, got, "%gs as the stack protector uses it")
            return
        for op in insn.operands:
            if op.type == x86.X86_OP_IMM and insn.imm_offset not in own:
                if verb in opcodes.JUMPS | opcodes.CALLS:
                    self._leads(place, (section.index, op.imm))
                else:
                    self._number(op.imm, op.size)
                    if verb in DECIDING and insn.operands[0].reg != x86.X86_REG_RSP:
                        self._compares(op.imm, op.size)
            elif op.type == x86.X86_OP_MEM and not segment:
                self._memory(section, insn, op, own)

    def _number(self, number: int, size: int) -> None:
        """Record a constant in an instruction, because a table might consist of such constants."""
        if size == 4 and number >= 1 << 31:
            number -= 1 << 32  # compilers use such a constant as a negative number
        if number not in SMALL:
            width = next(w for w in (2, 4, 8) if -(1 << 8 * w - 1) <= number < 1 << 8 * w)
            self.swept.numbers[number] = width

    def _compares(self, number: int, size: int) -> None:
        bits = 8 * size
        self.swept.compared.add(min(number % (1 << bits), -number % (1 << bits)))

    def _memory(self, section: Section, insn: Any, op: Any, own: dict[int, Relocation]) -> None:
        """Check which memory an operand in memory accesses, by the operand's base."""
        verb = opcodes.name(insn)
        writes = opcodes.op_writes(insn, op)
        relocation = own.get(insn.disp_offset) if insn.disp_offset else None
        if relocation:
            kind = kind_of(self.obj.section_of(relocation.symbol))
        elif op.mem.base == x86.X86_REG_RIP:
            kind = "code"
            if verb == "lea":
                target = insn.address + insn.size + op.mem.disp
                self._leads((section.index, insn.address), (section.index, target))
        elif op.mem.base == 0 and verb != "lea":
            got = f"the instruction {verb} at an absolute address"
            self._fault(section, insn.address, got, OWN)
            return
        else:
            self._number(op.mem.disp, 4)
            if verb == "lea" and op.mem.base != x86.X86_REG_RSP:
                self._compares(op.mem.disp, 4)
            return
        if verb == "lea" or kind == "once":
            return
        # The stage may access tables of addresses that the linker makes, and sanitizers' data.
        if relocation and (
            relocation.type in BY_TABLE or SANITIZER.fullmatch(relocation.symbol.name)
        ):
            return
        fault = touches(section, insn, kind, writes)
        if fault:
            self.swept.faults.append(fault)

    def _is_canary(self, insn: Any, segment: str, own: dict[int, Relocation]) -> bool:
        """Return whether an instruction with a segment is an access of the stack protector."""
        memory = [op for op in insn.operands if op.type == x86.X86_OP_MEM]
        verb = opcodes.name(insn)
        if segment != self.canary or len(memory) != 1 or verb not in ("mov", "sub", "xor", "cmp"):
            return False
        if opcodes.op_writes(insn, memory[0]):
            return False
        place = memory[0].mem
        if own:
            return all(r.symbol.name in opcodes.CANARY_NAMES for r in own.values())
        return (place.base, place.index, place.disp) == (0, 0, opcodes.CANARY)

    def _lead_somewhere(self) -> bool:
        """Return whether every jump and every code address leads to an instruction."""
        lost = [(p, source) for p, source in self.targets.items() if p not in self.swept.starts]
        for _, source in lost:
            section = self.obj.sections[source[0]]
            self._fault(section, source[1], "a jump into the middle of an instruction", WHOLE)
        return not lost

    def _callers(self, sections: list[Section]) -> None:
        """Report instructions by which a function could find out its caller."""
        insns = {(s.index, insn.address): insn for s in sections for insn in self.insns[s.index]}
        entries = []
        for symbol in self.obj.symbols:
            section = self.obj.section_of(symbol)
            # Compilers split off the cold part of a function, which is reached by a jump.
            if section and section.code and symbol.kind == "FUNC" and ".cold" not in symbol.name:
                entries.append((section.index, symbol.value))
        for index, offset in stack_frames.accesses(entries, insns, self.follows):
            got = "an access to the return address on the stack"
            self._fault(self.obj.sections[index], offset, got, CALLER)

    def _reachable(self, sections: list[Section], marked: set[Place]) -> None:
        """Report code that no path reaches, except padding between functions."""
        seen: set[Place] = set()
        todo = list(marked)
        while todo:
            place = todo.pop()
            if place in self.follows and place not in seen:
                seen.add(place)
                todo += self.follows[place]
        for section in sections:
            begin, length = 0, 0
            for insn in [*self.insns[section.index], None]:
                lost = (
                    insn is not None
                    and (section.index, insn.address) not in seen
                    and opcodes.name(insn) not in opcodes.PADDING
                )
                if lost:
                    begin, length = (
                        (begin, length + insn.size) if length else (insn.address, insn.size)
                    )
                elif length:
                    got = f"{length} bytes in the code that no path reaches"
                    self._fault(section, begin, got, WHOLE)
                    length = 0


def read(obj: Object, canary: str = "gs", vector: bool = False) -> CodeSurvey:
    """Read all code of an object; vector: the object is a vector file.

    A survey without a fault is kept, because most objects of a stage are the same as in the check
    before.
    """
    name = object_store.key(_checker(), obj.path.read_bytes(), canary, vector)
    if kept := object_store.fetch(name):
        survey: CodeSurvey = pickle.loads(kept["survey"])
        return survey
    survey = _Reader(obj, canary, vector).read()
    if survey.whole and not survey.faults:
        object_store.keep(name, {"survey": pickle.dumps(survey)})
    return survey


@cache
def _checker() -> tuple[object, ...]:
    """Return everything besides an object on which its survey depends."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return (capstone.__version__, *(path.read_bytes() for path in files))
