# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compute F(n) with Python's decimal module and time it: the second process of compare_gmp.py.

decimal is libmpdec, which computes in base 10^19 and multiplies large numbers by a number-theoretic
transform. It is the only well-known library that never converts between bases. For each line with n
and a number of turns, it prints the shortest CPU time in nanoseconds of computing F(n) and of
converting it to digits.

It imports nothing from the kit, so that Python can run this file alone.
"""

from __future__ import annotations

import sys
import time
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, setcontext

# The time of a batch of calls; the clock's resolution is much finer.
BATCH_NS = 200_000
# Modulus for checking the digits: a prime unrelated to powers of ten.
PRIME = 2**61 - 1


def fibonacci(n: int) -> Decimal:
    """Compute F(n) by pairs of Lucas numbers: two squares in each step, one product at the end."""
    k = n >> 1
    # low = L(j), high = L(j + 1), sign = 2 * (-1)^j. j begins at 0 and takes the bits of k, from
    # the highest one down.
    low, high, sign = Decimal(2), Decimal(1), 2
    for bit in range(k.bit_length() - 1, -1, -1):
        double, after = low * low - sign, high * high + sign
        middle = after - double
        if k >> bit & 1:
            low, high, sign = middle, after, -2
        else:
            low, high, sign = double, middle, 2
    if n & 1:
        return low * (high + 2 * low) // 5 - sign // 2
    return low * (2 * high - low) // 5


def fibonacci_modulo(n: int, prime: int) -> int:
    """Compute F(n) modulo a prime by another method: in integers, by pairs of Fibonacci numbers."""
    a, b = 0, 1
    for bit in range(n.bit_length() - 1, -1, -1):
        a, b = a * (2 * b - a) % prime, (a * a + b * b) % prime
        if n >> bit & 1:
            a, b = b, (a + b) % prime
    return a


def prepare(n: int) -> tuple[int, int]:
    """Check the value. Return how many calls of each phase take BATCH_NS."""
    value = fibonacci(n)
    if int(value % PRIME) != fibonacci_modulo(n, PRIME) or not str(value).isdigit():
        raise ValueError(f"F({n}) is wrong")
    compute = decimal = 1
    while time_compute(n, compute) < BATCH_NS:
        compute *= 2
    while time_decimal(value, decimal) < BATCH_NS:
        decimal *= 2
    return compute, decimal


def time_compute(n: int, calls: int) -> int:
    """Return the CPU time in nanoseconds of `calls` computations of F(n)."""
    begin = time.process_time_ns()
    for _ in range(calls):
        fibonacci(n)
    return time.process_time_ns() - begin


def time_decimal(value: Decimal, calls: int) -> int:
    """Return the CPU time in nanoseconds of `calls` conversions to decimal digits."""
    begin = time.process_time_ns()
    for _ in range(calls):
        str(value)
    return time.process_time_ns() - begin


def be_exact() -> None:
    """Set decimal's context so that every rounding raises an exception."""
    setcontext(Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact]))


def main() -> None:
    """Measure one round for each line of input."""
    be_exact()
    calls: dict[int, tuple[int, int]] = {}
    for line in sys.stdin:
        n, turns = map(int, line.split())
        if n not in calls:
            calls[n] = prepare(n)
        compute, decimal = calls[n]
        printing, computing = [], []
        for _ in range(turns):
            # In this order, each timed call finds its data in the cache, where the computation
            # before it left them.
            printing.append(time_decimal(fibonacci(n), decimal) / decimal)
            computing.append(time_compute(n, compute) / compute)
        print(f"{min(computing):.2f}\t{min(printing):.2f}", flush=True)


if __name__ == "__main__":
    main()
