# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the arithmetic of the bignum stages on operands that no Fibonacci number produces.

unit_tests.c computes the results and Python's integers check them. The program is built as in the
kernel, as plain C without assembly, and with the sanitizers. From stage 8 on, Python's decimal
module, which multiplies in another base, checks long products. OPERANDS_SEED=number repeats the
random operands of a run.
"""

from __future__ import annotations

import decimal
import fcntl
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import catalogue
import pytest
from catalogue import Fault

from grader.base import paths, test_record
from grader.exercise.files import stages
from grader.exercise.operations import test_program

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)

SEED = int(os.environ.get("OPERANDS_SEED") or random.randrange(10**6))

NUMBERS = range(3, 13)
DECIMAL = (8, 9, 10, 11, 12)  # These stages have limbs of 18 decimal digits.
LIMB_DIGITS = 18
B = 10**LIMB_DIGITS
BUILDS = [
    (stage, flavour)
    for stage in NUMBERS
    for flavour in ("plain", "asan", "noasm", "asan-noasm")
    if stage in (6, 7) or "noasm" not in flavour
]
# The sanitizers are slow, so the short form runs them for only one of several similar stages. Each
# day has some builds, because the operations of the reference are also tested by the grader.
SELDOM = {(stage, "asan") for stage in (3, 4, 8, 9, 11, 12)}
LESS = [
    pytest.param(*build, marks=pytest.mark.long if build in SELDOM else pytest.mark.sampled)
    for build in BUILDS
]

# The suffix of a request names the operands among c, a and b that are the same number.
INTO = {"none": "", "ca": "-a", "cb": "-b", "ab": "-s", "all": "-t"}
# In c = a OP b, these operands may be the same number, as the comments of the stages state.
ALIASES = {
    "add": ("none", "ca", "cb", "ab", "all"),
    "sub": ("none", "ca", "cb", "ab", "all"),
    "mul": ("none", "ab"),
    "square": ("none",),
    "lshift": ("none", "ca"),
    "decimal": ("none",),
    "increase": ("ca",),
    "decrease": ("ca",),
    "div5": ("ca",),
}


@dataclass(frozen=True)
class Case:
    op: str
    alias: str
    a: int
    b: int

    def line(self, stage: int) -> str:
        """Return the request, as unit_tests.c reads it."""
        form = "d" if stage in DECIMAL else "x"
        a = f"{self.a:{form}}"
        if self.op == "decimal":  # A hexadecimal digit is less than 4/3 decimal digits.
            return f"decimal {a} {len(a) * 4 // 3 + 1}"
        into = "" if self.op in ("increase", "decrease") else INTO[self.alias]
        if self.op in ("square", "div5"):
            return f"{self.op}{into} {a}"
        return f"{self.op}{into} {a} {self.b:{'d' if self.op == 'lshift' else form}}"

    def result(self, stage: int) -> str:
        a, b = self.a, self.b
        if self.op == "decimal":
            return str(a)
        value = {
            "add": lambda: a + b,
            "sub": lambda: a - b,
            "mul": lambda: a * b,
            "square": lambda: a * a,
            "lshift": lambda: a << b,
            "increase": lambda: a + b,
            "decrease": lambda: a - b,
            "div5": lambda: a // 5,
        }[self.op]()
        return f"{value:d}" if stage in DECIMAL else f"{value:x}"


def allowed(stage: int, op: str) -> tuple[str, ...]:
    if stage == 3:  # stage 3 allocates its results
        return tuple(alias for alias in ALIASES[op] if alias in ("none", "ab"))
    if stage == 4 and op == "sub":
        return ("none", "cb", "ab")
    return ALIASES[op]


def edges() -> list[int]:
    found = {0, 1, 2, 3}
    for k in (31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 192, 320, 640, 1001):
        found |= {2**k - 1, 2**k, 2**k + 1}
    for k in (1, 2, 3, 7, 20):
        for chunk in (10 ** (9 * k), 10 ** (19 * k), 5 * 10 ** (18 * k - 1)):
            found |= {chunk - 1, chunk, chunk + 1}
    # With these numbers, a carry runs through a series of 1 bits, and a borrow through 0 bits.
    found |= {2**256 - 2**64, 2**256 - 2**32, 2**256 + 2**64 - 1, (2**64 - 1) << 128}
    return sorted(found)


def some_number(rng: random.Random, bits: int) -> int:
    """Return a random number of at most `bits` bits, uniform or made of long runs of equal bits."""
    if rng.random() < 0.5:
        return rng.getrandbits(bits)
    number = 0
    while number.bit_length() < bits:
        run = rng.randrange(1, 200)
        number = number << run | rng.choice((0, 2**run - 1))
        number = number or 1
    return number >> (number.bit_length() - bits)


@cache
def cases(stage: int, seed: int = SEED) -> list[Case]:
    rng = random.Random(seed)
    # The maximum size in bits is smaller for stage 3, which is slow because it works bit by bit.
    largest = 1500 if stage == 3 else 4000
    found = []

    def two(op: str, a: int, b: int) -> None:
        for alias in allowed(stage, op):
            if alias in ("ab", "all"):
                found.append(Case(op, alias, a, a))
            else:
                found.append(Case(op, alias, a, b))

    pairs = [(a, b) for a in edges() for b in edges()]
    for _ in range(400):
        a, b = (some_number(rng, rng.randrange(1, largest)) for _ in "ab")
        pairs.append((a, b))
    for a, b in pairs:
        two("add", a, b)
        two("sub", max(a, b), min(a, b))
        two("mul", a, b)
    for a in edges() + [some_number(rng, rng.randrange(1, largest)) for _ in range(400)]:
        found.append(Case("square", "none", a, 0))
        found.append(Case("decimal", "none", a, 0))
        if stage >= 9:
            found.append(Case("div5", "ca", 5 * a, 0))
            for b in (0, 1, 2, B - 1):
                found.append(Case("increase", "ca", a, b))
                found.append(Case("decrease", "ca", a + b, b))
        if stage in DECIMAL:
            continue
        for bits in (0, 1, 31, 32, 33, 63, 64, 65, rng.randrange(1000)):
            for alias in allowed(stage, "lshift"):
                found.append(Case("lshift", alias, a, bits))
    found += [Case("decimal", "none", 10**k * m - 1, 0) for k in range(1, 120) for m in (1, 2, 10)]
    # For one multiple of 10^19 in 400, the remainder before the last correction is 10^19.
    multiples = [rng.getrandbits(64) * 10**19 for _ in range(100)]
    multiples.append(0x8871F431BFA16E30F8D656530C500000)
    found += [Case("decimal", "none", a, 0) for a in multiples]
    return found


def stage_directory(number: int) -> Path:
    (directory,) = paths.STAGES.glob(f"{number}-*")
    return directory


def build(number: int, directory: Path, flavour: str, out: Path) -> Path:
    """Build the unit test program with the options of this variant and return its path."""
    parts = ("unit_tests", "failures", "bignum_tests", "number_io", "guard_pages", "bignum_adapter")
    mains = [test_program.HERE / f"{part}.c" for part in parts]
    macros = " ".join(("-DOPERANDS_ON_PAGES=false", *stages.kit(number).traits.macros()))
    subprocess.run(
        [
            *("make", "-s", "-C", str(paths.ROOT / "common" / "userspace"), "PROGRAM=operands"),
            *(f"STAGE_DIR={directory}", f"FLAVOUR={flavour}", f"OUT={out}"),
            "MAIN=" + " ".join(main.relative_to(paths.ROOT).as_posix() for main in mains),
            f"CC={os.environ.get('CC', 'gcc')} {macros}",
        ],
        check=True,
        env={**os.environ, "MAKEFLAGS": ""},
    )
    return out / "operands"


@cache
def program(stage: int, flavour: str) -> Path:
    directory = stage_directory(stage)
    out = paths.BUILD / "user" / directory.name / flavour
    out.mkdir(parents=True, exist_ok=True)
    # Another worker may run the program, which cannot be written then.
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return build(stage, directory, flavour, out)


def run(operands: Path, lines: list[str], seconds: float = 300) -> subprocess.CompletedProcess[str]:
    """Run the program on the requests. The result's stdout has the answers without the record."""
    text = test_record.line(test_record.draw()) + "".join(line + "\n" for line in lines)
    # Files, because the program writes each answer at once, and to wait for each at a pipe takes
    # longer than the arithmetic.
    with (
        tempfile.TemporaryFile("w+") as asked,
        tempfile.TemporaryFile("w+", errors="replace") as answers,
    ):
        asked.write(text)
        asked.seek(0)
        completed = subprocess.run(
            [str(operands)], stdin=asked, stdout=answers, stderr=subprocess.PIPE, text=True,
            errors="replace", timeout=seconds,
        )  # fmt: skip
        answers.seek(0)
        completed.stdout, _ = test_record.split(answers.read())
    return completed


def first_wrong(operands: Path, stage: int, seed: int = SEED) -> str:
    """Return a description of the first wrong case, or an empty string."""
    asked = cases(stage, seed)
    completed = run(operands, [case.line(stage) for case in asked])
    for case, line in zip(asked, completed.stdout.splitlines(), strict=False):
        if line != case.result(stage):
            return f"{case.line(stage)}: {line} instead of {case.result(stage)}"
    said = len(completed.stdout.splitlines())
    if completed.returncode or said != len(asked):
        at = asked[min(said, len(asked) - 1)].line(stage)
        return f"status {completed.returncode} at {at}: {completed.stderr[-2000:]}"
    return ""


@pytest.mark.parametrize(("stage", "flavour"), LESS)
def test_operands(stage: int, flavour: str) -> None:
    print(f"OPERANDS_SEED={SEED}")
    assert first_wrong(program(stage, flavour), stage) == ""


@pytest.mark.parametrize(
    ("stage", "op", "alias"),
    [
        (stage, op, alias)
        for stage in (4, 5, 6, 7, *DECIMAL)
        for op in ("sub", "mul", "square")
        for alias in ("ca", "cb", "all")
        if alias not in allowed(stage, op) and not (op == "square" and alias != "ca")
    ],
)
def test_an_alias_that_is_not_allowed_is_asserted(stage: int, op: str, alias: str) -> None:
    completed = run(program(stage, "plain"), [Case(op, alias, 2**100, 2**100).line(stage)])
    assert completed.returncode < 0
    assert "Assertion" in completed.stderr


@pytest.mark.parametrize("stage", [4, 5, 6, 7, *DECIMAL])
def test_a_subtraction_below_zero_is_asserted(stage: int) -> None:
    completed = run(program(stage, "plain"), [Case("sub", "none", 2**100, 2**100 + 1).line(stage)])
    assert completed.returncode < 0
    assert "Assertion" in completed.stderr


# Limb patterns that produce the largest column sums: the largest limb; the largest and the smallest
# digit of stages with balanced digits; both alternately; single limbs.
PATTERNS = (
    (B - 1,),
    (B // 2,),
    (B // 2 + 1,),
    (B - 1, 0),
    (B // 2, B // 2 + 1),
    (0, 0, 0, 0, 0, 0, 0, 1),
)
# Sizes just below and above each change of the algorithm: blocks of a column (340 products, or 170
# pairs in squares), halves and blocks of Karatsuba's method, and transforms.
SIZES = {
    8: (169, 170, 171, 339, 340, 341, 342, 680, 681, 1100),
    9: (169, 170, 171, 339, 340, 341, 342, 680, 681, 1021),
    10: (42, 43, 44, 64, 65, 66, 84, 85, 168, 169, 336, 337, 671, 672, 673, 1344, 1345, 2017),
    11: (42, 43, 64, 65, 84, 85, 168, 169, 336, 337, 671, 672, 673, 674, 1000),
}
SIZES[12] = SIZES[11]
UNEQUAL = {
    8: ((1000, 1), (1000, 339), (1000, 340), (1000, 341), (700, 690)),
    9: ((1000, 1), (1000, 339), (1000, 340), (1000, 341), (700, 690)),
    10: ((1000, 42), (1000, 43), (85, 43), (86, 43), (2000, 672), (2000, 673), (1345, 1344)),
    11: ((1000, 42), (1000, 43), (673, 672), (4000, 672), (4000, 673), (1366, 700), (1100, 1099)),
}
UNEQUAL[12] = UNEQUAL[11]


def number_of(pattern: tuple[int, ...], size: int) -> str:
    """Return, as text, a number of `size` limbs that repeat the pattern. Python's int is slow."""
    limbs = [pattern[i % len(pattern)] for i in range(size)]
    limbs[-1] = limbs[-1] or 1
    return "".join(f"{limb:018d}" for limb in reversed(limbs)).lstrip("0")


def some_limbs(rng: random.Random, size: int) -> str:
    """Return as text a number of `size` limbs, in runs of random limbs and of one pattern."""
    limbs: list[int] = []
    while len(limbs) < size:
        run = rng.randrange(1, 60)
        limbs += rng.choice(PATTERNS) * run
        limbs += [rng.randrange(B) for _ in range(run)]
    limbs[size - 1] = limbs[size - 1] or 1
    return "".join(f"{limb:018d}" for limb in reversed(limbs[:size])).lstrip("0")


def transform_sizes() -> list[int]:
    """Return for each transform length the longest product that fits, and one limb more."""
    found = []
    for bits in range(12, 19):
        for points in (2**bits, 5 * 2**bits // 4, 3 * 2**bits // 2):
            found += [points // 3, points // 3 + 1]
    # No F(n) needs a length as large as the last one.
    return [size for size in found[:-1] if size >= 2 * 673]


def long_pairs(stage: int) -> list[tuple[str, str]]:
    """Return pairs of factors. If both are the same object, the pair requests a square."""
    rng = random.Random(SEED)
    found = []
    for size in SIZES[stage]:
        for pattern in PATTERNS:
            a = number_of(pattern, size)
            found += [(a, a), (a, number_of(PATTERNS[0], size))]
        # These limbs make the column sums as negative as possible.
        found.append((number_of(PATTERNS[1], size), number_of(PATTERNS[2], size)))
        found.append((some_limbs(rng, size), some_limbs(rng, size)))
    for a_size, b_size in UNEQUAL[stage]:
        for pattern in PATTERNS:
            found.append((number_of(pattern, a_size), number_of(PATTERNS[0], b_size)))
        found.append((some_limbs(rng, b_size), some_limbs(rng, a_size)))
    for size in transform_sizes() if stage == 11 else []:
        half = number_of(PATTERNS[0], size // 2)
        found += [(half, half), (half, number_of(PATTERNS[0], size - size // 2))]
        found.append((some_limbs(rng, size - size // 3), some_limbs(rng, size // 3)))
    return found


def long_wrong(operands: Path, pairs: list[tuple[str, str]]) -> str:
    """Return a description of the first wrong long product, or an empty string."""
    lines = [f"square {a}" if a is b else f"mul {a} {b}" for a, b in pairs]
    completed = run(operands, lines)
    exact = decimal.Context(prec=5 * 10**6, Emax=decimal.MAX_EMAX, traps=[decimal.Inexact])
    for (a, b), line in zip(pairs, completed.stdout.splitlines(), strict=False):
        if line != format(exact.multiply(decimal.Decimal(a), decimal.Decimal(b)), "f"):
            return f"{a[:40]}... ({len(a)} digits) times {b[:40]}... ({len(b)} digits)"
    if completed.returncode or len(completed.stdout.splitlines()) != len(pairs):
        return f"status {completed.returncode}: {completed.stderr[-2000:]}"
    return ""


@pytest.mark.parametrize(("stage", "flavour"), [b for b in LESS if b.values[0] in DECIMAL])
def test_long_products(stage: int, flavour: str) -> None:
    print(f"OPERANDS_SEED={SEED}")
    assert long_wrong(program(stage, flavour), long_pairs(stage)) == ""


@pytest.mark.sampled
@pytest.mark.once
@pytest.mark.parametrize("fault", catalogue.found_by("operands"), ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault, tmp_path: Path) -> None:
    number = fault.stages[0]
    operands = build(number, catalogue.plant(fault, tmp_path), "plain", tmp_path / "out")
    assert first_wrong(operands, number, seed=1) != ""
