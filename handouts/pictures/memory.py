# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the pictures of memory: ownership, pointers and layout."""

from __future__ import annotations

from .canvas import SMALL, Picture


def owners() -> Picture:
    """Draw which variable owns each number after each line of code."""
    p = Picture(
        "owners", "Each number lives from the call that makes it to the one that frees it", 262
    )
    lines = (
        "x = first()",
        "y = second(x)",
        "r = third(x, y)",
        "bn_free(y)",
        "bn_free(x)",
        "return r",
    )
    for x, name in ((226, "x"), (306, "y"), (386, "r")):
        p.text(x, 20, name, "bold", "middle")
    for i, line in enumerate(lines):
        p.text(14, 52 + 34 * i, line, "mono", size=13)
        p.line(14, 62 + 34 * i, 446, 62 + 34 * i, dashed=True)
    p.box(204, 34, 44, 158, "", "blue")
    p.box(284, 68, 44, 90, "", "orange")
    p.box(364, 102, 44, 130, "", "green")
    p.arrow(386, 232, 386, 254)
    p.text(376, 252, "now the caller's to free", "dim", "end", SMALL)
    p.text(226, 212, "gone", "dim", "middle", SMALL)
    p.text(306, 178, "gone", "dim", "middle", SMALL)
    return p


def aliasing() -> Picture:
    """Draw bn_add(a, a, b): growing a number moves its limbs."""
    p = Picture(
        "aliasing", "Growing a number moves its limbs: a pointer kept from before is stale", 300
    )
    p.text(14, 20, "before bn_reserve(a, 3)", "bold", size=13)
    p.box(14, 32, 92, 40, "a", "grey", "mono")
    p.box(14, 86, 92, 28, "from", "red", "mono", 13)
    for i in range(2):
        p.box(190 + 62 * i, 42, 58, 28, f"limb {i}", "blue", size=SMALL)
    p.arrow(106, 52, 188, 52)
    p.arrow(106, 98, 200, 98, 210, 72)
    p.text(218, 96, "from = a->limb", "mono dim", size=SMALL)
    p.line(10, 134, 450, 134, dashed=True)
    p.text(14, 158, "after it", "bold", size=13)
    p.box(14, 170, 92, 40, "a", "grey", "mono")
    p.box(14, 240, 92, 28, "from", "red", "mono", 13)
    for i in range(3):
        p.box(
            190 + 62 * i,
            176,
            58,
            28,
            f"limb {i}" if i < 2 else "room",
            "blue" if i < 2 else "page",
            size=SMALL,
        )
    p.arrow(106, 190, 188, 190)
    for i in range(2):
        p.box(190 + 62 * i, 240, 58, 28, "freed", "page", size=SMALL, dashed=True)
    p.arrow(106, 254, 188, 254)
    p.text(322, 251, "use after free", "bold", size=SMALL)
    p.text(322, 267, "from was not moved", "dim", size=SMALL)
    p.text(14, 290, "So: first make room, then look where the limbs are.", size=SMALL)
    return p


def block() -> Picture:
    """Draw the single block of stage 7, for n = 1,000."""
    n, count, head = 1000, 5, 32
    size = 25 * n // (36 * 64) + 2
    names = ("a", "b", "c", "d", "t")
    p = Picture("block", f"One block for five numbers, n = {n:,}", 246)
    total = count * (head + 8 * size)
    p.text(14, 20, f"one block, {total} bytes for n = {n:,}: limbs_needed(n) = {size}", size=13)
    limb = (432 - 5 * 24) / 5
    for i, name in enumerate(names):
        p.box(14 + 24 * i, 66, 24, 40, name, "orange", "mono")
        x = 14 + 120 + limb * i
        p.box(x, 66, limb, 40, f"limbs\nof {name}", "blue", size=11)
        p.arrow(
            26 + 24 * i,
            108,
            26 + 24 * i,
            126 + 12 * (4 - i),
            x + 10,
            126 + 12 * (4 - i),
            x + 10,
            109,
        )
    p.text(74, 56, f"5 heads: {count * head} bytes", "dim", "middle", SMALL)
    p.text(290, 56, f"5 times {size} limbs: {count * 8 * size} bytes", "dim", "middle", SMALL)
    p.text(14, 204, "The result goes to the first head, which frees the whole block.", size=SMALL)
    p.text(
        14,
        224,
        "On the way pointers change places, swap(a, c), and no head or limb.",
        "dim",
        size=11,
    )
    return p


def shadow() -> Picture:
    """Draw a block of 64 bytes, of which 40 are usable, with KASAN's shadow of it."""
    p = Picture("shadow", "Eight bytes of a block are one byte of KASAN's shadow", 222)
    p.text(14, 20, "a block of 64 bytes, 40 asked for", size=13)
    words = ("head", "head", "p[0]", "p[1]", "p[2]", "p[3]", "", "")
    for i, word in enumerate(words):
        fill = "grey" if i < 2 else "blue" if i < 5 else "red"
        x = 14 + 54 * i
        p.text(x, 46, str(8 * i), "dim", size=11)
        p.box(x, 52, 54, 36, word, fill, "mono", SMALL)
        p.line(x + 27, 90, x + 27, 122, dashed=True)
        p.box(x + 8, 124, 38, 28, "00" if i < 5 else "fc", "green" if i < 5 else "red", "mono")
    p.text(14, 172, "shadow: 00 all eight bytes are good, fc the red zone", "dim", size=SMALL)
    p.text(14, 192, "p[3] = n writes bytes 40 to 47. Their shadow is fc: KASAN reports", size=SMALL)
    p.text(14, 210, "“Write of size 8”, “40 bytes inside of” the block.", size=SMALL)
    return p


PICTURES = (owners, aliasing, block, shadow)
