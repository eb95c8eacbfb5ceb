# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Small faults for the bignum stages: what is replaced by what. Each text is there exactly once.

A mutation that nothing can find has a reason: why it changes no answer.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """One fault in one file of some stages."""

    name: str
    stages: tuple[int, ...]
    file: str
    what: str
    instead: str
    reason: str = ""


def _m(stages: int, file: str, name: str, what: str, instead: str, reason: str = "") -> Mutation:
    """stages: its digits are the stage numbers."""
    numbers = tuple(int(digit) for digit in str(stages))
    return Mutation(name, numbers, f"{file}.c" if "." not in file else file, what, instead, reason)


MUTATIONS = [
    # Carries and borrows
    _m(345, "bignum", "add drops the carry between limbs",
       "(dlimb_t)a[i] + b[i] + carry", "(dlimb_t)a[i] + b[i]"),
    _m(34, "bignum", "add drops the carry above the shorter number",
       "dlimb_t sum = (dlimb_t)a[i] + carry;", "dlimb_t sum = (dlimb_t)a[i];"),
    _m(67, "bignum", "add misses the carry of a carry",
       "carry = (ai < carry) + (sum < ai);", "carry = sum < ai;"),
    _m(6, "bignum", "add: < becomes <= above the shorter number",
       "carry = c[i] < carry;", "carry = c[i] <= carry;"),
    _m(34, "bignum", "2's complement without its 1", "limb_t carry = 1;", "limb_t carry = 0;"),
    _m(3, "bignum", "2's complement: the carry stops at once",
       "carry = carry && !c[i];", "carry = 0;"),
    _m(34, "bignum", "2's complement: 0 above the number",
       "~(i < b_size ? b[i] : 0)", "(i < b_size ? ~b[i] : 0)"),
    _m(5, "bignum", "sub drops the borrow between limbs",
       "(dlimb_t)a[i] - b[i] - borrow", "(dlimb_t)a[i] - b[i]"),
    _m(5, "bignum", "sub drops the borrow above the shorter number",
       "dlimb_t difference = (dlimb_t)a[i] - borrow;", "dlimb_t difference = (dlimb_t)a[i];"),
    _m(6, "bignum", "sub: > becomes >=",
       "borrow = (ai > a[i]) + (difference > ai);", "borrow = (ai >= a[i]) + (difference > ai);"),
    _m(67, "bignum", "sub misses the borrow of a borrow",
       "borrow = (ai > a[i]) + (difference > ai);", "borrow = difference > ai;"),
    _m(67, "bignum", "sub: the borrow stops", "borrow = difference > a[i];", "borrow = 0;"),
    _m(5, "bignum", "addmul drops the carry", "* factor + c[i] + carry", "* factor + c[i]"),
    _m(67, "bignum", "addmul drops the carry of the sum", "high += low < c[i];", ""),
    _m(67, "bignum", "addmul drops the last carry",
       "carry = high + (low < carry);", "carry = high;"),
    _m(6, "bignum", "addmul: < becomes <=",
       "carry = high + (low < carry);", "carry = high + (low <= carry);"),
    _m(5, "bignum", "squares drop the carry", "* a[i] + c[2 * i] + carry", "* a[i] + c[2 * i]"),
    _m(67, "bignum", "squares drop the carry in", "high += low < carry;", "",
       "the carry is 0 or 1, and the low limb of a square is never 2^64 - 1: that is 3 modulo 4,"
       " and squares are 0 or 1"),
    _m(67, "bignum", "squares drop the carry of the sum", "high += c[2 * i] < low;", ""),
    _m(67, "bignum", "squares drop the carry out", "carry = c[2 * i + 1] < high;", "carry = 0;"),
    # Sizes and loops
    _m(34, "bignum", "shift forgets the lowest limb",
       "c[0] = a[0] << shift;", "c[0] = a[0];"),
    _m(4567, "bignum", "shift leaves old limbs below",
       "memset(c->limb, 0, limbs * sizeof(*c->limb));", ""),
    _m(6, "bignum", "shift down by one too many", "LIMB_BITS - 1 - shift", "LIMB_BITS - shift"),
    _m(35, "bignum", "shift loses the top",
       "limb_t top = (dlimb_t)a[size - 1] << shift >> LIMB_BITS;", "limb_t top = 0;"),
    _m(357, "bignum", "trim stops at two limbs", "while (a->size > 1 &&", "while (a->size > 2 &&"),
    _m(46, "bignum", "trim takes one limb only", "while (a->size > 1 &&", "if (a->size > 1 &&"),
    _m(3, "bignum", "copy without the top limb",
       "memcpy(c->limb, a->limb, a->size *", "memcpy(c->limb, a->limb, (a->size - 1) *"),
    _m(3, "bignum", "add has no room for the carry",
       "bn_create(a->call, a->size + 1);", "bn_create(a->call, a->size);"),
    _m(35, "bignum", "add takes the shorter number for the longer",
       "\tif (a->size < b->size)\n\t\tswap(a, b);\n", ""),
    _m(4, "bignum", "sub complements too few limbs",
       "limbs_complement(c->limb, a->size, b->limb", "limbs_complement(c->limb, b->size, b->limb"),
    _m(45, "bignum", "reserve copies one limb too few",
       "memcpy(limb, a->limb, a->size * sizeof(*limb));",
       "memcpy(limb, a->limb, (a->size - 1) * sizeof(*limb));"),
    _m(46, "bignum", "reserve says there is more room than there is",
       "a->capacity = size;\n\treturn 0;", "a->capacity = size + 1;\n\treturn 0;"),
    _m(4, "bignum", "reserve: <= becomes <", "if (size <= a->capacity)",
       "if (size < a->capacity)",
       "a block that is just large enough is replaced by one of the same size: slower, not wrong"),
    _m(45, "bignum", "push makes no room", "bn_reserve(a, a->size + 1);",
       "bn_reserve(a, a->size);"),
    _m(4, "bignum", "copy keeps the old size",
       "\tc->size = a->size;\n\treturn 0;\n}\n\n/**\n * bn_add",
       "\treturn 0;\n}\n\n/**\n * bn_add"),
    _m(4, "bignum", "mul never starts to count shifts anew",
       "\t\t\terr = bn_add(c, c, b);\n\t\tshift = 0;", "\t\t\terr = bn_add(c, c, b);"),
    _m(4, "bignum", "mul forgets the last shift",
       "return err ?: bn_lshift(c, c, shift);", "return err;"),
    _m(3, "bignum", "mul adds for zeros", "if (!bn_bit(a, i))", "if (bn_bit(a, i))"),
    _m(34, "bignum.h", "is zero: the lowest limb only",
       "a->size == 1 && !a->limb[0]", "!a->limb[0]"),
    _m(567, "bignum", "mul leaves out the top limb", "i < a->size; i++", "i < a->size - 1; i++"),
    _m(57, "bignum", "mul clears one limb too few",
       "memset(c->limb, 0, size * sizeof(*c->limb));",
       "memset(c->limb, 0, (size - 1) * sizeof(*c->limb));"),
    _m(5, "bignum", "mul has no room for the top limb",
       "bn_reserve(c, a->size + size);", "bn_reserve(c, a->size + size - 1);"),
    _m(567, "bignum", "square leaves out a row", "i < size - 1; i++", "i + 2 < size; i++"),
    _m(67, "bignum", "square doubles all but the top limb",
       "limbs_lshift(c->limb, c->limb, 2 * size, 1);",
       "limbs_lshift(c->limb, c->limb, 2 * size - 1, 1);"),
    _m(67, "bignum", "the shortcut for one limb is taken by one factor",
       "if (a->size == 1 && size == 1)", "if (a->size == 1)"),
    _m(6, "bignum", "the shortcut leaves a zero on top",
       "b->limb[0]);\n\t\tc->size = c->limb[1] ? 2 : 1;", "b->limb[0]);\n\t\tc->size = 2;"),
    _m(67, "bignum.h", "signed multiplication", '"mulq %3"', '"imulq %3"'),
    _m(7, "fib", "one limb too few", "/ (36 * LIMB_BITS) + 2", "/ (36 * LIMB_BITS) + 1"),
    _m(7, "fib", "four numbers for five", "bn_create(call, 5,", "bn_create(call, 4,"),
    _m(7, "bignum", "numbers overlap by a limb",
       "a[i].limb = limb + i * size;", "a[i].limb = limb + i * (size - 1);"),
    _m(7, "bignum", "a new number is not 0", "a[i].limb[0] = 0;", ""),
    _m(7, "bignum", "more room is claimed than there is",
       "a[i].capacity = size;", "a[i].capacity = size + 1;",
       "only assertions read the capacity, and no number fills its room to the last limb"),
    _m(7, "bignum", "an assertion allows one more",
       "fib_assert(a->size < a->capacity);", "fib_assert(a->size <= a->capacity);",
       "it asserts less, and what it asserted holds"),
    # Steps
    _m(3, "fib", "the last step takes the wrong half",
       "n & 1 ? fib_odd(a, b) : fib_even(a, b)", "n & 1 ? fib_even(a, b) : fib_odd(a, b)"),
    _m(34567, "fib", "bits are taken the wrong way round",
       "if (n & 1ULL << i)", "if (!(n & 1ULL << i))"),
    _m(456, "fib", "swapped arguments: 2 F(k + 1) - F(k + 1)",
       "bn_sub(t, c, a)", "bn_sub(t, c, b)"),
    _m(45, "fib", "the wrong number is squared", "bn_square(t, b)", "bn_square(t, a)"),
    _m(7, "fib", "two numbers in one place", "b = &c[2];", "b = &c[1];"),
    _m(7, "fib", "the top bit is left out",
       "64 - __builtin_clzll(n | 1)", "63 - __builtin_clzll(n | 1)"),
    # Decimal
    _m(34, "decimal", "9 is carried", "carry = twice > 9;", "carry = twice >= 9;"),
    _m(3, "decimal", "zero has no digit", "if (carry || !count)", "if (carry)"),
    _m(34, "decimal", "the middle is not turned round",
       "i < count / 2; i++", "i + 1 < count / 2; i++"),
    _m(3, "decimal", "a digit too many is written",
       "if (count == size)", "if (count > size)"),
    _m(5, "decimal", "chunks of 10^8", "#define CHUNK 1000000000", "#define CHUNK 100000000"),
    _m(567, "decimal", "chunks without their zeros",
       "left ? CHUNK_DIGITS : chunk_width(chunk)", "chunk_width(chunk)"),
    _m(57, "decimal", "no digits that just fit", "if (width > first)", "if (width >= first)"),
    _m(67, "decimal", "reciprocal one too large", "0xd83c94fb6d2ac34a", "0xd83c94fb6d2ac34b"),
    _m(67, "decimal", "division drops a carry", "q1 += high + (q0 < low);", "q1 += high;"),
    _m(6, "decimal", "division: > becomes >= in the first correction",
       "back = low > q0;", "back = low >= q0;",
       "it matters for r = q0 only, which is less than a mean of B - d and q0 (see the comment on"
       " limb_div_chunk), hence less than B - d: r + d does not wrap, and the last correction takes"
       " d off again"),
    _m(67, "decimal", "division: a remainder of a whole chunk",
       "if (low >= CHUNK)", "if (low > CHUNK)"),
    _m(7, "decimal", "no room for the top limb",
       "bn_create(call, 1, f->big->size);", "bn_create(call, 1, f->big->size - 1);"),
    # Memory and errors
    _m(3, "bignum", "sub keeps the complement",
       "free_complement:\n\tbn_free(complement);", "free_complement:"),
    _m(3, "bignum", "a new number is not cleared",
       "\tmemset(a->limb, 0, size * sizeof(*a->limb));\n", ""),
    _m(35, "bignum", "create keeps half a number",
       "free_number:\n\tfib_free(a);\n", "free_number:\n"),
    _m(3, "bignum", "mul does not look whether add had memory",
       "\t\tc = bn_replace(c, bn_add(c, b));\n\t\tif (!c)\n\t\t\treturn NULL;\n",
       "\t\tc = bn_replace(c, bn_add(c, b));\n"),
    _m(3, "bignum", "mul keeps its product when it is killed",
       "free_product:\n\tbn_free(c);\n", "free_product:\n"),
    _m(3, "fib", "even keeps a number", "free_twice:\n\tbn_free(twice);", "free_twice:"),
    _m(46, "bignum", "reserve keeps the old limbs",
       "\tfib_free(a->limb);\n\ta->limb = limb;", "\ta->limb = limb;"),
    _m(5, "bignum", "push does not look whether there was memory",
       "\tif (err)\n\t\treturn err;\n\ta->limb[a->size++] = top;",
       "\tif (err > 0)\n\t\treturn err;\n\ta->limb[a->size++] = top;"),
    _m(46, "fib", "the scratch number may be missing",
       "!a || !b || !c || !d || !t", "!a || !b || !c || !d"),
    _m(5, "fib", "the scratch number is not given back", "\tbn_free(t);\n", ""),
    _m(46, "fib", "the result is given back with the rest", "\tc = NULL;\n", ""),
    _m(5, "fib", "an addition's error is lost",
       "\t\t\terr = bn_add(c, c, d);\n\t\t\tif (err)\n\t\t\t\tgoto free_all;\n",
       "\t\t\terr = bn_add(c, c, d);\n"),
    _m(5, "decimal", "decimal keeps its copy", "free_a:\n\tbn_free(a);\n", "free_a:\n"),
    _m(67, "decimal", "decimal lives on when it is killed",
       "\t\tif (ret)\n\t\t\tgoto free_a;\n\t\tchunk =", "\t\tchunk ="),
    _m(7, "fib", "no look whether there was memory",
       "\tif (!c)\n\t\treturn -ENOMEM;\n", ""),
    _m(7, "fib", "the numbers are kept when the last step is killed",
       "\t\tgoto free_numbers;\n\tf->big = c;", "\t\treturn err;\n\tf->big = c;"),
    _m(6, "bignum", "square accounts for more work than it does",
       "fib_spend(a->call, size - 1 - i)", "fib_spend(a->call, size)",
       "it looks up more often than it must: no answer depends on it"),
]  # fmt: skip
