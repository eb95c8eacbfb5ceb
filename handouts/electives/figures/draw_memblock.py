# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the worked pictures of handouts/electives/memblock.md: overlaps, the re-entry, the hole.

    python handouts/electives/figures/draw_memblock.py

The picture of the counts, memblock-counts.svg, is the one that make memblock draws.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
WIDTH, LEFT, ROW = 760, 150, 52
UNIT = (WIDTH - LEFT - 20) / 24  # 24 pages beside each other
INK, THERE, NEW, ARRAY = "#24292f", "#56b4e9", "#e69f00", "#cc79a7"


@dataclass
class Box:
    """A region: pages from first to last - 1, what stands in it, its colour."""

    first: float
    last: float
    text: str
    colour: str = THERE
    dashed: bool = False


@dataclass
class Row:
    """One line of addresses, and what it is."""

    label: str
    boxes: list[Box]
    note: str = ""
    marks: list[tuple[float, str]] = field(default_factory=list)


def _text(x: float, y: float, words: str, anchor: str = "middle", size: int = 13) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
        f' fill="{INK}">{escape(words)}</text>\n'
    )


def _row(row: Row, top: float) -> str:
    base = top + 30
    out = _text(LEFT - 12, base - 4, row.label, "end")
    out += f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - 20}" y2="{base}" stroke="{INK}"/>\n'
    for box in row.boxes:
        x, width = LEFT + box.first * UNIT, (box.last - box.first) * UNIT
        dash = ' stroke-dasharray="4 3" fill-opacity="0.35"' if box.dashed else ""
        out += (
            f'<rect x="{x:.1f}" y="{base - 22}" width="{width:.1f}" height="22"'
            f' fill="{box.colour}" stroke="{INK}"{dash}/>\n'
        )
        out += _text(x + width / 2, base - 6, box.text)
    for at, words in row.marks:
        out += _text(LEFT + at * UNIT, base + 14, words, size=12)
    return out + (_text(LEFT, base + 14, row.note, "start", 12) if row.note else "")


def draw(name: str, title: str, rows: list[Row]) -> None:
    """Write one picture."""
    height = ROW * len(rows) + 16
    body = "".join(_row(row, i * ROW + 4) for i, row in enumerate(rows))
    (HERE / name).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        f' font-family="DejaVu Sans, Verdana, sans-serif">\n<title>{escape(title)}</title>\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n{body}</svg>\n',
        encoding="utf-8",
    )


def main() -> None:
    """Draw all three."""
    three = [Box(3, 6, "0"), Box(9, 11, "1"), Box(15, 18, "2")]
    draw(
        "memblock-overlap.svg",
        "A range over three regions is missing in four pieces",
        [
            Row("regions", three),
            Row("range to add", [Box(1, 21, "base ... end", NEW)]),
            Row(
                "missing",
                [Box(1, 3, "a", NEW), Box(6, 9, "b", NEW), Box(11, 15, "c", NEW),
                 Box(18, 21, "d", NEW)],
                "four pieces: the array needs four more places, for a moment",
            ),
            Row("merged", [Box(1, 21, "0")], "all of the same kind: one region is left"),
        ],
    )  # fmt: skip
    draw(
        "memblock-reentry.svg",
        "The place of the new array is reserved below, and every index is one higher",
        [
            Row("full, 3 of 3", [Box(8, 10, "0"), Box(13, 15, "1"), Box(19, 21, "2")],
                marks=[(16.5, "insert here: index 2")]),
            Row("it grows", [Box(2, 5, "0 array", ARRAY), Box(8, 10, "1"), Box(13, 15, "2"),
                             Box(19, 21, "3")],
                marks=[(11.5, "index 2 is here now"), (17, "the place: index 3")]),
            Row("index kept", [Box(2, 5, "0 array", ARRAY), Box(8, 10, "1"),
                               Box(16, 18, "2", NEW), Box(13, 15, "3"), Box(19, 21, "4")],
                "in the array the new region stands before one that lies below it"),
        ],
    )  # fmt: skip
    draw(
        "memblock-hole.svg",
        "What was reserved when it was passed is free after the growth",
        [
            Row("before", [Box(8, 11, "old array", ARRAY), Box(15, 17, "1")]),
            Row("range", [Box(5, 21, "base ... end", NEW)],
                marks=[(5, "base"), (17.5, "full here")]),
            Row("it grows", [Box(1, 4, "new array", ARRAY), Box(5, 8, "in", NEW),
                             Box(8, 11, "free", "#ffffff", True), Box(11, 17, "in"),
                             Box(17, 21, "left", NEW, True)],
                "going on at \"full here\" never fills the hole"),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
