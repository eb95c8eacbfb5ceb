# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the pictures of stage 12: owners of the vector registers, and a product at right angles."""

from __future__ import annotations

from .canvas import SMALL, Picture


def sections() -> Picture:
    """Draw the owners of the vector registers during a read()."""
    p = Picture("sections", "Whose the vector registers are during a read()", 330)
    p.text(14, 20, "what runs", "dim", size=SMALL)
    p.text(300, 20, "vector registers", "dim", size=SMALL)
    rows = (
        ("the process computes, calls read()", "the process's", "blue"),
        ("begin: the kernel saves them, once", "saved in memory", "grey"),
        ("section: at most 0.1 ms, no sleep", "the stage's", "orange"),
        ("end", "nobody's", "page"),
        ("yield: another task may run", "nobody's, or its", "page"),
        ("the next section ...", "the stage's", "orange"),
        ("back to the process", "the process's", "blue"),
    )
    for i, (what, whose, fill) in enumerate(rows):
        y = 30 + i * 42
        p.box(14, y, 260, 32, what, "grey" if fill == "orange" else "page", size=SMALL)
        p.box(300, y, 146, 32, whose, fill, size=SMALL)
        if i:
            p.arrow(144, y - 10, 144, y - 1)
    return p


def right_angle() -> Picture:
    """Draw the product 12 * 34 modulo x^2 - i, with real and imaginary parts of coefficients."""
    a, b = (2, 1), (4, 3)
    low, middle, high = a[0] * b[0], a[0] * b[1] + a[1] * b[0], a[1] * b[1]
    total = low + 10 * middle + 100 * high
    assert total == 12 * 34
    p = Picture("right-angle", "A product at right angles: 12 times 34 with two points", 250)
    p.text(14, 20, "product modulo x² − i:", "bold", size=13)
    p.text(14, 42, f"({low} + {high}i) + {middle}x", "mono", size=13)
    p.text(40, 78, "real parts", "dim", size=SMALL)
    p.text(270, 78, "imaginary parts", "dim", size=SMALL)
    cells = ((14, "x⁰", low, "blue"), (114, "x¹", middle, "blue"),
             (244, "x²", high, "orange"), (344, "x³", 0, "orange"))  # fmt: skip
    for x, name, value, fill in cells:
        p.box(x, 88, 96, 34, str(value), fill, size=13)
        p.text(x + 48, 142, name, "mono", "middle", SMALL)
    p.text(14, 176, "x² is i here: the upper half of the coefficients", size=SMALL)
    p.text(14, 194, "stands at right angles to the lower half.", size=SMALL)
    p.text(14, 228, f"{low} + {middle} · 10 + {high} · 100 = {total}", "bold", size=13)
    return p


PICTURES = (sections, right_angle)
