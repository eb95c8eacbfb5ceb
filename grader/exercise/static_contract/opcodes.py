# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The instructions that a stage may consist of, one by one: those that work on integers.

A list of what is allowed: what is not on it is a fault, whatever it may be.
"""

from __future__ import annotations

import re
from typing import Any

import capstone  # type: ignore[import-untyped]
from capstone import x86_const as x86

_CONDITIONS = "a ae b be e g ge l le ne no np ns o p s".split()
CALLS = frozenset({"call"})
JUMPS = frozenset(["jmp", *(f"j{c}" for c in _CONDITIONS), *"jrcxz loop loope loopne".split()])
RETURNS = frozenset({"ret"})
STRINGS = frozenset(
    f"{verb}s{size}" for verb in ("mov", "sto", "cmp", "sca", "lod") for size in "bwdq"
)
# Nothing but room between functions, or behind a jump that the processor shall not look beyond.
PADDING = frozenset({"nop", "int3"})
MOVES = (
    "mov movabs movzx movsx movsxd lea push pop xchg bswap cbw cwde cdqe cwd cdq cqo leave"
    " clc stc cmc cld lahf sahf"
).split()
ARITHMETIC = (
    "add adc sub sbb inc dec neg cmp test and or xor not mul imul div idiv"
    " shl sal shr sar rol ror rcl rcr shld shrd bt bts btr btc bsf bsr"
).split()
BMI_AND_ADX = (
    "andn bextr blsi blsmsk blsr bzhi mulx pdep pext rorx sarx shlx shrx tzcnt lzcnt popcnt"
    " adcx adox"
).split()
HINTS = "endbr64 prefetchnta prefetcht0 prefetcht1 prefetcht2 prefetchw".split()
ALLOWED = (
    frozenset([*MOVES, *ARITHMETIC, *BMI_AND_ADX, *HINTS])
    | frozenset(f"{verb}{c}" for verb in ("cmov", "set") for c in _CONDITIONS)
    | CALLS | JUMPS | RETURNS | STRINGS | PADDING
)  # fmt: skip
# Their first operand, where it is memory, is only read.
READS_FIRST = (
    frozenset("cmp test bt push mul div idiv nop lea".split())
    | frozenset(HINTS) | CALLS | JUMPS | frozenset(s for s in STRINGS if s[:3] == "cmp")
)  # fmt: skip

_FAMILIES = {
    "ax": "a",
    "bx": "b",
    "cx": "c",
    "dx": "d",
    "si": "si",
    "di": "di",
    "bp": "bp",
    "sp": "sp",
}
_GENERAL: dict[str, str] = {}
for _short, _family in _FAMILIES.items():
    _GENERAL.update({p + _short: _family for p in ("", "e", "r")})
    _GENERAL[f"{_family}l"] = _family
_GENERAL.update({f"{c}h": c for c in "abcd"})
for _number in range(8, 16):
    _GENERAL.update({f"r{_number}{size}": f"r{_number}" for size in ("", "d", "w", "b")})

MACHINE = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
MACHINE.detail = True
# The number of each register for the disassembler, by the one it is a part of.
FAMILY: dict[int, str] = {
    number: _GENERAL[_name]
    for number in range(1, x86.X86_REG_ENDING)
    if (_name := MACHINE.reg_name(number)) in _GENERAL
}
_VECTORS = {
    x86.X86_GRP_FPU, x86.X86_GRP_MMX, x86.X86_GRP_3DNOW, x86.X86_GRP_AVX, x86.X86_GRP_AVX2,
    x86.X86_GRP_AVX512, x86.X86_GRP_FMA, x86.X86_GRP_FMA4, x86.X86_GRP_AES,
}  # fmt: skip
# Of these, a vector file may hold those of AVX2 and FMA: they have a VEX prefix. It may not gather,
# nor change how the processor rounds.
_VEX = (0xC4, 0xC5)
_NOT_OF_VECTOR_FILES = ("vgather", "vpgather", "vldmxcsr", "vstmxcsr", "vaes", "vpclmul")
_VECTOR = re.compile(r"[xy]mm([0-9]|1[0-5])")
_VECTOR_REGISTERS = ("xmm", "ymm", "zmm", "mm", "st", "k", "fp")

INTEGERS = "integer arithmetic only, neither floating point nor vectors"
ORDINARY = "what integers, memory and jumps need, and no other instruction"
# The canary, for the stack protector: in user space, and in a kernel.
CANARY = 0x28
CANARY_NAMES = frozenset({"__stack_chk_guard", "__ref_stack_chk_guard"})

_LEGACY = frozenset(b"\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65")


def name(insn: Any) -> str:
    """The instruction's name without what is written before it."""
    return str(insn.mnemonic).split()[-1]


def prefixes(insn: Any) -> list[int]:
    """The bytes before the opcode that change its meaning; REX only where another follows."""
    code = bytes(insn.bytes)
    found = []
    for byte, after in zip(code, code[1:]):
        rex = byte & 0xF0 == 0x40
        if byte not in _LEGACY and not (rex and (after in _LEGACY or after & 0xF0 == 0x40)):
            break
        found.append(byte)
    return found


def _operands(insn: Any) -> str:
    """What is wrong with the registers it names, or nothing."""
    for op in insn.operands:
        registers = [op.reg] if op.type == x86.X86_OP_REG else []
        if op.type == x86.X86_OP_MEM:
            registers = [r for r in (op.mem.base, op.mem.index) if r]
            registers = [r for r in registers if r != x86.X86_REG_RIP]
        for register in registers:
            if register not in FAMILY:
                return str(MACHINE.reg_name(register) or "an odd register")
    return ""


def _prefix(insn: Any, verb: str) -> str:
    """What is wrong with the bytes before its opcode, or nothing."""
    found = prefixes(insn)
    if 0xF0 in found:
        return "a lock"
    if any(byte not in _LEGACY for byte in found):
        return "a prefix behind REX"
    if verb == "nop":
        return ""
    if 0x67 in found:
        return "an address of 32 bits"
    if len(set(found)) < len(found):
        return "a prefix twice"
    # Of all but strings', it is part of the opcode, or means nothing.
    repeats = {"popcnt", "tzcnt", "lzcnt", "adox", "endbr64", "ret"} | STRINGS
    if (0xF2 in found or 0xF3 in found) and verb not in repeats:
        return "a repetition"
    # FF /3 and FF /5 load a segment as well.
    if verb in ("call", "jmp") and insn.opcode[0] == 0xFF and insn.modrm >> 3 & 7 not in (2, 4):
        return "a segment"
    # Processors do not agree on what it means.
    if 0x66 in found and verb in JUMPS | CALLS | RETURNS:
        return "an operand of 16 bits"
    return ""


def _of_vector_files(insn: Any) -> bool:
    """Return whether an instruction is one that only vector files may hold."""
    verb = name(insn)
    if not verb.startswith("v") or verb.startswith(_NOT_OF_VECTOR_FILES):
        return False
    if insn.bytes[0] not in _VEX:
        return False
    named = [MACHINE.reg_name(op.reg) for op in insn.operands if op.type == x86.X86_OP_REG]
    others = [register for register in named if not _VECTOR.fullmatch(register)]
    memory = [op.mem for op in insn.operands if op.type == x86.X86_OP_MEM]
    addresses = [r for m in memory for r in (m.base, m.index) if r and r != x86.X86_REG_RIP]
    return all(r in _GENERAL for r in others) and all(r in FAMILY for r in addresses)


def fault(insn: Any, vector: bool = False) -> tuple[str, str] | None:
    """Return what is wrong with an instruction, and what would be right; or None.

    vector: it is one of a vector file.
    """
    verb = name(insn)
    if vector and _of_vector_files(insn):
        return None
    said = f"the instruction {verb}"
    register = _operands(insn)
    vector = register.startswith(_VECTOR_REGISTERS)
    if verb not in ALLOWED:
        if vector or set(insn.groups) & _VECTORS:
            return f"{said} (floating point or vectors)", INTEGERS
        if x86.X86_GRP_PRIVILEGE in insn.groups:
            return f"{said} (for the kernel itself)", ORDINARY
        return said, ORDINARY
    if register:
        return f"{said} with {register}", INTEGERS if vector else ORDINARY
    wrong = _prefix(insn, verb)
    return (f"{said} with {wrong}", ORDINARY) if wrong else None


def segment(insn: Any) -> str:
    """fs or gs where the instruction looks there, or nothing."""
    found = prefixes(insn)
    return "gs" if 0x65 in found else "fs" if 0x64 in found else ""


def op_writes(insn: Any, op: Any) -> bool:
    """Whether an instruction writes to an operand of it that is in memory."""
    verb = name(insn)
    if op.type != x86.X86_OP_MEM:
        return False
    if verb == "xchg":
        return True
    first = insn.operands[0]
    same = first.type == x86.X86_OP_MEM and _same(first.mem, op.mem)
    single = verb == "imul" and len(insn.operands) == 1
    return same and verb not in READS_FIRST and not single


def _same(one: Any, other: Any) -> bool:
    mine, its = ((m.base, m.index, m.disp, m.scale) for m in (one, other))
    return bool(mine == its)


def registers(insn: Any) -> bool:
    """Whether a register is added to an address in it."""
    memory = [op.mem for op in insn.operands if op.type == x86.X86_OP_MEM]
    return any(m.index or m.base not in (0, x86.X86_REG_RIP) for m in memory)


def plain_nop(insn: Any) -> bool:
    """Whether it is as assemblers fill room: nothing is hidden in what it does not read."""
    if insn.opcode[0] == 0x90:
        return True
    memory = [op.mem for op in insn.operands if op.type == x86.X86_OP_MEM]
    return list(insn.opcode[:2]) == [0x0F, 0x1F] and all(m.disp == 0 for m in memory)
