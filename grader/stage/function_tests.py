# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A stage's operations tried one by one, in a program: what a task is judged by.

The stage's sources are built with function_tests.c and the sanitizers, and asked about random
numbers; Python's integers know the answers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.stage import function_program, oracle
from grader.stage.stages import Stage


@dataclass(frozen=True)
class Try:
    """One request, what it must answer, and its size in bits."""

    request: str
    expected: str
    size: int
    n: int | None = None


@dataclass(frozen=True)
class Outcome:
    """How an operation fared: sizes right below the first that is wrong, and what was wrong."""

    small: bool
    large: bool
    tried: int
    fault: str = ""


# Numbers that find what random ones do not: around the limits of one limb and two.
_EDGES = (0, 1, 2, 3, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, 2**96, 2**128 - 1, 2**128)


def _numbers(rng: random.Random, count: int) -> Iterator[int]:
    yield from _EDGES
    for _ in range(count):
        bits = rng.choice((8, 32, 64, 65, 128, 200, 640, 1000, 4100))
        yield rng.getrandbits(bits)
        yield (1 << bits) - 1 - (1 << rng.randrange(bits))  # carries run far


def _pairs(rng: random.Random, count: int) -> Iterator[tuple[int, int]]:
    for a in _EDGES:
        for b in _EDGES:
            yield a, b
    numbers = list(_numbers(rng, count))
    for a in numbers:
        yield a, rng.choice(numbers)


def _binary(
    names: tuple[str, ...], function: Callable[[int, int], int], ordered: bool
) -> Callable[[random.Random, Stage], Iterator[Try]]:
    def tries(rng: random.Random, stage: Stage) -> Iterator[Try]:
        for a, b in _pairs(rng, 60):
            x, y = (max(a, b), min(a, b)) if ordered else (a, b)
            allowed = names if stage.number >= 5 else names[:2] if stage.number == 4 else names[:1]
            for name in allowed:
                size = max(x.bit_length(), y.bit_length())
                yield Try(f"{name} {x:x} {y:x}", f"{function(x, y):x}", size)

    return tries


def _shifts(rng: random.Random, stage: Stage) -> Iterator[Try]:
    for a in _numbers(rng, 40):
        for bits in (0, 1, 31, 32, 33, 63, 64, 65, rng.randrange(300)):
            for name in ("lshift", "lshift-a")[: 2 if stage.number >= 4 else 1]:
                yield Try(f"{name} {a:x} {bits}", f"{a << bits:x}", a.bit_length() + bits)


def _squares(rng: random.Random, stage: Stage) -> Iterator[Try]:
    for a in _numbers(rng, 100):
        yield Try(f"square {a:x}", f"{a * a:x}", a.bit_length())


def _copies(rng: random.Random, stage: Stage) -> Iterator[Try]:
    for a in _numbers(rng, 100):
        yield Try(f"copy {a:x}", f"{a:x}", a.bit_length())


def _decimals(rng: random.Random, stage: Stage) -> Iterator[Try]:
    numbers = [*_numbers(rng, 30), *(10**i + d for i in range(45) for d in (-1, 0, 1))]
    if stage.number < 3:
        numbers = [a & (1 << 64) - 1 for a in numbers]
    for a in numbers:
        text = str(a)
        for room, want in (
            (len(text), text), (len(text) + 9, text), (len(text) - 1, "ERANGE"), (0, "ERANGE"),
        ):  # fmt: skip
            yield Try(f"decimal {a:x} {room}", want, a.bit_length())


def _computed_n(max_n: int) -> list[int]:
    top = [n for n in (1499, 2500, 4999, 9999, 10000, 30000) if n <= max_n]
    return [*range(min(max_n, 300) + 1), *top]


def _computations(rng: random.Random, stage: Stage) -> Iterator[Try]:
    for n in _computed_n(stage.manifest.max_n):
        value = oracle.fibonacci(n)
        yield Try(f"compute {n}", f"{value:x}", value.bit_length(), n)


def most_bytes(n: int) -> int:
    """The most memory that F(n) may take where its size is known beforehand."""
    limbs = -(-oracle.fibonacci(n).bit_length() // 64)
    # Six numbers with four limbs to spare, each with a head.
    return 6 * (64 + 8 * (limbs + 4))


_TRIES: dict[str, Callable[[random.Random, Stage], Iterator[Try]]] = {
    "add": _binary(("add", "add-a", "add-b"), lambda a, b: a + b, False),
    "sub": _binary(("sub", "sub-b", "sub-a"), lambda a, b: a - b, True),
    "mul": _binary(("mul",), lambda a, b: a * b, False),
    "square": _squares,
    "lshift": _shifts,
    "copy": _copies,
    "decimal": _decimals,
    "compute": _computations,
    "memory": _computations,
}


def _is_small(tried: Try, stage: Stage) -> bool:
    """Whether it is in the lower half of what the stage can do, where the first points are."""
    if tried.n is not None:
        return tried.n <= (93 if stage.number >= 3 else 46)
    return tried.size <= (128 if stage.number >= 3 else 32)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:16]}...{text[-16:]} ({len(text)} digits)"


def _asked(tried: Try) -> str:
    """A request as a reader would write it; numbers are hexadecimal."""
    verb, *words = tried.request.split()
    if verb == "compute":
        return f"F({words[0]})"
    shown = [_short(f"0x{word}") for word in words]
    if verb.startswith(("lshift", "decimal")):
        shown[1] = words[1]
    return f"{verb}({', '.join(shown)})"


def _shown(tried: Try, got: str) -> str:
    """What was asked, expected and got, with the place where they part."""
    want = tried.expected
    if len(want) > 40 and len(got) == len(want):
        at = next(i for i, (a, b) in enumerate(zip(want, got)) if a != b)
        begin = max(0, at - 8)
        return (
            f"{_asked(tried)} is wrong from digit {at + 1} on:"
            f" expected ...{want[begin : at + 12]}..., got ...{got[begin : at + 12]}..."
        )
    sign = "" if tried.request.startswith("decimal") else "0x"
    said = f"{sign if got[:1] not in 'EUN' or not got else ''}{_short(got)}"
    return f"{_asked(tried)}: expected {sign if want != 'ERANGE' else ''}{_short(want)}, got {said}"


def _fault(tried: Try, answer: str, operation: str) -> str:
    """What is wrong with an answer, or nothing."""
    words = answer.split()
    if "LEAK" in words:
        left = words[words.index("LEAK") + 1]
        if words[0] == tried.expected:
            return f"{_asked(tried)} is right, but blocks of memory are not given back: {left}"
        words = words[: words.index("LEAK")]
    if "CHANGED" in words:
        return f"{_asked(tried)} has changed its operand"
    got = " ".join(words) if words[:1] in (["ERROR"], ["ENOMEM"]) else "".join(words[:1])
    if got != tried.expected:
        return _shown(tried, got)
    if operation == "memory" and tried.n is not None and tried.n >= 200:
        peak, most = int(words[2]), most_bytes(tried.n)
        if peak > most:
            return f"F({tried.n:,}) held {peak:,} bytes at its peak, {most:,} are plenty"
    return ""


def outcome(stage: Stage, path: Path, operation: str, seed: int) -> Outcome:
    """Try one operation of a stage with numbers small and large."""
    tries = sorted(_TRIES[operation](random.Random(seed), stage), key=lambda t: t.size)
    answers, ended = function_program.ask(path, [tried.request for tried in tries], stage.isolated)
    for i, tried in enumerate(tries):
        if i >= len(answers) or (i == len(answers) - 1 and ended and not answers[i]):
            fault = f"{_asked(tried)}: {ended or 'no answer'}"
        else:
            fault = _fault(tried, answers[i], operation)
        if fault:
            small = operation != "memory" and not _is_small(tried, stage)
            return Outcome(small, False, len(tries), fault)
    return Outcome(True, True, len(tries))
