# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The mistakes that the handouts show: what of the kit's stage is replaced by what.

A name stands in the handout of its stage, in a comment before the block with what the grader says.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """One replacement in one file; the text is there exactly once."""

    file: str
    what: str
    instead: str


def _one(file: str, what: str, instead: str) -> tuple[Edit, ...]:
    return (Edit(file, what, instead),)


# By stage and name.
MISTAKES: dict[tuple[int, str], tuple[Edit, ...]] = {
    (0, "no unwinding"): _one(
        "driver.c", "free_text:\n\tkfree(first_text);\n", "free_text:\n"
    ),
    (0, "no owner"): _one("driver.c", "\t.owner = THIS_MODULE,\n", ""),
    (0, "copy unchecked"): _one(
        "driver.c",
        "if (copy_to_user(buf, first_text + *position, size)) {",
        "if (copy_to_user(buf, first_text + *position, size) > FIRST_BYTES) {",
    ),
    (0, "raw pointer"): _one(
        "driver.c",
        "if (copy_to_user(buf, first_text + *position, size)) {",
        "if (!memcpy((void __force *)buf, first_text + *position, size)) {",
    ),
    (0, "array too short"): _one(
        "driver.c", "char input[FIRST_INPUT + 1]", "char input[FIRST_INPUT]"
    ),
    (0, "lock kept"): _one(
        "driver.c", "\t\tret = -EFAULT;\n\t\tgoto unlock;\n", "\t\treturn -EFAULT;\n"
    ),
    (0, "no lock"): _one(
        "driver.c",
        "static DEFINE_MUTEX(first_lock);\n",
        "static DEFINE_MUTEX(first_lock);\n#define mutex_lock(lock) ((void)(lock))\n"
        "#define mutex_unlock(lock) ((void)(lock))\n",
    ),
    (0, "read without the lock"): (
        Edit(
            "driver.c",
            "ssize_t ret = 0;\n\n\tatomic64_inc(&first_calls);\n\tmutex_lock(&first_lock);\n",
            "ssize_t ret = 0;\n\n\tatomic64_inc(&first_calls);\n",
        ),
        Edit(
            "driver.c",
            "\t*position += size;\n\tret = size;\nunlock:\n\tmutex_unlock(&first_lock);\n",
            "\t*position += size;\n\tret = size;\nunlock:\n",
        ),
    ),
    (0, "spinlock"): _one(
        "driver.c",
        "DEFINE_MUTEX(first_lock);\n",
        "DEFINE_SPINLOCK(first_lock);\n#define mutex_lock spin_lock\n"
        "#define mutex_unlock spin_unlock\n",
    ),
    (1, "one step too many"): _one("fib.c", "i < n;", "i <= n;"),
    (1, "digits as found"): _one("decimal.c", "last_first[count - 1 - i]", "last_first[i]"),
    (1, "no look at size"): _one("decimal.c", "\tif (count > size)\n\t\treturn -ERANGE;\n", ""),
    (1, "recursion"): (
        Edit(
            "fib.c",
            "int fib_compute(",
            "static limb_t fib(u64 n)\n{\n\treturn n < 2 ? n : fib(n - 1) + fib(n - 2);\n}\n\n"
            "int fib_compute(",
        ),
        Edit("fib.c", "f->word = a;", "f->word = fib(n);"),
    ),
    (1, "static variable"): (
        Edit(
            "fib.c",
            "int fib_compute(",
            "static u64 last_n;\nstatic limb_t last;\n\nint fib_compute(",
        ),
        Edit(
            "fib.c",
            "\tfor (u64 i = 0; i < n; i++) {",
            "\tif (n && n == last_n) {\n\t\tf->word = last;\n\t\treturn 0;\n\t}\n"
            "\tfor (u64 i = 0; i < n; i++) {",
        ),
        Edit("fib.c", "f->word = a;", "last_n = n;\n\tf->word = last = a;"),
    ),
    (2, "clz of 0"): _one("fib.c", "clzll(n | 1)", "clzll(n)"),
    (2, "wrong one of the pair"): _one("fib.c", "a = d;", "a = c;"),
    (2, "too narrow"): _one(
        "fib.c", "limb_t a = 0,\n\t       b = 1;", "u32 a = 0;\n\tlimb_t b = 1;"
    ),
    (3, "no cast"): _one("bignum.c", "(dlimb_t)a[i] + b[i] + carry", "a[i] + b[i] + carry"),
    (3, "losing the old number"): _one("bignum.c", "bn_replace(c, bn_add(c, b))", "bn_add(c, b)"),
    (3, "shift by 32"): _one(
        "bignum.c",
        "\t\tdlimb_t two = (dlimb_t)a[i] << LIMB_BITS | a[i - 1];\n\n"
        "\t\tc[i] = two << shift >> LIMB_BITS;",
        "\t\tc[i] = a[i] << shift | a[i - 1] >> (LIMB_BITS - shift);",
    ),
    (3, "no look at size"): _one(
        "decimal.c", "\t\t\tif (count == size)\n\t\t\t\treturn -ERANGE;\n", ""
    ),
    (3, "use after free"): _one(
        "bignum.c",
        "c = bn_replace(c, bn_lshift(c, 1));",
        "bn_free(c);\n\t\tc = bn_lshift(c, 1);",
    ),
    (4, "remembering the limbs"): (
        Edit(
            "bignum.c",
            "\terr = bn_reserve(c, a->size);\n\tif (err)\n\t\treturn err;\n"
            "\tcarry = limbs_add(c->limb, a->limb,",
            "\tconst limb_t *from = a->limb;\n\n"
            "\terr = bn_reserve(c, a->size + 1);\n\tif (err)\n\t\treturn err;\n"
            "\tcarry = limbs_add(c->limb, from,",
        ),
    ),
    (4, "size too early"): _one(
        "bignum.c",
        "carry = limbs_add(c->limb, a->limb, a->size, b->limb, b->size);\n\tc->size = a->size;",
        "c->size = a->size;\n\tcarry = limbs_add(c->limb, a->limb, a->size, b->limb, b->size);",
    ),
    (4, "shifts left over"): _one(
        "bignum.c", "return bn_lshift(c, c, shift);", "return 0;"
    ),
    (5, "no cast"): _one("bignum.c", "(dlimb_t)a[i] * factor", "a[i] * factor"),
    (5, "half the triangle"): _one(
        "bignum.c", "limbs_lshift(c->limb, c->limb, 2 * size, 1)",
        "limbs_lshift(c->limb, c->limb, size, 1)",
    ),
    (5, "carry of a row dropped"): _one(
        "bignum.c",
        "c->limb[i + size] =\n\t\t\tlimbs_addmul(c->limb + 2 * i + 1,",
        "limbs_addmul(c->limb + 2 * i + 1,",
    ),
    (5, "carry that stops"): _one(
        "bignum.c",
        "c[2 * i + 1] = sum;\n\t\tcarry = sum >> LIMB_BITS;",
        "c[2 * i + 1] = sum;\n\t\tcarry = 0;",
    ),
    (6, "one comparison"): _one(
        "bignum.c", "carry = (ai < carry) + (sum < ai);", "carry = sum < ai;"
    ),
    (6, "shift by 64"): _one(
        "bignum.c",
        "c[i] = a[i] << shift | a[i - 1] >> 1 >> down;",
        "c[i] = a[i] << shift | a[i - 1] >> (LIMB_BITS - shift);",
    ),
    (6, "last correction"): _one(
        "decimal.c", "\tif (low >= CHUNK) {\n\t\tq1++;\n\t\tlow -= CHUNK;\n\t}\n", ""
    ),
    (7, "no limb for the product"): _one("fib.c", "(36 * LIMB_BITS) + 2", "(36 * LIMB_BITS) + 1"),
    (7, "generous bound"): _one(
        "fib.c", "25 * n / (36 * LIMB_BITS) + 2", "n / 20 + 2"
    ),
    (7, "not initialised"): _one("bignum.c", "\t\ta[i].size = 1;\n", ""),
    (7, "limbs behind the first number"): _one("bignum.c", "(a + count)", "(a + 1)"),
    (8, "product of 64 bits"): _one(
        "column.h", "(column_t)high * 18 + rest", "high * 18 + rest"
    ),
    (8, "second carry lost"): _one(
        "column.h", "(limb_t)quotient * LIMB_BASE + carry->small;", "(limb_t)quotient * LIMB_BASE;"
    ),
    (8, "one product too many"): _one(
        "bignum.c", "(COLUMN_PRODUCTS - 1) / times", "COLUMN_PRODUCTS / times"
    ),
    (8, "not rounded up"): _one("decimal.c", "(half * SCALE >> 25) + 1", "half * SCALE >> 25"),
    (9, "sign of odd k"): _one("fib.c", "limb_t two = k & 1 ? -2 : 2;", "limb_t two = 2;"),
    (9, "parity of n"): _one("fib.c", "if (n & 2)", "if (n & 1)"),
    (9, "fifths lost"): _one(
        "bignum.c", "limb / 5 + above % 5 * (LIMB_BASE / 5)", "limb / 5"
    ),
    (10, "columns changed too early"): _one(
        "karatsuba.c",
        "c[2 * half + i] = c2 + middle[half + i] - c1 - c3;",
        "c[2 * half + i] = c2 + middle[half + i] - c[half + i] - c3;",
    ),
    (10, "one level more"): _one("karatsuba.c", "#define LEVELS 4", "#define LEVELS 5"),
    (10, "top digit balanced"): _one(
        "karatsuba.c", "\td[size - 1] = a[size - 1] + carry;",
        "\td[size - 1] = a[size - 1] + carry;\n\tif (d[size - 1] > LIMB_BASE / 2)\n"
        "\t\td[size - 1] -= LIMB_BASE;",
    ),
    (11, "below zero"): _one(
        "transform.c", "f1[i] = a0 - t1 + 2 * PRIME;", "f1[i] = a0 - t1;"
    ),
    (11, "no fold"): _one(
        "transform.c", "f[i] = solinas_fold(a0 + a2);", "f[i] = a0 + a2;"
    ),
    (11, "roots of half the level"): _one(
        "transform.c", "s.parts ? s.main : s.main / 2", "s.main / 2"
    ),
    (12, "after the end"): _one(
        "digits.c",
        "\t\tdigits_avx2_print(text, a->digit + left, count);\n\t\tfib_fpu_end();\n",
        "\t\tfib_fpu_end();\n\t\tdigits_avx2_print(text, a->digit + left, count);\n",
    ),
    (12, "not the conjugate"): _one(
        "fft_avx2.c",
        "\tz[2] = mul_conjugate(sub(even, even_i), p->w2);",
        "\tz[2] = mul(sub(even, even_i), p->w2);",
    ),
}  # fmt: skip
