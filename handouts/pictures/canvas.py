# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Pictures of boxes, words and arrows, in one style, for light and dark pages.

Pictures are narrow: 460 units fit on a phone, where letters of 14 units are readable. Words that
are too long for their box, or that leave the picture, are an error.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

WIDTH = 460
LARGE, SMALL = 14, 12
# Fill colours by name: on a light page and on a dark page.
FILLS = {
    "page": ("#ffffff", "#161b22"),
    "grey": ("#e9edf1", "#30363d"),
    "blue": ("#cfe5f9", "#1b4a75"),
    "orange": ("#ffe0b0", "#6b4a12"),
    "green": ("#cdeccf", "#1d5230"),
    "red": ("#f8d3da", "#722b3c"),
}
INK, DIM = ("#24292f", "#e6edf3"), ("#57606a", "#9da7b3")


def _style(dark: int) -> str:
    fills = "".join(f".{name}{{fill:{pair[dark]}}}" for name, pair in FILLS.items())
    return (
        f"{fills}text,.tip{{fill:{INK[dark]}}}.dim{{fill:{DIM[dark]}}}"
        f".line{{fill:none;stroke:{DIM[dark]}}}rect{{stroke:{DIM[dark]}}}"
    )


FONTS = (
    "text{{font-family:'DejaVu Sans',Verdana,{}sans-serif}}"
    ".mono{{font-family:'DejaVu Sans Mono',Consolas,monospace}}.bold{{font-weight:bold}}"
)
# Chinese fonts of Linux, macOS and Windows.
CHINESE = "'Noto Sans CJK TC','PingFang TC','Microsoft JhengHei',"

# The translations, by the English words; and the English words that pictures have used.
translation: dict[str, str] = {}
used: dict[str, None] = {}


def say(words: str) -> str:
    """Return words for the picture, translated if possible."""
    if re.search("[A-Za-z]{2}", words):  # F(99) and a₀b₀ are the same in every language
        used[words] = None
    return translation.get(words, words)


def length(words: str, size: int, mono: bool = False) -> float:
    """Return the width of words in DejaVu Sans, a wide font. A Chinese character is a square."""
    if wide := sum(c >= "\u2e80" for c in words):
        return size * wide + length("".join(c for c in words if c < "\u2e80"), size, mono)
    narrow = sum(words.count(c) for c in "iljtfI.,:;'|()[]! ₀₁₂₃⁰¹²³⁴⁶⁸")
    return size * (0.605 * len(words) if mono else 0.62 * len(words) - 0.24 * narrow)


class Picture:
    """A picture as a list of its SVG elements."""

    def __init__(self, name: str, title: str, height: int, width: int = WIDTH) -> None:
        self.name, self.title, self.width, self.height = name, say(title), width, height
        self.parts: list[str] = []

    def text(
        self, x: float, y: float, words: str, style: str = "", anchor: str = "start", size: int = 14
    ) -> None:
        """Draw words on a line at y; the style is any of dim, bold, mono."""
        if "mono" not in style:
            words = say(words)
        self._text(x, y, words, style, anchor, size)

    def _text(self, x: float, y: float, words: str, style: str, anchor: str, size: int) -> None:
        wide = length(words, size, "mono" in style) * (1.08 if "bold" in style else 1)
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        if left < 0 or left + wide > self.width or not size <= y <= self.height - 2:
            raise ValueError(f"{self.name}: {words!r} leaves the picture ({left:.0f}, {wide:.0f})")
        klass = f' class="{style}"' if style else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"{klass}>'
            f"{escape(words, quote=False)}</text>"
        )

    def box(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        words: str = "",
        fill: str = "page",
        style: str = "",
        size: int = 14,
        dashed: bool = False,
    ) -> None:
        """Draw a box with lines of words in its middle."""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="3" class="{fill}"{dash}/>'
        )
        if "mono" not in style:
            words = say(words)
        lines = words.split("\n") if words else []
        step = size + 4
        top = y + h / 2 + size * 0.36 - step * (len(lines) - 1) / 2
        for i, line in enumerate(lines):
            if length(line, size, "mono" in style) > w - 4:
                raise ValueError(f"{self.name}: {line!r} is too long for its box")
            self._text(x + w / 2, top + i * step, line, style, "middle", size)

    def line(self, *points: float, tip: bool = False, dashed: bool = False, bold: int = 0) -> None:
        """Draw a line through points x, y, x, y, ..., with an arrowhead if tip is set."""
        pairs = " L".join(f"{x:g},{y:g}" for x, y in zip(points[::2], points[1::2], strict=True))
        self._path(f"M{pairs}", tip, dashed, bold)

    def arrow(self, *points: float, dashed: bool = False) -> None:
        """Draw a line with an arrowhead."""
        self.line(*points, tip=True, dashed=dashed)

    def arc(self, x: float, y: float, to: float, height: float) -> None:
        """Draw an arc with an arrowhead from (x, y) to (to, y)."""
        self._path(
            f"M{x:g},{y:g} Q{(x + to) / 2:g},{y - 2 * height:g} {to:g},{y:g}", True, False, 0
        )

    def _path(self, path: str, tip: bool, dashed: bool, bold: int) -> None:
        more = ' marker-end="url(#tip)"' if tip else ""
        more += ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(f'<path d="{path}" class="line" stroke-width="{bold or 1.4}"{more}/>')

    def svg(self) -> str:
        """Return the whole SVG file."""
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
            f' width="{self.width}" height="{self.height}" role="img">\n'
            f"<title>{escape(self.title, quote=False)}</title>\n"
            f"<style>{FONTS.format(CHINESE if translation else '')}{_style(0)}\n"
            f"@media (prefers-color-scheme: dark) {{{_style(1)}}}</style>\n"
            '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6.5" refY="3.5"'
            ' orient="auto"><path d="M0,0 L7,3.5 L0,7 z" class="tip"/></marker></defs>\n'
            f'<rect width="{self.width}" height="{self.height}" class="page" stroke="none"'
            ' style="stroke:none"/>\n'
            f"{body}\n</svg>\n"
        )

    def save(self, folder: Path) -> None:
        """Write the SVG file into a folder."""
        (folder / f"{self.name}.svg").write_text(self.svg(), encoding="utf-8")
