# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the pictures of numbers: limbs, carries, products, a transform. All values are computed."""

from __future__ import annotations

from .canvas import SMALL, Picture


def fibonacci(n: int) -> int:
    """Return F(n)."""
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def low_limbs(x: int, bits: int, count: int) -> list[int]:
    """Return the lowest `count` limbs of x, each of `bits` bits, least significant first."""
    return [x >> bits * i & (1 << bits) - 1 for i in range(count)]


def limbs() -> Picture:
    """Draw F(100) = F(99) + F(98) in limbs of 32 bits."""
    p = Picture("limbs", "F(99) + F(98) = F(100), limb by limb", 268)
    a, b = low_limbs(fibonacci(99), 32, 3), low_limbs(fibonacci(98), 32, 3)
    for i in range(3):
        x = 330 - 118 * i
        p.text(x + 55, 20, f"limb {i}", "dim", "middle", SMALL)
    carry = 0
    for i in range(3):
        x = 330 - 118 * i
        total = a[i] + b[i] + carry
        p.box(x, 30, 110, 30, f"{a[i]:x}", "grey", "mono")
        p.box(x, 66, 110, 30, f"{b[i]:x}", "grey", "mono")
        p.text(x + 55, 118, f"+ {carry}", "dim", "middle", SMALL)
        p.box(x, 160, 110, 30, f"{total & 0xFFFFFFFF:x}", "blue", "mono")
        carry = total >> 32
        if i < 2:
            p.text(x + 22, 144, f"carry {carry}", "", "middle", SMALL)
            p.arrow(x + 18, 128, x - 34, 118)
    p.text(84, 51, "F(99)", "", "end", 13)
    p.text(84, 87, "F(98)", "", "end", 13)
    p.text(84, 118, "carry in", "dim", "end", SMALL)
    p.text(84, 181, "F(100)", "", "end", 13)
    p.text(14, 214, "in memory the lowest comes first:", "dim", size=SMALL)
    for i, limb in enumerate(low_limbs(fibonacci(100), 32, 3)):
        p.box(94 + 118 * i, 222, 110, 30, f"{limb:x}", "blue", "mono")
    p.text(84, 242, "c->limb", "mono", "end", SMALL)
    return p


def columns() -> Picture:
    """Draw the columns of a product of three limbs by three."""
    p = Picture("columns", "Products of limbs, by rows and by places", 252)
    low = "₀₁₂"
    for k in range(6):
        p.text(419 - 75 * k, 20, f"place {k}", "dim", "middle", 11)
    for i in range(3):
        for j in range(3):
            p.box(
                384 - 75 * (i + j),
                32 + 46 * i,
                70,
                34,
                f"a{low[i]}b{low[j]}",
                ("blue", "orange", "green")[i],
            )
        p.text(384 - 75 * (i + 3) + 64, 54 + 46 * i, "carry", "dim", "end", SMALL)
    p.line(4, 176, 456, 176)
    for k in range(6):
        p.box(384 - 75 * k, 184, 70, 34, "c" + "₀₁₂₃₄₅"[k], "grey")
    p.text(8, 240, "one colour: one row, a limb of a times all of b", "dim", size=SMALL)
    return p


def triangle() -> Picture:
    """Draw the triangle of a square and its diagonal, for 472 squared in base 10."""
    digits = (2, 7, 4)
    value = sum(d * 10**i for i, d in enumerate(digits))
    p = Picture("triangle", f"{value} squared: the triangle doubled, and the diagonal", 300)
    for j in range(3):
        p.text(128 - 50 * (j - 1), 24, f"{digits[j]}", "bold", "middle")
        p.text(38, 56 + 40 * j, f"{digits[j]}", "bold", "middle")
    for i in range(3):
        for j in range(3):
            fill = "green" if i == j else "blue" if i < j else "grey"
            p.box(156 - 50 * j, 34 + 40 * i, 44, 34, f"{digits[i] * digits[j]}", fill)
    over = sum(digits[i] * digits[j] * 10 ** (i + j) for i in range(3) for j in range(i + 1, 3))
    diagonal = sum(d * d * 100**i for i, d in enumerate(digits))
    assert 2 * over + diagonal == value**2
    p.box(222, 40, 20, 20, "", "blue")
    p.text(250, 55, "the triangle: computed", size=13)
    p.box(222, 76, 20, 20, "", "grey")
    p.text(250, 91, "the same again: not", size=13)
    p.box(222, 112, 20, 20, "", "green")
    p.text(250, 127, "the diagonal: once", size=13)
    rows = [("triangle, at its places", over), ("doubled", 2 * over), ("diagonal", diagonal)]
    for i, (words, number) in enumerate(rows):
        p.text(238, 188 + 26 * i, words, "", "end", 13)
        p.text(420, 188 + 26 * i, f"{number:,}", "mono", "end")
    p.line(250, 250, 424, 250)
    p.text(238, 272, f"{value}²", "bold", "end", 13)
    p.text(420, 272, f"{value**2:,}", "mono bold", "end")
    return p


def mulq() -> Picture:
    """Draw one step of a row with 64-bit limbs: a product of two words and two carries."""
    p = Picture("mulq", "One step of a row: the product has two words, two sums may carry", 296)
    p.box(96, 16, 120, 32, "a[i]", "grey", "mono")
    p.box(244, 16, 120, 32, "factor", "grey", "mono")
    p.text(230, 38, "×", "", "middle")
    p.arrow(230, 50, 230, 74)
    p.text(240, 68, "mulq", "mono dim", size=SMALL)
    p.box(96, 78, 120, 32, "hi: rdx", "orange", "mono")
    p.box(244, 78, 120, 32, "lo: rax", "blue", "mono")
    p.text(304, 130, "+ c[i]", "mono", "middle", 13)
    p.text(304, 154, "+ carry", "mono", "middle", 13)
    p.arrow(304, 162, 304, 198)
    p.box(244, 202, 120, 32, "new c[i]", "blue", "mono")
    p.arrow(258, 126, 194, 150)
    p.arrow(258, 150, 194, 162)
    p.text(146, 144, "1 if it wraps", "dim", "middle", SMALL)
    p.text(146, 168, "1 if it wraps", "dim", "middle", SMALL)
    p.arrow(114, 112, 86, 136, 86, 188, 110, 198)
    p.arrow(156, 174, 156, 198)
    p.box(96, 202, 120, 32, "new carry", "orange", "mono")
    p.text(14, 260, "hi + 1 + 1 is still one word: (B − 1)² + 2 (B − 1) = B² − 1.", size=SMALL)
    p.text(14, 280, "In base 10: 9 · 9 + 9 + 9 = 99, two digits.", "dim", size=SMALL)
    return p


def decimal_limb() -> Picture:
    """Draw F(100) in binary limbs and in decimal limbs."""
    number = fibonacci(100)
    p = Picture("decimal-limb", "F(100) in limbs of 2⁶⁴, and of 10¹⁸", 264)
    high, low = divmod(number, 1 << 64)
    p.text(14, 22, "stage 7: limbs in base 2⁶⁴", size=13)
    p.box(14, 32, 70, 32, f"0x{high:x}", "grey", "mono")
    p.box(92, 32, 200, 32, f"0x{low:016x}", "grey", "mono")
    p.arrow(153, 66, 153, 92)
    p.text(164, 84, "divide by 10¹⁹, again and again", "dim", size=SMALL)
    p.box(14, 96, 278, 32, str(number), "green", "mono")
    p.text(302, 117, "digits", "dim", size=SMALL)
    high, low = divmod(number, 10**18)
    p.text(14, 162, "stage 8: limbs in base 10¹⁸", size=13)
    p.box(14, 172, 70, 32, str(high), "blue", "mono")
    p.box(92, 172, 200, 32, str(low), "blue", "mono")
    p.arrow(153, 206, 153, 220)
    p.text(164, 218, "nothing to convert", "dim", size=SMALL)
    p.box(14, 224, 278, 32, str(number), "green", "mono")
    p.text(302, 245, "digits", "dim", size=SMALL)
    p.text(302, 186, "at most 18 nines:", "dim", size=SMALL)
    p.text(302, 202, "one limb is 60 bits", "dim", size=SMALL)
    return p


def karatsuba() -> Picture:
    """Draw Karatsuba's three products instead of four, with 47 times 86."""
    a0, a1, b0, b1 = 7, 4, 6, 8
    p = Picture("karatsuba", "47 · 86: the middle from one product", 316)
    p.text(14, 20, "the four products of 47 · 86", size=13)
    for x, words in ((96, f"b₁ = {b1}"), (196, f"b₀ = {b0}")):
        p.text(x, 42, words, "dim", "middle", SMALL)
    for i, (name, a) in enumerate((("a₁", a1), ("a₀", a0))):
        p.text(46, 72 + 50 * i, f"{name} = {a}", "dim", "end", SMALL)
        for j, b in enumerate((b1, b0)):
            fill = "orange" if i != j else ("green" if i else "blue")
            p.box(50 + 100 * j, 48 + 50 * i, 94, 44, f"{a * b}", fill)
    middle = a1 * b0 + a0 * b1
    p.text(262, 76, "the middle is", size=13)
    p.text(262, 96, f"{a1 * b0} + {a0 * b1} = {middle}", "bold", size=13)
    p.text(262, 116, "two products", "dim", size=SMALL)
    p.text(14, 184, "the same middle from one product", size=13)
    whole = (a0 + a1) * (b0 + b1)
    p.box(14, 194, 128, 52, f"({a1}+{a0})·({b1}+{b0})\n= {whole}", "grey", size=13)
    p.text(156, 225, "−", "", "middle")
    p.box(170, 194, 64, 52, f"a₁b₁\n{a1 * b1}", "blue", size=13)
    p.text(248, 225, "−", "", "middle")
    p.box(262, 194, 64, 52, f"a₀b₀\n{a0 * b0}", "green", size=13)
    p.text(340, 225, "=", "", "middle")
    p.box(354, 194, 64, 52, str(whole - a1 * b1 - a0 * b0), "orange", size=13)
    assert whole - a1 * b1 - a0 * b0 == middle
    total = a1 * b1 * 100 + middle * 10 + a0 * b0
    p.text(14, 274, f"{a1 * b1} · 100 + {middle} · 10 + {a0 * b0} = {total:,}", "bold", size=13)
    p.text(14, 298, "three products: 32, 42 and 154 (and sums, which are cheap)", "dim", size=SMALL)
    return p


def butterflies() -> Picture:
    """Draw the transform of 1 + 2x with four points modulo 17."""
    f, modulus, root = [1, 2, 0, 0], 17, 4
    p = Picture("butterflies", "A transform of four points: two levels of butterflies", 318)
    first = [f[0] + f[2], f[1] + f[3], f[0] - f[2], f[1] - f[3]]
    last = [first[0] + first[1], first[0] - first[1]]
    last += [first[2] + root * first[3], first[2] - root * first[3]]
    for value, x in zip(last, (1, -1, root, -root), strict=True):
        assert (value - sum(c * x**i for i, c in enumerate(f))) % modulus == 0
    columns = ((14, f, "coefficients"), (180, first, "remainders"), (346, last, "values"))
    names = (("f₀", "f₁", "f₂", "f₃"), ("", "", "", ""), ("f(1)", "f(−1)", "f(4)", "f(−4)"))
    for (x, row, heading), name in zip(columns, names, strict=True):
        p.text(x + 50, 20, heading, "dim", "middle", SMALL)
        for i, value in enumerate(row):
            words = f"{name[i]} = {value}" if name[i] else str(value)
            p.box(
                x,
                34 + 62 * i,
                100,
                34,
                words.replace("-", "−"),
                ("grey", "page", "blue")[x // 166],
                size=13,
            )
    for i, j in ((0, 2), (1, 3)):
        for to in (i, j):
            p.arrow(114, 51 + 62 * i, 178, 51 + 62 * to)
            p.arrow(114, 51 + 62 * j, 178, 51 + 62 * to)
    for i, j in ((0, 1), (2, 3)):
        for to in (i, j):
            p.arrow(280, 51 + 62 * i, 344, 51 + 62 * to)
            p.arrow(280, 51 + 62 * j, 344, 51 + 62 * to)
    for x, y, w in ((146, 30, 1), (312, 30, 1), (312, 154, 4)):
        p.text(x, y + 8, f"w = {w}", "bold", "middle", SMALL)
    p.text(14, 290, "up: sum u + w·v, down: difference u − w·v; modulo 17, 4² = −1.", size=SMALL)
    p.text(14, 310, "The lower half at the second level has w = 4.", "dim", size=SMALL)
    return p


def carries() -> Picture:
    """Draw the columns of 9,999 squared in base 100, with a quotient that may be too small."""
    base, digits = 100, (99, 99)
    count = 2 * len(digits)
    p = Picture("carries", "9,999 squared in limbs of base 100: a large and a small carry", 400)
    rows = ("products", "+ large", "sum", "quotient", "remainder", "+ small", "limb")
    heights = (40, 78, 116, 172, 222, 260, 312)
    for row, y in zip(rows, heights, strict=True):
        p.text(80, y + 20, row, "bold" if row in ("sum", "limb") else "", "end", 13)
    large = small = value = 0
    for k in range(count):
        x = 368 - 92 * k
        products = sum(a * digits[k - i] for i, a in enumerate(digits) if 0 <= k - i < len(digits))
        total = products + large
        quotient = total * 81 >> 13  # 81 / 8,192 is a little less than 1 / 100
        remainder = total - quotient * base
        assert 0 <= total // base - quotient <= 2
        limb = (remainder + small) % base
        value += limb * base**k
        p.text(x + 38, 24, f"column {k}", "dim", "middle", SMALL)
        cells = (products, large, total, quotient, remainder, small, limb)
        fills = ("grey", "blue", "page", "blue", "page", "orange", "green")
        for number, fill, y in zip(cells, fills, heights, strict=True):
            words = f"{number:02}" if y == heights[-1] else f"{number:,}"
            p.box(x, y, 76, 28, words, fill, size=13)
        carry = (remainder + small) // base
        if k < count - 1:
            p.arrow(x, 186, x - 8, 186, x - 8, 92, x - 14, 92)
            p.text(x - 12, 304, f"{carry}", "bold", "middle", SMALL)
            p.arrow(x + 4, 312, x - 4, 288, x - 14, 276)
        large, small = quotient, carry
    assert (large, small) == (0, 0) and value == 9999**2
    p.text(
        14,
        366,
        "Blue, the large carry: the next sum waits for it. It may be too small.",
        size=SMALL,
    )
    p.text(
        14,
        386,
        "Orange, the small carry: what the quotient lacked, sometimes 1 more.",
        size=SMALL,
    )
    return p


PICTURES = (limbs, columns, triangle, mulq, decimal_limb, carries, karatsuba, butterflies)
