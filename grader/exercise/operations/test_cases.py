# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Generate the test cases of the operations of stages 1 to 7, whose numbers are hexadecimal."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from grader.exercise.files import expected_values, near_numbers
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import course


@dataclass(frozen=True)
class Residues:
    """The valid results for numbers modulo a prime: any representation below a bound."""

    prime: int
    below: int  # The bound, as a multiple of the prime.
    width: int  # The number of digits of each number in the answer.

    def row(self, text: str) -> list[int]:
        """Return the numbers in an answer, the lowest first."""
        text = "0" * (-len(text) % self.width) + text
        return [int(text[i : i + self.width]) for i in range(0, len(text), self.width)][::-1]


@dataclass(frozen=True)
class OperationCase:
    """A request, its expected answer, and its size in bits, or in digits for decimal numbers."""

    request: str
    expected: str
    size: int
    n: int | None = None
    most_bytes: int | None = None  # The limit of bytes allocated at the peak.
    residues: Residues | None = None  # Set if the result is a row of numbers modulo a prime.
    # The numbers of products that may be passed to fib_account_work, from the digits that
    # a limb holds.
    work: Callable[[int], list[tuple[float, float]]] | None = None


class Drawing(random.Random):
    """Random numbers for test cases of a stage, and lengths near the numbers that it compares."""

    def __init__(self, stage: Stage, compared: Sequence[int], seed: int) -> None:
        super().__init__(seed)
        self.traits, self.compared = stage.traits, compared

    def lengths(self, least: int, most: int) -> list[int]:
        """Return lengths in this range, in bits, or in limbs if limbs are decimal."""
        found = near_numbers.lengths(self.traits, self.compared, least, most, self)
        return sorted(self.sample(found, min(_MOST_LENGTHS, len(found))))


Tries = Callable[[Drawing, Stage], Iterator[OperationCase]]


# The most lengths near numbers that the code compares, so that all answers fit into the output.
_MOST_LENGTHS = 40
# The least and the largest share of the work of a product that must be announced.
_LEAST_ANNOUNCED, _MOST_ANNOUNCED = 0.9, 1.25
# Digits may also be converted by smaller divisors, which takes more work.
_MOST_DECIMAL_ANNOUNCED = 1.5
# The least limbs of the factors that Karatsuba's method need not divide further.
_LEAF = 16
# The bits of the factors of products whose announced work is judged. A number of 1,300 bits has at
# least 20 limbs. Further products have longer factors, up to _MOST_PRODUCT bits, or shorter ones.
_ANNOUNCED_BITS = (1300, 2600)
_SHORT_ANNOUNCED, _LEAST_FACTOR = 300, 33
# The largest bits of operands whose result takes linear and quadratic time.
_MOST_SUM, _MOST_PRODUCT = 100_000, 60_000
# A number of this many bits does not fit on the stack of a call. So no stage can do without memory,
# even if its largest F(n) would fit there.
_BEYOND_STACK = 8 * 4096 + 1024
# How many lengths of each octave are drawn if operations take little time.
_IN_AN_OCTAVE = 3
# The largest buffer for the digits of a number, in bytes, and as a multiple of their number.
_MOST_ROOM, _MOST_ROOM_TIMES = 1 << 22, 1000


def longest(stage: Stage, most: int, part: int = 1) -> int:
    """Return the bits of the largest F(n) of a stage, or of a part of it, but at most `most`."""
    phi = (1 + math.sqrt(5)) / 2
    return min(most, int(stage.manifest.max_n * math.log2(phi)) // part)


def beyond_stack(rng: random.Random, stage: Stage, part: int = 1) -> Iterator[int]:
    """Yield an operand whose result does not fit on the stack, unless F(n) is as long."""
    if longest(stage, _BEYOND_STACK) < _BEYOND_STACK:
        yield _of_length(rng, _BEYOND_STACK // part)


def announcements(rng: random.Random, stage: Stage, operation: str) -> Iterator[OperationCase]:
    """Yield the cases whose announced work is judged in the tests of an operation.

    Decimal digits are judged if limbs are binary; otherwise they take little work. Each stage
    judges products in the first of its tasks that needs them. If products are computed bit by bit,
    a square is a product.
    """
    if not stage.traits.numbers:
        return
    if operation == "decimal" and not stage.traits.decimal:
        yield from _announced_decimals(rng, stage)
    form = "d" if stage.traits.decimal else "x"
    tested = [task.operation for task in course(stage.number).tasks]
    for verb in ("mul",) if stage.traits.slow else ("mul", "square"):
        homes = [home for home in (verb, f"long-{verb}", "compute") if home in tested]
        if homes[:1] != [operation]:
            continue
        for both in _announced_lengths(rng, longest(stage, _MOST_PRODUCT, 2)):
            bits = both[0]
            rng.shuffle(both)
            a, b = (_of_length(rng, length + 1) for length in both)
            factors = (a, b) if verb == "mul" else (a,)
            words = tuple(f"{factor:{form}}" for factor in factors)
            product = a * b if verb == "mul" else a * a
            request = f"{verb}-w {' '.join(words)}"
            size = len(words[0]) if stage.traits.decimal else bits
            work = partial(_work, stage, words)
            yield OperationCase(request, f"{product:{form}}", size, work=work)


def _announced_lengths(rng: random.Random, most: int) -> Iterator[list[int]]:
    """Yield the bits of two factors, the longer one first, which has at most `most` bits.

    The ratio of two long factors is drawn once from each octave, because a row of a product with a
    short factor must be announced as well.
    """
    first, second = _ANNOUNCED_BITS
    # Factors of one length, so that more work than one limit is announced.
    yield [any_length(rng, second, most)] * 2
    for longer in (rng.randrange(first, second), any_length(rng, _SHORT_ANNOUNCED, first)):
        yield [longer, any_length(rng, _LEAST_FACTOR, longer)]
    for octave in range(int(math.log2(most / _LEAST_FACTOR))):
        longer = any_length(rng, max(second, _LEAST_FACTOR << octave + 1), most)
        yield [longer, max(_LEAST_FACTOR, any_length(rng, longer >> octave + 1, longer >> octave))]


def _announced_decimals(rng: random.Random, stage: Stage) -> Iterator[OperationCase]:
    first, second = _ANNOUNCED_BITS
    most = longest(stage, _MOST_PRODUCT // 2)
    for ends in (_SHORT_ANNOUNCED, first), (first, second), (second, most):
        bits = any_length(rng, *ends)
        number = _of_length(rng, bits + 1)
        text = str(number)
        work = partial(_decimal_work, stage, number)
        for room in len(text), large_room(rng, len(text)):
            yield OperationCase(f"decimal-w {number:x} {room}", text, bits, work=work)


def _decimal_work(stage: Stage, number: int, digits: int) -> list[tuple[float, float]]:
    """Return how much work may be announced for the decimal digits of a number, by each method.

    digits: the digits of a limb.
    """
    limb_bits, bits = 4 * digits, number.bit_length()
    size = -(-bits // limb_bits)
    # Each division by the largest power of 10 in a limb makes the number shorter.
    shorter = int(limb_bits * math.log10(2)) * math.log2(10)
    steps = range(int(bits // shorter) + 1)
    methods = [sum(math.ceil((bits - i * shorter) / limb_bits) for i in steps)]
    if stage.traits.slow:  # For each bit, the digits so far are doubled.
        methods.insert(0, sum(len(str(number >> bit)) for bit in range(bits)))
    return [
        (_LEAST_ANNOUNCED * work - size, _MOST_DECIMAL_ANNOUNCED * work + size) for work in methods
    ]


def _work(stage: Stage, factors: tuple[str, ...], digits: int) -> list[tuple[float, float]]:
    """Return how much work may be announced for a product, or the square of one factor.

    If the stage multiplies bit by bit, a product limb by limb is allowed as well. Such a product
    takes few instructions, and a limit on those between two yields excludes any other method that
    announces as little.
    digits: the digits of a limb.
    """
    a, b = factors[0], factors[-1]
    a_size, b_size = (-(-len(text) // digits) for text in (a, b))
    bit_by_bit = []
    if stage.traits.slow:
        bits = 4 * digits
        both = _bitwise(stage, a, b, bits), _bitwise(stage, b, a, bits)
        bit_by_bit = [(_LEAST_ANNOUNCED * min(both), _MOST_ANNOUNCED * max(both))]
    # A square needs the products above the diagonal, but may be computed like a product. A loop may
    # begin or end one step earlier. Rows for limbs that are 0 may be left out.
    a_rows, b_rows = (_nonzero_limbs(text, digits) for text in (a, b))
    work: float = min(a_rows * b_size, b_rows * a_size)
    if len(factors) == 1:
        work = a_rows * (a_rows - 1) / 2
    most = a_size * b_size
    if stage.traits.decimal:  # as many for each column as for the longest
        most = (a_size + b_size) * min(a_size, b_size)
    if stage.traits.subquadratic:  # Karatsuba's method; the kit's leaves have 21 limbs or more
        work *= 0.75 ** max(0, math.log2(min(a_size, b_size) / _LEAF))
    least = _LEAST_ANNOUNCED * work - max(a_size, b_size)
    return [*bit_by_bit, (least, _MOST_ANNOUNCED * most + a_size + b_size)]


def _nonzero_limbs(text: str, digits: int) -> int:
    """Return how many limbs of a number in text form, each of some digits, are not 0."""
    ends = range(len(text), 0, -digits)
    return sum(bool(text[max(0, end - digits) : end].strip("0")) for end in ends)


def _bitwise(stage: Stage, a: str, b: str, limb_bits: int) -> int:
    """Return the limbs of both terms of each addition, in stage 3 at each bit, later at each 1."""
    bits, b_bits = f"{int(a, 16):b}", int(b, 16).bit_length()
    every = stage.traits.results == "returned"
    return sum(
        -(-(i + b_bits - 1) // limb_bits) - (-b_bits // limb_bits)
        for i, bit in enumerate(bits)
        if i and (every or bit == "1")
    )


# Edge cases that random numbers miss: around the limits of one limb and of two.
_EDGES = (0, 1, 2, 3, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, 2**96, 2**128 - 1, 2**128)


def _numbers(rng: random.Random, count: int) -> Iterator[int]:
    yield from _EDGES
    for _ in range(count):
        bits = rng.choice((8, 32, 64, 65, 128, 200, 640, 1000, 4100))
        yield rng.getrandbits(bits)
        yield (1 << bits) - 1 - (1 << rng.randrange(bits))  # carries through many limbs
        yield _runs(rng, bits)


def any_length(rng: random.Random, least: int, most: int) -> int:
    """Return a random length, which is as likely in each octave."""
    return round(math.exp(rng.uniform(math.log(least), math.log(most))))


def _long(rng: random.Random, most: int) -> Iterator[int]:
    """Yield numbers of about `most` bits, and of lengths below.

    A length that is a power of two fills the last limb, and the last block of any row.
    """
    whole = 1 << most.bit_length() - 1
    for bits in (most, most - rng.randrange(most // 8), whole, any_length(rng, 1000, most)):
        yield rng.getrandbits(bits)
        yield (1 << bits) - 1 - (1 << rng.randrange(bits))
        yield _runs(rng, bits)


def octaves(rng: random.Random, least: int, most: int) -> Iterator[int]:
    """Yield a random length in each octave between two lengths."""
    while least < most:
        yield any_length(rng, least, min(2 * least, most))
        least *= 2


def second_lengths(rng: random.Random, length: int) -> tuple[int, ...]:
    """Return lengths of a second operand: the same, more than half of it, and any."""
    shorter = [any_length(rng, 1, length) for _ in range(3)]
    return length, rng.randint(length // 2 + 1, length), *shorter


def _of_length(rng: random.Random, bits: int) -> int:
    """Return a number of this length: random, with runs of equal bits, or with ones only."""
    top = 1 << bits - 1
    return top | rng.choice((rng.getrandbits(bits), _runs(rng, bits), top - 1))


def _related(rng: random.Random, lengths: Iterable[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield pairs of numbers, of each length one of each relation of both lengths.

    In the last relation, the upper bits are the same. So an operation must be right for all pairs,
    and not only for those that occur when F(n) is computed.
    """
    for bits in lengths:
        related = [(bits, second) for second in second_lengths(rng, bits)]
        related.append((any_length(rng, bits, most), bits))
        drawn = [(_of_length(rng, first), _of_length(rng, second)) for first, second in related]
        a = drawn[0][0]
        drawn.append((a, a ^ rng.getrandbits(any_length(rng, 1, bits - 1))))
        yield from (rng.choice(((a, b), (b, a))) for a, b in drawn)


def _runs(rng: random.Random, bits: int) -> int:
    """Return a number of that many bits that consists of random runs of ones and zeros."""
    value, ones = 0, True
    while bits:
        run = rng.randint(1, bits)
        value = value << run | ((1 << run) - 1 if ones else 0)
        bits, ones = bits - run, not ones
    return value


def pairs(
    rng: random.Random, edges: Sequence[int], numbers: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield all pairs of edges, and each number paired with a random other number."""
    yield from itertools.product(edges, repeat=2)
    for a in numbers:
        yield a, rng.choice(numbers)


def overwritten(stage: Stage, ordered: bool) -> int:
    """Return how many operands a result may overwrite: of a sum both or none, else b, then a.

    ordered: whether the first operand must be the larger one, as in a difference
    """
    count = len(stage.traits.overwrites)
    return count if ordered else 2 * bool(count)


def _binary(
    names: tuple[str, ...],
    function: Callable[[int, int], int],
    ordered: bool,
    most: int = _MOST_SUM,
    part: int = 1,
) -> Tries:
    """Return a function that yields test cases of an operation on two numbers.

    names: the names of the operation, with the result in a number of its own and in an operand
    ordered: whether the first operand must be the larger one
    most, part: the longest operands, see longest()
    """

    def tries(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
        operands = [*pairs(rng, _EDGES, list(_numbers(rng, 60)))]
        top = longest(stage, most, part)
        large = list(_long(rng, top))
        operands += [(a, rng.choice(large)) for a in large]
        for _ in range(1 if stage.traits.slow else _IN_AN_OCTAVE):
            operands += _related(rng, octaves(rng, 64, top), top)
        operands += _related(rng, rng.lengths(1, top), top)
        operands += [(a, a ^ 1) for a in beyond_stack(rng, stage, part)]
        for a, b in operands:
            x, y = (max(a, b), min(a, b)) if ordered else (a, b)
            allowed = names[: 1 + overwritten(stage, ordered)]
            for name in allowed:
                size = max(x.bit_length(), y.bit_length())
                yield OperationCase(f"{name} {x:x} {y:x}", f"{function(x, y):x}", size)
        # Both operands are the same number. With "-t" the result overwrites this number, too.
        same = [f"{names[0]}-s", *([f"{names[0]}-t"] if len(allowed) > 2 else [])]
        long = *octaves(rng, 64, top), *rng.lengths(1, top)
        for a in (*_numbers(rng, 20), *(_of_length(rng, bits) for bits in long)):
            for name in same:
                yield OperationCase(f"{name} {a:x} {a:x}", f"{function(a, a):x}", a.bit_length())

    return tries


def _shifts(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for a in _numbers(rng, 40):
        for bits in (0, 1, 31, 32, 33, 63, 64, 65, rng.randrange(300)):
            yield from _shift(stage, a, bits)
    for a in (*_long(rng, longest(stage, _MOST_SUM)), *beyond_stack(rng, stage)):
        yield from _shift(stage, a, rng.randrange(66))
    most = longest(stage, _MOST_SUM)
    near = rng.lengths(1, most)
    for length in (*octaves(rng, 64, most), *near):
        a = _of_length(rng, length)
        yield from _shift(stage, a, rng.randrange(64))
        yield from _shift(stage, a, any_length(rng, 64, most))
        yield from _shift(stage, a, rng.choice(near or [0]))


def _shift(stage: Stage, a: int, bits: int) -> Iterator[OperationCase]:
    for name in ("lshift", "lshift-a")[: 2 if "a" in stage.traits.overwrites else 1]:
        yield OperationCase(f"{name} {a:x} {bits}", f"{a << bits:x}", a.bit_length() + bits)


def _squares(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    most = longest(stage, _MOST_PRODUCT, 2)
    every = (_of_length(rng, bits) for _ in range(_IN_AN_OCTAVE) for bits in octaves(rng, 64, most))
    near = (_of_length(rng, bits) for bits in rng.lengths(1, most))
    for a in (*_numbers(rng, 100), *_long(rng, most), *every, *near):
        yield OperationCase(f"square {a:x}", f"{a * a:x}", a.bit_length())


def _copies(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    most = longest(stage, _MOST_SUM)
    near = (_of_length(rng, bits) for bits in rng.lengths(1, most))
    for a in (*_numbers(rng, 100), *_long(rng, most), *beyond_stack(rng, stage), *near):
        yield OperationCase(f"copy {a:x}", f"{a:x}", a.bit_length())


# The largest power of ten in a limb of 64 bits, and its precomputed reciprocal.
_CHUNK = 10**19
_RECIPROCAL = (2**128 - 1) // _CHUNK
# The number of test cases for each kind of dividend that random dividends rarely include.
_OF_A_KIND = 5


def _kind(dividend: int) -> str:
    """Return the kind of the last correction when two limbs are divided by _CHUNK, or "".

    The last correction is the second one in algorithm 4 of Möller and Granlund, "Improved division
    by invariant integers". Only one random dividend in 20,000 needs it.
    """
    high, low = divmod(dividend, 2**64)
    quotient, fraction = divmod(_RECIPROCAL * high + low, 2**64)
    remainder = dividend - (quotient + 1) * _CHUNK
    if remainder >= _CHUNK:
        return "the estimate is too small" if remainder > _CHUNK else "the remainder is a chunk"
    return "the first correction is too much" if remainder > fraction else ""


def _hard_dividends(rng: random.Random) -> Iterator[int]:
    """Yield dividends of all kinds that need the last correction."""
    found: dict[str, list[int]] = {}
    while len(found) < 3 or min(map(len, found.values())) < _OF_A_KIND:
        dividend = (2**64 - 1 - rng.getrandbits(62)) * _CHUNK
        if rng.random() < 0.7:
            dividend = (_CHUNK - 1 - rng.getrandbits(56) << 64) + 2**64 - 1 - rng.getrandbits(56)
        kind = _kind(dividend)
        if kind:
            found.setdefault(kind, []).append(dividend)
    for dividends in found.values():
        yield from dividends[:_OF_A_KIND]


def _decimals(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    numbers = [*_numbers(rng, 30), *(10**i + d for i in range(45) for d in (-1, 0, 1))]
    if stage.traits.numbers:
        most = longest(stage, _MOST_PRODUCT)
        numbers += [*_hard_dividends(rng), *_long(rng, most // 2), *beyond_stack(rng, stage)]
        lengths = *octaves(rng, 64, most), *rng.lengths(1, most)
        numbers += [_of_length(rng, bits) for bits in lengths]
    else:
        numbers = [a & (1 << 64) - 1 for a in (*numbers, *_words(rng))]
    for a in numbers:
        text = str(a)
        for room, want in (
            (len(text), text), (len(text) + 9, text), (len(text) - 1, "ERANGE"), (0, "ERANGE"),
            (rng.randrange(len(text)), "ERANGE"), (large_room(rng, len(text)), text),
        ):  # fmt: skip
            yield OperationCase(f"decimal {a:x} {room}", want, a.bit_length())
    for a in numbers[: len(_EDGES)]:  # The lowest byte of this room is 0.
        yield OperationCase(f"decimal {a:x} 256", str(a), a.bit_length())


def large_room(rng: random.Random, count: int) -> int:
    """Return a random size of a buffer, in bytes, in which `count` digits have room."""
    room = min(_MOST_ROOM, any_length(rng, count, _MOST_ROOM_TIMES * count))
    # The lower 16 bits of some sizes are smaller than count.
    if rng.randrange(2) and room < _MOST_ROOM:
        room = (rng.randrange(1, _MOST_ROOM >> 16) << 16) + rng.randrange(count)
    return max(count, room)


def _words(rng: random.Random) -> Iterator[int]:
    """Yield words of each number of digits, with a row of zeros at each place."""
    for count in range(1, 20):
        for _ in range(10):
            zeros = 10 ** rng.randrange(count)
            yield rng.randrange(10 ** (count - 1), 10**count) // zeros * zeros + rng.randrange(2)
        for end in range(count):
            for begin in range(end):
                word = rng.randrange(10 ** (count - 1), 10**count)
                above, below = word // 10**end, word % 10**begin
                yield above * 10**end + below


def computed_n(rng: random.Random, max_n: int) -> list[int]:
    """Return all small n, some n of each octave, and a large n."""
    below = min(max_n, _ALL_N)
    large = [n for _ in range(3) for n in octaves(rng, below, min(max_n, _MANY_N))]
    return [*range(below + 1), *sorted(large), min(max_n, _MANY_N)]


# The largest n for which a stage with numbers of one word must return F(n) modulo 2^64. An array of
# n words, or a recursion of n calls, does not fit into the stack.
_MANY_STEPS = 1 << 21
_OF_AN_OCTAVE = 8
# The memory that such a call may allocate, in bytes.
_FEW_BYTES = 256
# All n up to the first one are computed, and some n of each octave up to the second one.
_ALL_N, _MANY_N = 300, 30_000
# How many n are drawn near each number that the code compares.
_NEAR = 4


def _computations(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    near = near_numbers.n_near(stage.manifest, rng.compared, rng, _NEAR)
    near = [n for n in near if _ALL_N < n <= _MANY_N]
    yield from map(_computation, computed_n(rng, stage.manifest.max_n))
    yield from map(_computation, near)
    # Some n of each octave, as code may be wrong in a part of one.
    octaves = [1 << i for i in range(6, _MANY_STEPS.bit_length() - 1)]
    many = [rng.randrange(first, 2 * first) for first in octaves for _ in range(_OF_AN_OCTAVE)]
    for n in () if stage.traits.numbers else (*many, _MANY_STEPS):
        word = expected_values.residue(n, 1 << 64)
        yield OperationCase(f"compute {n}", f"{word:x}", n, n, _FEW_BYTES)


def _computation(n: int) -> OperationCase:
    value = expected_values.fibonacci(n)
    return OperationCase(f"compute {n}", f"{value:x}", value.bit_length(), n)


def _within_memory(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    top = stage.manifest.max_n
    large = [any_length(rng, _MANY_N, 300_000), any_length(rng, 300_000, top), top]
    large.append(next(expected_values.above_whole_limbs(top, decimal=False)))
    for tried in (*_computations(rng, stage), *map(_computation, large)):
        # The memory limit allows six numbers, each with four more limbs and a header of 64 bytes.
        # Five numbers with a tenth more limbs than F(n) need less. F(0) has one limb.
        limbs = max(1, -(-tried.size // 64)) + 4
        yield replace(tried, most_bytes=6 * (64 + 8 * limbs))


_SUMS = _binary(("add", "add-a", "add-b"), lambda a, b: a + b, False)


def _creations(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    """Yield sums of numbers, and requests for so many limbs that the number of bytes overflows."""
    yield from _SUMS(rng, stage)
    for size in (2**64 // 8 - 1, 2**64 // 24, 2**61 - rng.randrange(2, 1000)):
        yield OperationCase(f"create {size} 3", "ENOMEM", size)
    # For these numbers of limbs, the number of bytes is small modulo 2^64.
    for count, times in itertools.product(range(1, 10), range(1, 8)):
        size = times * 2**64 // (8 * count) + rng.randrange(1000)
        yield OperationCase(f"create {size} {count}", "ENOMEM", size)


TRIES: dict[str, Tries] = {
    "add": _SUMS,
    "create": _creations,
    "sub": _binary(("sub", "sub-b", "sub-a"), lambda a, b: a - b, True),
    "mul": _binary(("mul",), lambda a, b: a * b, False, _MOST_PRODUCT, 2),
    "square": _squares,
    "lshift": _shifts,
    "copy": _copies,
    "decimal": _decimals,
    "compute": _computations,
    "memory": _within_memory,
}
