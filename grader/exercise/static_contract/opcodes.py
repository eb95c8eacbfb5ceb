# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""List the instructions that a stage may contain, which are instructions on integers.

Any other instruction is a fault.
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
# Instructions that pad the code between functions or stop speculative execution after a jump.
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
# Instructions that only read their first operand if it is in memory.
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
# The family of each register number of the disassembler: eax and al belong to "a".
FAMILY: dict[int, str] = {
    number: _GENERAL[_name]
    for number in range(1, x86.X86_REG_ENDING)
    if (_name := MACHINE.reg_name(number)) in _GENERAL
}
_VECTORS = {
    x86.X86_GRP_FPU, x86.X86_GRP_MMX, x86.X86_GRP_3DNOW, x86.X86_GRP_AVX, x86.X86_GRP_AVX2,
    x86.X86_GRP_AVX512, x86.X86_GRP_FMA, x86.X86_GRP_FMA4, x86.X86_GRP_AES,
}  # fmt: skip
# A vector file may also hold the AVX2 and FMA instructions of these groups, which have a VEX
# prefix. Gather instructions and changes of the rounding mode are not allowed.
_VEX = (0xC4, 0xC5)
_NOT_OF_VECTOR_FILES = ("vgather", "vpgather", "vldmxcsr", "vstmxcsr", "vaes", "vpclmul")
_VECTOR = re.compile(r"[xy]mm([0-9]|1[0-5])")
_VECTOR_REGISTERS = ("xmm", "ymm", "zmm", "mm", "st", "k", "fp")

INTEGERS = "integer arithmetic only, neither floating point nor vectors"
ORDINARY = "what integers, memory and jumps need, and no other instruction"
# The stack protector's canary: its offset in user space, and its names in a kernel.
CANARY = 0x28
CANARY_NAMES = frozenset({"__stack_chk_guard", "__ref_stack_chk_guard"})

_LEGACY = frozenset(b"\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65")


def name(insn: Any) -> str:
    """Return the instruction's mnemonic without prefixes."""
    return str(insn.mnemonic).split()[-1]


def prefixes(insn: Any) -> list[int]:
    """Return the prefix bytes before the opcode. A final REX prefix is left out."""
    code = bytes(insn.bytes)
    found = []
    for byte, after in zip(code, code[1:]):
        rex = byte & 0xF0 == 0x40
        if byte not in _LEGACY and not (rex and (after in _LEGACY or after & 0xF0 == 0x40)):
            break
        found.append(byte)
    return found


def _operands(insn: Any) -> str:
    """Return the name of the first register operand that is not allowed, or ""."""
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
    """Return a description of the prefix that is not allowed, or ""."""
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
    # Except for string instructions, this prefix is part of the opcode or has no effect.
    repeats = {"popcnt", "tzcnt", "lzcnt", "adox", "endbr64", "ret"} | STRINGS
    if (0xF2 in found or 0xF3 in found) and verb not in repeats:
        return "a repetition"
    # The opcodes FF /3 and FF /5 load a segment register, too.
    if verb in ("call", "jmp") and insn.opcode[0] == 0xFF and insn.modrm >> 3 & 7 not in (2, 4):
        return "a segment"
    # Processors differ in the meaning of this prefix.
    if 0x66 in found and verb in JUMPS | CALLS | RETURNS:
        return "an operand of 16 bits"
    return ""


def _of_vector_files(insn: Any) -> bool:
    """Return whether only vector files may hold an instruction."""
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
    """Return the fault of an instruction and a description of what is allowed, or None.

    vector: the instruction is in a vector file.
    """
    verb = name(insn)
    if vector and _of_vector_files(insn):
        return None
    message = f"the instruction {verb}"
    register = _operands(insn)
    vector = register.startswith(_VECTOR_REGISTERS)
    if verb not in ALLOWED:
        if vector or set(insn.groups) & _VECTORS:
            return f"{message} (floating point or vectors)", INTEGERS
        if x86.X86_GRP_PRIVILEGE in insn.groups:
            return f"{message} (for the kernel itself)", ORDINARY
        return message, ORDINARY
    if register:
        return f"{message} with {register}", INTEGERS if vector else ORDINARY
    wrong = _prefix(insn, verb)
    return (f"{message} with {wrong}", ORDINARY) if wrong else None


def segment(insn: Any) -> str:
    """Return the segment that an instruction accesses, fs or gs, or ""."""
    found = prefixes(insn)
    return "gs" if 0x65 in found else "fs" if 0x64 in found else ""


def op_writes(insn: Any, op: Any) -> bool:
    """Return whether an instruction writes to the given operand, which is in memory."""
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
    """Return whether a memory operand adds a register to its address."""
    memory = [op.mem for op in insn.operands if op.type == x86.X86_OP_MEM]
    return any(m.index or m.base not in (0, x86.X86_REG_RIP) for m in memory)


def plain_nop(insn: Any) -> bool:
    """Return whether a nop is a padding of an assembler, without data in its operand."""
    if insn.opcode[0] == 0x90:
        return True
    memory = [op.mem for op in insn.operands if op.type == x86.X86_OP_MEM]
    return list(insn.opcode[:2]) == [0x0F, 0x1F] and all(m.disp == 0 for m in memory)
