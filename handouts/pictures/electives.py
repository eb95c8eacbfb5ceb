# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the pictures of the electives."""

from __future__ import annotations

from dataclasses import dataclass, field

from .canvas import SMALL, Picture


def fibers() -> Picture:
    """Draw two stacks, two contexts and the thread that switches between them."""
    p = Picture("fibers", "Two stacks, two contexts, one thread that switches", 400)
    registers = "rip, rsp\nrbx … r15\nxmm, x87"
    p.text(230, 20, "the thread, in the kernel", "bold", "middle", 13)
    p.box(160, 30, 140, 66, registers, "grey", size=SMALL)
    p.text(76, 126, "1. save", "", "end", size=13)
    p.arrow(160, 70, 84, 70, 84, 158)
    p.arrow(376, 158, 376, 70, 302, 70)
    p.text(384, 126, "2. load", size=13)
    p.text(14, 152, "fiber 1", "bold", size=13)
    p.text(446, 152, "fiber 2", "bold", "end", 13)
    p.box(14, 160, 140, 66, registers, "blue", size=SMALL)
    p.box(306, 160, 140, 66, registers, "orange", size=SMALL)
    for x, fill, stack in (
        (14, "blue", ("main()", "work()", "fiber_switch()")),
        (306, "orange", ("start()", "work()", "fiber_switch()")),
    ):
        p.arrow(x + 70, 226, x + 70, 268)
        p.text(x + 78, 252, "rsp", "mono dim", size=SMALL)
        for i, frame in enumerate(reversed(stack)):
            p.box(x, 270 + 28 * i, 140, 28, frame, fill if frame else "page", "mono", SMALL)
    p.text(14, 374, "stack of fiber 1", "dim", size=SMALL)
    p.text(446, 374, "stack of fiber 2", "dim", "end", SMALL)
    p.box(
        166,
        160,
        128,
        66,
        "stay with the thread:\nTLS, errno,\nsignal mask",
        "page",
        size=11,
        dashed=True,
    )
    p.text(
        14,
        392,
        "Stacks grow downwards in memory: the newest frame is drawn on top.",
        "dim",
        size=11,
    )
    return p


def kbench() -> Picture:
    """Draw the switch from the kernel's stack to the program's stack, and back."""
    p = Picture("kbench", "A program in a kernel runs on a stack of its own", 292)
    p.text(14, 20, "the kernel's stack: 16 KB", "bold", size=13)
    p.text(446, 20, "the program's: 8 MB", "bold", "end", 13)
    for i, words in enumerate(("write()", "module", "kbench_on_stack")):
        p.box(14, 32 + 34 * i, 150, 34, words, "grey", "mono", SMALL)
    for i, words in enumerate(("kbench_begin", "main", "f", "f", "f …")):
        p.box(296, 32 + 34 * i, 150, 34, words, "blue", "mono", SMALL)
    p.box(296, 202, 150, 50, "much room", "page", size=SMALL, dashed=True)
    p.box(14, 134, 150, 22, "little room", "page", size=11, dashed=True)
    p.arrow(164, 112, 230, 112, 230, 49, 294, 49)
    p.text(180, 96, "rsp", "mono dim", size=SMALL)
    p.arrow(296, 158, 230, 158, 230, 122, 168, 122)
    p.text(238, 176, "exit()", "mono dim", size=SMALL)
    p.box(14, 156, 150, 34, "lower end", "red", size=SMALL)
    p.text(14, 210, "here the kernel of uml looks", "dim", size=SMALL)
    p.text(14, 226, "for current; on the other", "dim", size=SMALL)
    p.text(14, 242, "stack it finds nothing", "dim", size=SMALL)
    p.text(14, 280, "exit() comes back from any depth: it takes the old rsp again.", size=SMALL)
    return p


@dataclass
class Region:
    """A region of memblock: pages from first to last - 1, its label, and its fill."""

    first: float
    last: float
    text: str
    fill: str = "blue"
    dashed: bool = False


@dataclass
class Row:
    """A line of addresses with its label, regions and note."""

    label: str
    regions: list[Region]
    note: str = ""
    marks: list[tuple[float, str]] = field(default_factory=list)


def _rows(name: str, title: str, rows: list[Row]) -> Picture:
    left, right, step = 14, 446, 72
    unit = (right - left) / 24
    p = Picture(name, title, step * len(rows) + 10)
    for i, row in enumerate(rows):
        base = step * i + 48
        p.text(left, base - 30, row.label, "bold", size=13)
        p.line(left, base, right, base)
        for region in row.regions:
            x, wide = left + region.first * unit, (region.last - region.first) * unit
            p.box(x, base - 22, wide, 22, region.text, region.fill, size=11, dashed=region.dashed)
        for at, words in row.marks:
            p.text(left + at * unit, base + 15, words, "dim", "middle", SMALL)
        if row.note:
            p.text(left, base + 15, row.note, "dim", size=SMALL)
    return p


def overlap() -> Picture:
    """Draw a range that overlaps three regions, and the pieces that it adds."""
    three = [Region(3, 6, "0"), Region(9, 11, "1"), Region(15, 18, "2")]
    pieces = [
        Region(*x, "orange") for x in ((1, 3, "a"), (6, 9, "b"), (11, 15, "c"), (18, 21, "d"))
    ]
    rows = [
        Row("regions", three),
        Row("range to add", [Region(1, 21, "base ... end", "orange")]),
        Row("missing", pieces, "four pieces: the array needs four more places, for a moment"),
        Row("merged", [Region(1, 21, "0")], "all of the same kind: one region is left"),
    ]
    return _rows("memblock-overlap", "A range over three regions is missing in four pieces", rows)


def reentry() -> Picture:
    """Draw the array's growth, which reserves a region below and so increases all indices."""
    three = [Region(8, 10, "0"), Region(13, 15, "1"), Region(19, 21, "2")]
    array = Region(2, 5, "0 array", "red")
    grown = [array, Region(8, 10, "1"), Region(13, 15, "2"), Region(19, 21, "3")]
    kept = [array, Region(8, 10, "1"), Region(16, 18, "2", "orange"), Region(13, 15, "3")]
    rows = [
        Row("full, 3 of 3", three, marks=[(16.5, "insert here: index 2")]),
        Row("it grows", grown, marks=[(11.5, "index 2 is here now"), (18.5, "the place: index 3")]),
        Row(
            "index kept",
            [*kept, Region(19, 21, "4")],
            "in the array the new region stands before one that lies below it",
        ),
    ]
    return _rows("memblock-reentry", "The new array is reserved below: an index has changed", rows)


def hole() -> Picture:
    """Draw the hole that remains because growth frees a region that was already passed."""
    grown = [
        Region(1, 4, "new", "red"),
        Region(5, 8, "in", "orange"),
        Region(8, 11, "free", "page", True),
        Region(11, 17, "in"),
        Region(17, 21, "left", "orange", True),
    ]
    rows = [
        Row("before, with the old array", [Region(8, 11, "old", "red"), Region(15, 17, "1")]),
        Row(
            "range",
            [Region(5, 21, "base ... end", "orange")],
            marks=[(5.5, "base"), (17.5, "full here")],
        ),
        Row("it grows: new array", grown, "going on at “full here” never fills the hole"),
    ]
    return _rows("memblock-hole", "What the growth has freed below stays free", rows)


PICTURES = (fibers, kbench, overlap, reentry, hole)
