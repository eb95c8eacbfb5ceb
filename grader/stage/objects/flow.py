# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Follow addresses from the instruction that puts one into a register to those that use it.

From one jump to the next, and no further: what has been in memory is anybody's.
"""

from __future__ import annotations

from typing import Any

from capstone import x86_const as x86  # type: ignore[import-untyped]

from grader.stage.objects import opcodes
from grader.stage.objects.elf import Object, Relocation, Section
from grader.stage.objects.faults import (
    DATA_USED,
    NOTHING_KEPT,
    OWN,
    SANITIZER,
    Fault,
    Place,
    Swept,
    kind_of,
    touches,
)


class Flow:
    """The addresses that registers hold, and of what; targets are where jumps lead to."""

    def __init__(self, obj: Object, swept: Swept, targets: dict[Place, Place]) -> None:
        self.obj = obj
        self.swept = swept
        self.targets = targets
        self.held: dict[str, str] = {}

    def _add(self, fault: Fault | None) -> None:
        if fault:
            self.swept.faults.append(fault)

    def _say(self, section: Section, insn: Any, got: str, expected: str) -> None:
        self.swept.faults.append(Fault(section, insn.address, got, expected))

    def follow(self, section: Section, insns: list[Any]) -> None:
        """Follow addresses in registers from one jump to the next: to where is written?"""
        self.held = {}
        relocations = {r.offset: r for r in section.relocations}
        for insn in insns:
            if (section.index, insn.address) in self.targets:
                self.held = {}
            verb = opcodes.name(insn)
            if self.held and verb not in ("lea", "nop"):
                for op in insn.operands:
                    kind = self._held_in(op)
                    if kind:
                        self._add(touches(section, insn, kind, opcodes.op_writes(insn, op)))
            self._computes(section, insn, verb)
            self._leave(section, insn, verb)
            if not insn.operands:
                continue
            first = insn.operands[0]
            into = opcodes.FAMILY.get(first.reg, "") if first.type == x86.X86_OP_REG else ""
            kept = ""
            if verb in ("lea", "mov", "movabs"):
                kept = self._address(section, insn, relocations)
            elif verb in ("add", "sub", "inc", "dec") and insn.operands[-1].type != x86.X86_OP_REG:
                kept = self.held.get(into, "")
            if into and verb not in opcodes.READS_FIRST - {"lea"}:
                self.held.pop(into, None)
                if kept:
                    self.held[into] = kept
            if verb == "xchg":
                self.held = {}

    def _computes(self, section: Section, insn: Any, verb: str) -> None:
        """An address made out of that of a function: it leads to what the sweep has not seen."""
        used = [opcodes.FAMILY.get(op.reg, "") for op in insn.operands if op.type == x86.X86_OP_REG]
        if verb == "lea":
            memory = insn.operands[-1].mem
            used = [opcodes.FAMILY.get(r, "") for r in (memory.base, memory.index) if r]
        elif verb not in opcodes.ARITHMETIC or verb in ("cmp", "test") or len(insn.operands) < 2:
            return
        elif verb in ("xor", "sub") and used == used[:1] * 2:
            return  # zero
        elif verb in ("bsf", "bsr") or (verb == "imul" and len(insn.operands) == 3):
            used = used[1:]  # the first is only written to
        if any(self.held.get(register) in ("code", "elsewhere") for register in used):
            self._say(section, insn, "an address computed from a function's", OWN)

    def _leave(self, section: Section, insn: Any, verb: str) -> None:
        """What registers hold behind a jump or call, or what writes to some that it does not name.

        The address of writable data, which only a sanitizer has, goes to it and nowhere else."""
        if verb in opcodes.JUMPS | opcodes.CALLS | opcodes.RETURNS:
            name = self.swept.jumps.get((section.index, insn.address), "")
            given = {register for register, kind in self.held.items() if kind == "data"}
            if given and not (verb == "call" and SANITIZER.fullmatch(name) and given == {"di"}):
                self._say(section, insn, DATA_USED, NOTHING_KEPT)
            gone = "a c d si di r8 r9 r10 r11".split() if verb == "call" else list(self.held)
            if verb in opcodes.CONDITIONAL:
                gone = list(given)
        elif verb in opcodes.STRINGS:
            gone = ["a", "c", "si", "di"]
        elif verb in ("mul", "imul", "div", "idiv", "cqo", "cdq", "cdqe", "cwde", "lahf", "mulx"):
            gone = ["a", "d"]
            if verb == "mulx":
                gone += [opcodes.FAMILY.get(insn.operands[1].reg, "")]
        else:
            return
        for register in gone:
            self.held.pop(register, None)

    def _held_in(self, op: Any) -> str:
        """Of what kind is the address that an operand in memory is based on, if it is known.

        A register that is added to it unscaled may be the difference to another address."""
        if op.type != x86.X86_OP_MEM or (op.mem.index and op.mem.scale == 1):
            return ""
        return self.held.get(opcodes.FAMILY.get(op.mem.base, ""), "")

    def _address(self, section: Section, insn: Any, known: dict[int, Relocation]) -> str:
        """The kind of the address that a lea or mov puts into a register, or nothing."""
        source = insn.operands[-1]
        if source.type == x86.X86_OP_REG:
            return self.held.get(opcodes.FAMILY.get(source.reg, ""), "")
        is_lea = opcodes.name(insn) == "lea"
        at = insn.disp_offset if source.type == x86.X86_OP_MEM else insn.imm_offset
        relocation = known.get(insn.address + at) if at else None
        if relocation and (is_lea or source.type == x86.X86_OP_IMM):
            kind = kind_of(self.obj.section_of(relocation.symbol))
            return "" if is_lea and source.mem.index and source.mem.scale == 1 else kind
        if is_lea:
            return "code" if source.mem.base == x86.X86_REG_RIP else self._held_in(source)
        return ""
