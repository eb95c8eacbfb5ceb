# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Generate the test cases of the operations from stage 8 on, whose limbs have base 10^18.

Python's integers compute the expected results. The expected long products come from Python's
decimal module, which is fast enough because it multiplies by a transform.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from decimal import MAX_EMAX, Context, Decimal, Inexact

from grader.exercise.files import expected_values
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import course
from grader.exercise.operations.test_cases import (
    Drawing,
    OperationCase,
    Residues,
    Tries,
    any_length,
    computed_n,
    large_room,
    octaves,
    pairs,
    second_lengths,
)

LIMB_DIGITS = expected_values.LIMB_DIGITS
B = 10**LIMB_DIGITS

# Edge cases that random numbers miss: around the limits of one limb, of two limbs, of half a limb
# and of the binary numbers that a limb consists of.
_EDGES = (
    0, 1, 2, 3, 9, 10, 10**9 - 1, 10**9, 2**32, 2**59, 2**60 - 1, B // 5, B // 2, B // 2 + 1,
    B - 2, B - 1, B, B + 1, 2**64, B * B // 2, B * B - B, B * B - 1, B * B, B**3 - 1, B**4,
)  # fmt: skip
# Limbs for the largest possible column sums: the largest limb, and the limbs with the largest and
# the smallest digit after conversion to signed digits.
_ROWS = (B - 1, B // 2, B // 2 + 1)
# The sizes of long factors in limbs, on both sides of each size where a stage may change its
# method: columns of more than 340 products (170 pairs of a square), halves, blocks, transforms.
_LONG = (
    1, 2, 3, 42, 43, 44, 64, 65, 66, 84, 85, 127, 168, 169, 170, 171, 172, 255, 336, 338, 339, 340,
    341, 342, 343, 510, 511, 671, 672, 673, 674, 681, 682, 683, 1000, 1022, 1023, 1025, 1344, 1345,
    1706, 1707, 2017, 2047, 2050, 3000,
)  # fmt: skip
# The sizes of pairs of factors with different lengths.
_UNEQUAL = (
    (85, 43), (169, 85), (341, 1), (341, 340), (681, 339), (700, 672), (1000, 42), (1345, 673),
    (2017, 672), (2731, 1365), (3000, 1), (3000, 672), (3000, 673),
)  # fmt: skip
# The longest factors, in limbs, that are not used for tasks about long products. Up to this size
# no column has more than 340 products, whatever the limbs are.
_SHORT = 168
# The largest number of digits of 10^4 between which stage 12 gives up the vector registers.
_SECTION = 16_384
# How many random numbers have more digits. A fifth carries to the next section in half of them.
_SECTIONED = 6
# The size in limbs below which no stage splits a factor into halves.
_NO_HALVES = 30
# The largest operands, in limbs, of operations that take linear time.
_LONGEST = 1200
# The largest operands, in limbs, whose lengths are drawn.
_MOST = 12_000
# The digits of F(n), divided by n.
_DIGITS_OF_N = math.log10((1 + math.sqrt(5)) / 2)
# The largest factors, in limbs, that earn the first points of a task about long products.
LONG_SMALL = 700
# The limit of bytes allocated at the peak, for each digit of F(n). With 16 bytes for a point and 16
# for each factor, a stage allocates up to 9.4 bytes if it has transforms of 5/4 and 3/2 of a power
# of two, and up to 12.9 bytes if it has only transforms of powers of two.
BYTES_A_DIGIT = 10
# The limbs of the longest number that is converted, up to those of F(1,000,000).
_LONGEST_DECIMAL = (2_000, 11_611)
# The ranges that a large n is drawn from. In two ranges, n needs a transform length of 5/4 of a
# power of two; in the third range, the length is 3/2 of a power of two.
_LARGE_N = ((480_000, 540_000), (600_000, 630_000), (960_000, 1_000_000))

_EXACT = Context(prec=3 * 10**6, Emax=MAX_EMAX, traps=[Inexact])


def _limbs(limbs: list[int]) -> str:
    """Return the number with the given limbs, the lowest first, as decimal text."""
    return "".join(f"{limb:018d}" for limb in reversed(limbs)).lstrip("0") or "0"


def _row(limb: int, size: int) -> str:
    return _limbs([limb] * size)


def _some(rng: random.Random, size: int) -> str:
    """Return a number of size limbs: random limbs mixed with runs of equal limbs."""
    limbs: list[int] = []
    while len(limbs) < size:
        limbs += [rng.choice((0, *_ROWS))] * rng.randrange(20)
        limbs += [rng.randrange(B) for _ in range(rng.randrange(20))]
    return _limbs([*limbs[: size - 1], rng.randrange(1, B)])


def _numbers(rng: random.Random, count: int) -> Iterator[int]:
    yield from _EDGES
    for _ in range(count):
        limbs = rng.choice((1, 1, 2, 2, 3, 5, 12, 70))
        yield rng.randrange(B**limbs)
        yield B**limbs - 1 - 10 ** rng.randrange(LIMB_DIGITS * limbs)  # carries through many limbs


def _long(rng: random.Random) -> Iterator[Decimal]:
    """Yield long numbers. An int would be written in quadratic time."""
    for limbs in (_LONGEST, rng.randrange(_LONGEST * 7 // 8, _LONGEST), rng.randrange(70, 1000)):
        nines = "9" * (LIMB_DIGITS * limbs)
        place = rng.randrange(len(nines))
        yield Decimal(_some(rng, limbs))
        yield Decimal(nines)
        yield Decimal(f"{nines[:place]}8{nines[place:]}")  # carries through many limbs


def _longest(stage: Stage, part: int = 1) -> int:
    """Return the limbs of the largest F(n) of a stage, or of a part of it, but at most _MOST."""
    return min(_MOST, round(stage.manifest.max_n * _DIGITS_OF_N / LIMB_DIGITS)) // part


def _any(rng: random.Random, limbs: int) -> str:
    """Return a number with `limbs` limbs. The top limb has any number of digits."""
    nines = "9" * (LIMB_DIGITS * limbs)
    digits = rng.choice((_some(rng, limbs), _some(rng, limbs), nines))
    return digits[rng.randrange(LIMB_DIGITS) :].lstrip("0") or "1"


def _related(rng: Drawing, least: int, most: int, near: int = 100) -> Iterator[tuple[str, str]]:
    """Yield pairs of numbers, in each octave of lengths one of each relation of both lengths.

    In the last relation, the upper digits are the same. So an operation must be right for all
    pairs, and not only for those that occur when F(n) is computed.

    near: at most how many further lengths are near numbers that the code compares
    """
    for limbs in octaves(rng, least, most):
        drawn = [(_any(rng, limbs), _any(rng, second)) for second in second_lengths(rng, limbs)]
        a = drawn[0][0]
        upper = rng.randint(1, len(a))
        drawn.append((a, a[:upper] + "".join(rng.choices("0123456789", k=len(a) - upper))))
        yield from (rng.choice(((a, b), (b, a))) for a, b in drawn)
    lengths = rng.lengths(least, most)
    for limbs in rng.sample(lengths, min(near, len(lengths))):
        second = rng.choice((*second_lengths(rng, limbs), any_length(rng, limbs, most)))
        yield _any(rng, limbs), _any(rng, second)


def _operands(rng: random.Random, count: int) -> Iterator[int | Decimal]:
    yield from _numbers(rng, count)
    yield from _long(rng)


def _pairs(rng: Drawing, stage: Stage) -> Iterator[tuple[int | Decimal, int | Decimal]]:
    yield from pairs(rng, _EDGES, list(_numbers(rng, 60)))
    long = list(_long(rng))
    for a in long:
        yield a, rng.choice(long)
    for first, second in _related(rng, 2, _longest(stage)):
        yield Decimal(first), Decimal(second)


def _same(rng: Drawing, stage: Stage) -> Iterator[int | Decimal]:
    """Yield numbers that are both operands."""
    yield from _numbers(rng, 20)
    longest = _longest(stage)
    lengths = *octaves(rng, 2, longest), *rng.lengths(2, longest)
    yield from (Decimal(_any(rng, limbs)) for limbs in lengths)


def _try(request: str, expected: int | Decimal, size: int | Decimal) -> OperationCase:
    return OperationCase(request, str(expected), len(str(size)))


def _sums(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for a, b in _pairs(rng, stage):
        for name in ("add", "add-a", "add-b"):
            yield _try(f"{name} {a} {b}", _EXACT.add(a, b), max(a, b))
    for a in _same(rng, stage):
        for name in ("add-s", "add-t"):
            yield _try(f"{name} {a} {a}", _EXACT.add(a, a), a)


def _differences(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for a, b in _pairs(rng, stage):
        x, y = max(a, b), min(a, b)
        for name in ("sub", "sub-b", "sub-a"):
            yield _try(f"{name} {x} {y}", _EXACT.subtract(x, y), x)
    for a in _same(rng, stage):
        for name in ("sub-s", "sub-t"):
            yield _try(f"{name} {a} {a}", 0, a)


def _fifths(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    near = (Decimal(_any(rng, limbs)) for limbs in rng.lengths(2, _longest(stage)))
    for a in (*_operands(rng, 100), *near):
        five = _EXACT.multiply(a, 5)
        for name in ("div5", "div5-a"):
            yield _try(f"{name} {five}", a, five)


def _increases(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    long: list[Decimal] = []
    longest = _longest(stage)
    for limbs in rng.lengths(2, longest):
        near, small = Decimal(_any(rng, limbs)), rng.randrange(B)
        yield _try(f"increase {near} {small}", _EXACT.add(near, small), near)
    for limbs in octaves(rng, 2, longest):
        # Carries go through a random number of limbs.
        upper, lower = _any(rng, limbs), "9" * (LIMB_DIGITS * any_length(rng, 1, limbs))
        long += [Decimal(upper), Decimal(upper[: -len(lower)] + lower)]
    for a in (*_operands(rng, 60), *long):
        for b in (0, 1, 2, B - 1, rng.randrange(B)):
            more = _EXACT.add(a, b)
            yield _try(f"increase {a} {b}", more, a)
            yield _try(f"decrease {more} {b}", a, more)


def _product(a: str, b: str) -> str:
    return format(_EXACT.multiply(Decimal(a), Decimal(b)), "f")


def _mul(a: str, b: str) -> OperationCase:
    return OperationCase(f"mul {a} {b}", _product(a, b), max(len(a), len(b)))


def _square(a: str) -> OperationCase:
    return OperationCase(f"square {a}", _product(a, a), len(a))


def _products(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for a, b in pairs(rng, _EDGES, list(_numbers(rng, 60))):
        yield _mul(str(a), str(b))
    # Both operands are the same number. Long numbers are tested as squares instead, because a stage
    # may compute such a product as a square.
    for a in _numbers(rng, 20):
        if a < B**_NO_HALVES:
            yield _try(f"mul-s {a} {a}", a * a, a)
    for size in _LONG:
        if 3 < size <= _SHORT:
            for row in _ROWS:
                yield _mul(_row(row, size), _row(B - 1, size))
            yield _mul(_some(rng, size), _some(rng, rng.randrange(1, size + 1)))
    yield from (_mul(*pair) for pair in _related(rng, 2, _SHORT))


def _squares(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for a in _numbers(rng, 100):
        yield _square(str(a))
        if a >= B**_NO_HALVES:
            yield _try(f"mul-s {a} {a}", a * a, a)
    for size in _LONG:
        if 3 < size <= _SHORT:
            for row in _ROWS:
                yield _square(_row(row, size))
            yield _square(_some(rng, size))
    yield from _all_squares(rng, _SHORT)


def _all_squares(rng: Drawing, most: int) -> Iterator[OperationCase]:
    """Yield squares of each octave of lengths, also as products of a number with itself."""
    for limbs in (*octaves(rng, _NO_HALVES, most), *rng.lengths(_NO_HALVES, most)):
        a = _any(rng, limbs)
        square = _square(a)
        yield square
        yield replace(square, request=f"mul-s {a} {a}")


def _long_squares(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for size in octaves(rng, 3, _longest(stage, 2)):
        yield _square(_row(rng.choice(_ROWS), size))
    for size in _LONG:
        for row in _ROWS:
            yield _square(_row(row, size))
        yield _square(_some(rng, size))
    yield from _all_squares(rng, _longest(stage, 2))


def _largest_columns(size: int) -> tuple[str, str]:
    """Return factors of size limbs that give a column its largest sum.

    The signed digits of both are extreme, and in addition the top limbs, which keep their values,
    are as large as possible.
    """
    a = [B // 2 + 1, *[B // 2] * (size - 2), B - 1]
    b = [B // 2 + 1, B // 2 - 1, *[B // 2] * (size - 3), B - 1]
    return _limbs(a), _limbs(b)


def _long_products(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for size in octaves(rng, 3, _longest(stage, 2)):
        yield _mul(_row(rng.choice(_ROWS), size), _row(B - 1, size))
        yield _mul(*_largest_columns(size))
    for size in _LONG:
        for row in (B - 1, rng.choice(_ROWS[1:])):
            yield _mul(_row(row, size), _row(B - 1, size))
        # Factors whose signed digits are all minimal or all maximal.
        yield _mul(_row(B // 2, size), _row(B // 2, size))
        if size > 2 * _SHORT:
            yield _mul(*_largest_columns(size))
        yield _mul(_some(rng, size), _some(rng, size))
    for a_size, b_size in _UNEQUAL:
        yield _mul(_row(B - 1, a_size), _row(B - 1, b_size))
        yield _mul(_some(rng, b_size), _some(rng, a_size))
    yield from (_mul(*pair) for pair in _related(rng, _SHORT, _longest(stage, 2)))
    longest = round(stage.manifest.max_n * _DIGITS_OF_N / LIMB_DIGITS / 2)
    for size in octaves(rng, _longest(stage, 2), longest) if longest > _MOST else ():
        yield _mul(_some(rng, size), _some(rng, rng.choice(second_lengths(rng, size))))
    # The task of long products includes squares, unless the stage has a separate task for squares.
    if all(task.operation != "long-square" for task in course(stage.number).tasks):
        yield from _long_squares(rng, stage)


def _decimals(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    numbers = [*_numbers(rng, 60), *(10**i + d for i in range(45) for d in (-1, 0, 1))]
    # Numbers with trailing zeros, whose digits are wrong if an approximate fraction is too small.
    numbers += [rng.randrange(1000) * 10 ** rng.randrange(36) for _ in range(100)]
    longest = Decimal(_some(rng, rng.randint(*_LONGEST_DECIMAL)))
    lengths = *octaves(rng, 2, _longest(stage)), *rng.lengths(2, _longest(stage))
    every = (Decimal(_any(rng, limbs)) for limbs in lengths)
    for a in (*map(Decimal, numbers), *_long(rng), *every, longest):
        text = str(a)
        for room, want in (
            (len(text), text), (len(text) + 9, text), (len(text) - 1, "ERANGE"), (0, "ERANGE"),
            (rng.randrange(len(text)), "ERANGE"), (large_room(rng, len(text)), text),
        ):  # fmt: skip
            yield OperationCase(f"decimal {a} {room}", want, len(text))


def _computations(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    top = stage.manifest.max_n
    for n in [*computed_n(rng, top), *(n for n in (60_000, 100_000) if n <= top)]:
        digits = expected_values.digits(n)
        yield OperationCase(f"compute {n}", digits, len(digits), n)


def _within_memory(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    yield from _computations(rng, stage)
    for n in (rng.randint(*ends) for ends in _LARGE_N):
        digits = expected_values.digits(n)
        yield OperationCase(f"compute {n}", digits, len(digits), n, BYTES_A_DIGIT * len(digits))


def _digits(rng: random.Random) -> Iterator[Decimal]:
    """Yield numbers for operations on digits of 10^4.

    They are short, or consist of one repeated digit, or have more digits than one section. A
    Decimal is read and written in linear time, and an int in quadratic time.
    """
    yield from (Decimal(a) for a in _numbers(rng, 60) if a)
    for size in (4, 31, 32, 33, 64, 127, 128, 129, 1000, 3700, 7300):
        for digit in "0459":
            yield Decimal("1" + digit * (size * 4) + rng.choice("0123456789") * 4)
        yield _EXACT.add(Decimal("5" + "0001" * size), rng.randrange(B))
        yield Decimal(rng.choice("123456789") + "".join(rng.choices("0123456789", k=4 * size - 1)))
    for size in (rng.randint(_SECTION + 1, 2 * _SECTION) for _ in range(_SECTIONED)):
        yield Decimal("1" + rng.choice("09") * (4 * size))
        yield Decimal(rng.choice("123456789") + "".join(rng.choices("0123456789", k=4 * size)))


def _digit_sums(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    numbers = list(_digits(rng))
    pairs_of_all = [*zip(numbers, [*numbers[1:], numbers[0]])]
    pairs_of_all += [(Decimal(a), Decimal(b)) for a, b in _related(rng, 2, _MOST, 8)]
    for a, b in pairs_of_all:
        low, high = min(a, b), max(a, b)
        once, twice = rng.sample((a, b), 2)
        yield _try(f"twice_plus {twice} {once}", _EXACT.add(_EXACT.add(twice, twice), once), high)
        yield _try(f"twice_minus {low} {high}", _EXACT.subtract(_EXACT.add(high, high), low), high)
        if low < high:
            yield _try(f"digit_minus {low} {high}", _EXACT.subtract(high, low), high)


def _digit_fifths(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for a in _digits(rng):
        five = _EXACT.multiply(a, 5)
        yield _try(f"fifth {five}", a, five)


def _unique_digits(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for a in _digits(rng):
        yield _try(f"unique {a}", a, a)


def _texts(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for a in _digits(rng):
        yield _try(f"text {a}", a, a)


def _extreme_digits(rng: random.Random, size: int) -> str:
    """Return a number of size limbs whose digits from -5000 to 5000 are all near one of the ends.

    Such digits make the rounding errors of a floating-point transform large.
    """
    signs = [rng.random() < 0.5 for _ in range(size * LIMB_DIGITS // 4)]
    above, below = ("".join("5000" if s == up else "0000" for s in signs) for up in (True, False))
    return format(_EXACT.subtract(Decimal(f"1{above}"), Decimal(below)), "f")


def _transforms(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    # One transform length of each kind, up to products of half the size of the longest F(n).
    for size in (1, 2, 30, 60, 90, 113, 150, 200, 230, 400, 1000, 3000, 8000):
        for row in _ROWS:
            a = _row(row, size)
            yield OperationCase(
                f"fft_mul {a} {_row(B - 1, size)}", _product(a, _row(B - 1, size)), len(a)
            )
        a, b = _some(rng, size), _some(rng, rng.randrange(1, size + 1))
        yield OperationCase(f"fft_mul {a} {b}", _product(a, b), len(a))
        a, b = _extreme_digits(rng, size), _extreme_digits(rng, size)
        yield OperationCase(f"fft_mul {a} {b}", _product(a, b), len(a))
        yield OperationCase(f"fft_square {a}", _product(a, a), len(a))


# The operations that are implemented in vector files.
VECTORS = ("digit-sum", "digit-fifth", "digit-unique", "digit-text", "fft")
# The prime of stage 11, and a root of unity of order 2^20 modulo this prime.
_P = 2**58 - 6 * 2**24 + 1
_ROOT = pow(3, (_P - 1) >> 20, _P)
# Sizes of a transform: odd and even numbers of levels, and more points than one block holds.
_POINTS = (4, 8, 16, 32, 64, 512, 2048, 4096, 8192)
_MOST_POINTS = 32_768


def modulo_prime(value: int, below: int) -> list[int]:
    """Return the representations of a number modulo the prime that are below a multiple of it."""
    return [value % _P + i * _P for i in range(below)]


def _modulo(request: str, expected: list[int], size: int, below: int) -> OperationCase:
    width = 2 * LIMB_DIGITS
    text = "".join(f"{value:0{width}d}" for value in reversed(expected))
    return OperationCase(request, text, size, residues=Residues(_P, below, width))


def _words(rng: random.Random) -> list[int]:
    edges = [0, 1, 2, _P - 1, _P, _P + 1, 2 * _P - 1, 2 * _P, B - 1, B, 2**58, 2**63, 2**64 - 1]
    return [*edges, *(rng.randrange(2 ** rng.choice((20, 58, 60, 64))) for _ in range(200))]


def _solinas(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for a, b in pairs(rng, _words(rng)[:13], _words(rng)):
        yield _modulo(f"solinas {a} {b}", [a * b % _P], max(len(str(a)), len(str(b))), 3)


def _shoup(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for a, b in pairs(rng, _words(rng)[:13], _words(rng)):
        yield _modulo(f"shoup {a} {b % _P}", [a * b % _P], len(str(a)), 2)


def _roots(count: int) -> list[int]:
    """Return the roots of unity of a transform's nodes, in the order that stage 11 explains."""
    roots = [1]
    while len(roots) < count:
        first = pow(_ROOT, 2**20 // (4 * len(roots)), _P)
        roots += [root * first % _P for root in roots]
    return roots


def _values(f: list[int], roots: list[int], node: int = 0) -> list[int]:
    """Return the remainders of a polynomial at the leaves below a node."""
    half = len(f) // 2
    if not half:
        return f
    upper = [x * roots[node] % _P for x in f[half:]]
    plus = [(x + y) % _P for x, y in zip(f, upper)]
    minus = [(x - y) % _P for x, y in zip(f, upper)]
    return _values(plus, roots, 2 * node) + _values(minus, roots, 2 * node + 1)


def _polynomials(rng: random.Random) -> Iterator[list[int]]:
    """Yield coefficients. The last is not 0 if there are as many coefficients as points."""
    for size in (1, 2, 3):
        yield [rng.randrange(1, B) for _ in range(size)] + [0] * (4 - size)
    yield [rng.randrange(1, B) for _ in range(_MOST_POINTS)]
    for points in _POINTS:
        yield [B - 1] * points
        yield [rng.randrange(1, B) for _ in range(points)]
        # The lower coefficient of each pair is 0, so that subtraction of a product underflows.
        yield [i % 2 * rng.randrange(1, B) for i in range(points)]


def _forward(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for f in _polynomials(rng):
        text, levels = _limbs(f), len(f).bit_length() - 1
        expected = _values([x % _P for x in f], _roots(len(f)))
        yield _modulo(f"forward {text}", expected, len(text), 4 + 2 * levels)


def _inverse(rng: Drawing, stage: Stage) -> Iterator[OperationCase]:
    for f in _polynomials(rng):
        coefficients = [x % _P for x in f]
        # The input values need not be reduced, so they may be up to 3 P, which fits in a limb.
        values = [v + rng.randrange(3) * _P for v in _values(coefficients, _roots(len(f)))]
        values[-1] += _P if values[-1] == 0 else 0
        text = _limbs(values)
        yield _modulo(f"inverse {text}", [len(f) * x % _P for x in coefficients], len(text), 4)


TRIES: dict[str, Tries] = {
    "add": _sums,
    "sub": _differences,
    "mul": _products,
    "square": _squares,
    "div5": _fifths,
    "increase": _increases,
    "long-mul": _long_products,
    "long-square": _long_squares,
    "decimal": _decimals,
    "compute": _computations,
    "memory": _within_memory,
    "solinas": _solinas,
    "shoup": _shoup,
    "forward": _forward,
    "inverse": _inverse,
    "digit-sum": _digit_sums,
    "digit-fifth": _digit_fifths,
    "digit-unique": _unique_digits,
    "digit-text": _texts,
    "fft": _transforms,
}
