# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw handouts/electives/fibers.svg: two stacks, and the registers that a switch saves and loads.

To be run by hand when the picture changes: scripts/python.sh -m electives.fibers.draw
"""

from __future__ import annotations

from html import escape

from grader.base import paths

OUTPUT = paths.ROOT / "handouts/electives/fibers.svg"
WIDTH, HEIGHT = 720, 330
REGISTERS = ("rip, rsp", "rbx ... r15", "xmm, ymm, x87", "mxcsr")
LINE = 22


def box(x: int, y: int, title: str, lines: tuple[str, ...], colour: str) -> str:
    """A box with a heading and a row for each line."""
    height = LINE * len(lines) + 8
    rows = "".join(
        f'<text x="{x + 12}" y="{y + LINE * (i + 1) - 2}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<text x="{x}" y="{y - 8}" font-weight="bold">{escape(title)}</text>'
        f'<rect x="{x}" y="{y}" width="180" height="{height}" fill="none" stroke="{colour}"'
        f' stroke-width="2"/>{rows}'
    )


def arrow(path: str, label: str, x: int, y: int) -> str:
    """An arrow along a path, and what it says."""
    return (
        f'<path d="{path}" fill="none" stroke="#4d4d4d" stroke-width="2" marker-end="url(#tip)"/>'
        f'<text x="{x}" y="{y}">{escape(label)}</text>'
    )


def picture() -> str:
    """The whole file."""
    stack = ("main()", "work()", "fiber_switch()")
    parts = (
        box(20, 40, "fiber 1 waits: its context", REGISTERS, "#0072b2"),
        box(270, 40, "the thread, in the kernel", REGISTERS, "#4d4d4d"),
        box(520, 40, "fiber 2: its context", REGISTERS, "#d55e00"),
        box(20, 220, "stack of fiber 1", stack, "#0072b2"),
        box(520, 220, "stack of fiber 2", stack[1:], "#d55e00"),
        arrow("M270,80 H204", "1. save", 212, 70),
        arrow("M520,80 H454", "2. load", 462, 70),
        arrow("M110,136 V196", "rsp", 118, 172),
        arrow("M610,136 V196", "rsp", 618, 172),
        box(270, 220, "stays with the thread", ("TLS, errno", "signal mask", "flags"), "#4d4d4d"),
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
        f' height="{HEIGHT}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="13">'
        "<title>Two stacks, two contexts, one thread that switches</title>"
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#4d4d4d"/></marker></defs>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    OUTPUT.write_text(picture(), encoding="utf-8")
