# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define the traits of a stage, which its manifest lists.

The grader uses a stage's traits, never its number. A trait describes how a stage is written, and so
decides which tests and bounds are suitable for the stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

LIMBS = ("word", "binary", "decimal")
RESULTS = ("returned", "grown", "preallocated")
PRODUCTS = ("bitwise", "schoolbook", "subquadratic")
OPERATIONS = ("lshift", "copy", "increase", "decrease", "div5", "ntt", "fft")


@dataclass(frozen=True)
class Traits:
    """The way a stage is written. The field names are the keys of [traits] in its exercise.toml."""

    # The representation of a number: one u64 ("word"), binary limbs, or limbs below a power of ten.
    limb: str = "word"
    # The place of an operation's result: a new number that it returns, a number that it grows, or
    # a number that its caller has made large enough.
    results: str = "preallocated"
    # The operands that the result of an operation may overwrite. "a" means the operand of a shift,
    # both operands of a sum, and the second operand of a difference. "ab" means any of them.
    overwrites: str = ""
    # The method that multiplies long numbers. A bitwise product takes a hundred times as long.
    products: str = "schoolbook"
    # The operations on numbers besides add, sub, mul and square. "ntt" stands for arithmetic modulo
    # a prime and number-theoretic transforms, "fft" for operations on digits and fast Fourier
    # transforms.
    operations: tuple[str, ...] = ()
    # The C files that may use vector registers, see common/vector.h.
    vector: tuple[str, ...] = ()
    # The memory that a call may hold at its peak, in bytes for each digit of F(n).
    bytes_per_digit: int = 5
    # The limit for bytes of constants, strings and numbers in instructions, in all objects of the
    # stage. A table of the digits of 0 to 99 takes 200 bytes, and twenty powers of ten take 160.
    # F(0) to F(93) would take 752.
    constants: int = 512
    # The limit for bytes of code. The kit's longest stage has 5 KB, so unrolled loops or a few more
    # algorithms fit. The numbers F(0) to F(1000) would take 44 KB, and their digits 105 KB.
    code: int = 32 << 10

    @property
    def numbers(self) -> bool:
        """Return whether F(n) is a number of several limbs and not one word."""
        return self.limb != "word"

    @property
    def decimal(self) -> bool:
        """Return whether limbs are decimal, so that fib_compute does most of the conversion."""
        return self.limb == "decimal"

    @property
    def slow(self) -> bool:
        """Return whether products are computed bit by bit. Then only small n are tested often."""
        return self.products == "bitwise"

    @property
    def subquadratic(self) -> bool:
        """Return whether long products take fewer limb products than the schoolbook method."""
        return self.products == "subquadratic"

    def macros(self) -> tuple[str, ...]:
        """Return the compiler options that describe a stage to its unit tests."""
        return (
            f"-DSTAGE_LIMB_IS_DECIMAL={int(self.decimal)}",
            *(f"-DSTAGE_RESULT_IS_{r.upper()}={int(r == self.results)}" for r in RESULTS),
            *(f"-DSTAGE_HAS_{o.upper()}={int(o in self.operations)}" for o in OPERATIONS),
        )


_ALLOWED = {
    "limb": LIMBS,
    "results": RESULTS,
    "overwrites": ("", "a", "ab"),
    "products": PRODUCTS,
}


def parse(table: Mapping[str, Any]) -> Traits:
    """Return the traits in a manifest's table. Raise ValueError, which names the wrong key."""
    kinds = {field.name: type(field.default) for field in fields(Traits)}
    values: dict[str, Any] = {}
    for key, given in table.items():
        if key not in kinds:
            raise ValueError(f"unknown trait {key}, not one of {', '.join(kinds)}")
        value = tuple(given) if isinstance(given, list) else given
        if type(value) is not kinds[key]:
            wanted = {int: "a whole number", str: "a text", tuple: "a list"}[kinds[key]]
            raise ValueError(f"trait {key} is {given!r}, not {wanted}")
        allowed = _ALLOWED.get(key)
        if allowed and value not in allowed:
            raise ValueError(
                f"trait {key} is {value!r}, not one of {', '.join(map(repr, allowed))}"
            )
        values[key] = value
    unknown = set(values.get("operations", ())) - set(OPERATIONS)
    if unknown:
        raise ValueError(
            f"unknown operation {min(map(str, unknown))}, not one of {', '.join(OPERATIONS)}"
        )
    return Traits(**values)
