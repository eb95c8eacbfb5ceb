# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find instructions that access the return address of their own function.

A function that knows its caller could compute for one caller and only pretend to compute for
another. From the entry of each function and along its jumps, this file tracks the distance of the
stack pointer and of the frame pointer from the return address. Copies in other registers are not
tracked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from capstone import x86_const as x86  # type: ignore[import-untyped]

from grader.exercise.static_contract import opcodes
from grader.exercise.static_contract.object_findings import Place

WORD = 8


@dataclass(frozen=True)
class _Frame:
    """The distances of the stack pointer and the frame pointer below the return address.

    A distance is None if it is not known.
    """

    stack: int | None = 0
    base: int | None = None

    def below(self, register: int) -> int | None:
        """Return how far a register is below the return address."""
        return {x86.X86_REG_RSP: self.stack, x86.X86_REG_RBP: self.base}.get(register)


def accesses(
    entries: Iterable[Place], insns: Mapping[Place, Any], follows: Mapping[Place, list[Place]]
) -> Iterator[Place]:
    """Yield the instructions that access the return address of their own function."""
    frames: dict[Place, _Frame] = {place: _Frame() for place in entries if place in insns}
    todo = list(frames)
    while todo:
        place = todo.pop()
        insn, frame = insns[place], frames[place]
        if _touches(insn, frame):
            yield place
        following = follows[place]
        if opcodes.name(insn) in opcodes.CALLS:
            following = following[:1]  # the instruction after the call
        after = _after(insn, frame)
        for target in following:
            if target in insns and target not in frames:
                frames[target] = after
                todo.append(target)


def _touches(insn: Any, frame: _Frame) -> bool:
    verb = opcodes.name(insn)
    if verb == "pop" and frame.stack == 0:
        return True
    if verb in ("lea", "nop"):
        return False
    for op in insn.operands:
        if op.type != x86.X86_OP_MEM or op.mem.index:
            continue
        below = frame.below(op.mem.base)
        if below is not None and -op.size < op.mem.disp - below < WORD:
            return True
    return False


def _after(insn: Any, frame: _Frame) -> _Frame:
    """Return the frame after an instruction."""
    verb, operands = opcodes.name(insn), insn.operands
    if verb == "leave":
        return _Frame(None if frame.base is None else frame.base - WORD)
    if verb in ("push", "pop") and frame.stack is not None:
        frame = replace(frame, stack=frame.stack + (WORD if verb == "push" else -WORD))
    if not operands or verb in opcodes.READS_FIRST - {"lea"}:
        return frame
    first, last = operands[0], operands[-1]
    if first.type != x86.X86_OP_REG:
        return frame
    if opcodes.FAMILY.get(first.reg) == "sp":
        return replace(frame, stack=_value(verb, last, frame, frame.stack))
    if opcodes.FAMILY.get(first.reg) == "bp":
        return replace(frame, base=_value(verb, last, frame, frame.base))
    return frame


def _value(verb: str, source: Any, frame: _Frame, before: int | None) -> int | None:
    """Return how far a register is below the return address after an instruction writes to it."""
    if verb == "mov" and source.type == x86.X86_OP_REG:
        return frame.below(source.reg)
    if verb == "lea" and not source.mem.index:
        below = frame.below(source.mem.base)
        return None if below is None else below - int(source.mem.disp)
    if verb in ("add", "sub") and source.type == x86.X86_OP_IMM and before is not None:
        return before + (int(source.imm) if verb == "sub" else -int(source.imm))
    return None
