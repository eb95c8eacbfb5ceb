# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw figures with gnuplot: as SVG and PNG files, and as SVG inside a page.

This module draws the figures of grader/report/figures.py and does not depend on stages.
"""

import math
import os
import re
import shutil
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.report.axis import Axis
from grader.report.figures import Figure, Panel, Style
from grader.report.schema import ReportError

FONT = "DejaVu Sans"
GNUPLOT_SECONDS = 60

# Margins in pixels of the SVG; the PNG has twice as many pixels in each direction.
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 34, 52
ROW_HEIGHT = 34
LINE_HEIGHT = 20
CHARACTER = 7.4


@dataclass(frozen=True)
class Layout:
    """The width of a picture in pixels, and the largest number of panels in a row."""

    width: int
    most_columns: int


WIDE = Layout(980, 3)
NARROW = Layout(430, 1)


@dataclass(frozen=True)
class PlotPicture:
    """A figure as SVG for a wide and a narrow page; both are empty without data."""

    figure: Figure
    wide: str
    narrow: str


def require_gnuplot() -> None:
    """Raise ReportError unless gnuplot can be run."""
    if shutil.which("gnuplot") is None:
        raise ReportError("gnuplot not found", "run sudo apt-get install gnuplot-nox")


def picture(figure: Figure, out: Path) -> PlotPicture:
    """Write one figure into out, as SVG and PNG. Write no file if the figure has no data."""
    if not figure.panels:
        return PlotPicture(figure, "", "")
    with tempfile.TemporaryDirectory(prefix=".plot-", dir=out) as name:
        work = Path(name)
        wide = out / f"{figure.name}.svg"
        _gnuplot(figure, WIDE, "svg", wide, work)
        _gnuplot(figure, WIDE, "png", out / f"{figure.name}.png", work)
        _gnuplot(figure, NARROW, "svg", work / "narrow.svg", work)
        _name_picture(wide, figure)
        return PlotPicture(
            figure,
            for_page(wide, f"{figure.name}-wide", figure.title),
            for_page(work / "narrow.svg", f"{figure.name}-narrow", figure.title),
        )


def draw_one(figure: Figure, output: Path, layout: Layout = WIDE) -> None:
    """Write one figure to output, as SVG or PNG by its suffix; after an error, write no file.

    Raise ReportError, in one line, also for a figure without data.
    """
    kind = output.suffix[1:]
    if kind not in ("svg", "png"):
        raise ReportError(f"{output}: neither .svg nor .png", "give a .svg or a .png file")
    if not figure.panels:
        raise ReportError(
            f"{output} cannot be drawn: {figure.missing or 'there is no data'}",
            "measure its data first",
        )
    require_gnuplot()
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".plot-", dir=output.parent) as name:
            # Use a fixed name, because gnuplot may interpret characters of other names.
            drawn = Path(name) / f"picture.{kind}"
            _gnuplot(figure, layout, kind, drawn, Path(name))
            if kind == "svg":
                _name_picture(drawn, figure)
            drawn.replace(output)
    except OSError as error:
        raise ReportError(
            f"{output} cannot be written: {error.strerror or error}", "give another path"
        ) from None


def _gnuplot(figure: Figure, layout: Layout, kind: str, output: Path, work: Path) -> None:
    """Run gnuplot once in work; its script and data stay until the caller removes them."""
    script = work / f"{output.name}.gp"
    script.write_text(_script(figure, layout, kind, output.name, work), encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GNUPLOT")}
    environment["LC_ALL"] = "C.UTF-8"
    try:
        completed = subprocess.run(
            ["gnuplot", "-d", script.name],
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=GNUPLOT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ReportError(
            f"gnuplot took more than {GNUPLOT_SECONDS} s for {output.name}", "run the command again"
        ) from None
    drawn = work / output.name
    if completed.returncode != 0 or not drawn.exists() or drawn.stat().st_size == 0:
        reason = " ".join(completed.stderr.split())[-200:]
        raise ReportError(f"gnuplot failed on {output.name}: {reason}", "run make doctor")
    if kind == "svg":
        # gnuplot gives a bar a marker of size 0; some SVG renderers fail on its matrix of zeros.
        svg = drawn.read_text(encoding="utf-8")
        drawn.write_text(re.sub(r"<use [^>]*scale\(0\.0+\)[^>]*/>\n?", "", svg), encoding="utf-8")
    drawn.replace(output)


def _script(figure: Figure, layout: Layout, kind: str, output: str, work: Path) -> str:
    """Return the script of one picture; write its data files into work."""
    places, columns = _places(figure.panels, min(figure.columns, layout.most_columns))
    tops = _tops(figure.panels, places)
    legend = _legend(figure)
    widest = max(len(style.label) for style in legend) * CHARACTER + 70
    per_row = max(1, min(len(legend), int(layout.width // widest)))
    legend_height = math.ceil(len(legend) / per_row) * LINE_HEIGHT + 14
    notes = [
        line
        for note in figure.notes
        for line in textwrap.wrap(note, int((layout.width - 20) // CHARACTER))
    ]
    height = tops[-1] + legend_height + len(notes) * LINE_HEIGHT
    sizes = layout.width / columns, layout.width, height
    context: dict[str, Any] = {
        "terminal": _terminal(kind, layout.width, height),
        "output": output,
        "panels": [
            _panel(panel, index, (height - tops[place[0]], *place[1:]), sizes, work)
            for index, (panel, place) in enumerate(zip(figure.panels, places, strict=True))
        ],
        "legend": legend,
        "legend_top": _share(height - tops[-1] - 4, height),
        "columns": per_row,
        "notes": [
            {"text": line, "y": _share((len(notes) - index) * LINE_HEIGHT - 8, height)}
            for index, line in enumerate(notes)
        ],
    }
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # The output is not HTML; safe_text makes text safe for gnuplot's script.
    )
    environment.filters["safe_text"] = safe_text
    environment.filters["ticks"] = _ticks
    return environment.get_template("plot.gp.j2").render(context)


def _terminal(kind: str, width: int, height: int) -> str:
    """Return gnuplot's terminal; SVG gives font sizes in pixels, PNG in points (9 pt = 12 px)."""
    if kind == "svg":
        return f"svg size {width},{height} dynamic font '{FONT},12' background rgb '#ffffff'"
    return (
        f"pngcairo size {2 * width},{2 * height} font '{FONT},9' fontscale 2 linewidth 2 "
        "pointscale 2 background rgb '#ffffff'"
    )


def _legend(figure: Figure) -> list[Style]:
    """Return every style of the figure once, in the order of first use."""
    return list(dict.fromkeys(style for panel in figure.panels for style, _ in panel.series))


def _share(pixels: float, whole: float) -> str:
    return f"{pixels / whole:.5f}"


def _places(panels: list[Panel], columns: int) -> tuple[list[tuple[int, int, int]], int]:
    """Return row, column and number of columns of each panel, and the total number of columns."""
    columns = min(columns, len(panels))
    places = []
    row = column = 0
    for panel in panels:
        span = columns if panel.wide else 1
        if column + span > columns:
            row, column = row + 1, 0
        places.append((row, column, span))
        column += span
    return places, columns


def _height(panel: Panel) -> int:
    return TOP + panel.rows * ROW_HEIGHT + BOTTOM if panel.rows else panel.height


def _tops(panels: list[Panel], places: list[tuple[int, int, int]]) -> list[int]:
    """Return the top of each row of panels and the bottom of the last, in pixels from the top."""
    tops = [0]
    for row in range(places[-1][0] + 1):
        heights = [_height(p) for p, place in zip(panels, places, strict=True) if place[0] == row]
        tops.append(tops[-1] + max(heights))
    return tops


def _panel(
    panel: Panel,
    index: int,
    place: tuple[int, int, int],
    sizes: tuple[float, int, int],
    work: Path,
) -> dict[str, Any]:
    """Return a panel's template values: its position, in fractions of the picture, and content.

    place: distance of its row from the bottom of the picture, column, number of columns. sizes:
    width of a column, width and height of the picture.
    """
    top, column, span = place
    cell, width, height = sizes
    left = LEFT
    if panel.rows:
        left = int(max(len(label) for _, label in panel.y.major) * CHARACTER) + 14
    title = panel.title
    if len(title) * CHARACTER > span * cell:
        title = title.split(" (")[0]
    series = []
    for number, (style, points) in enumerate(panel.series):
        file = f"{index}-{number}.dat"
        lines = [f"{p.x!r} {p.y!r} {p.low!r} {p.high!r} {int(p.sure)}\n" for p in points]
        (work / file).write_text("".join(lines), encoding="ascii")
        # Earlier stages have larger markers, so that a marker stays visible where a later one
        # coincides with it. Markers in rows are small, so that they do not cover their intervals.
        size = 0.55 if panel.rows else 1.0 - 0.07 * min(number, 6)
        series.append({"file": file, "style": style, "size": f"{size:.2f}"})
    return {
        "left": _share(column * cell + left, width),
        "right": _share((column + span) * cell - RIGHT, width),
        "top": _share(top - TOP, height),
        "bottom": _share(top - _height(panel) + BOTTOM, height),
        "title": title,
        "x": panel.x,
        "x_label": panel.x_label,
        "y": panel.y,
        "rows": panel.rows,
        "baseline": panel.baseline,
        "tags": panel.tags,
        "series": series,
    }


def safe_text(text: str) -> str:
    """Return text with only characters that are harmless in a quoted string of gnuplot."""
    return re.sub(r"[^\w .,:;()+/<>=×→~-]", "?", text)[:160]


def _ticks(axis: Axis) -> str:
    """Return the ticks of an axis in gnuplot's notation; ticks without a label are at level 1."""
    major = [f"'{safe_text(label)}' {at!r}" for at, label in axis.major]
    return ", ".join(major + [f"'' {at!r} 1" for at in axis.minor])


def _name_picture(path: Path, figure: Figure) -> None:
    """Set the title of an SVG, and fallback fonts for systems without DejaVu."""
    svg = path.read_text(encoding="utf-8")
    svg = svg.replace("<title>Gnuplot</title>", f"<title>{escape(figure.title)}</title>", 1)
    svg = svg.replace(f'"{FONT}"', f'"{FONT}, Verdana, sans-serif"')
    path.write_text(svg, encoding="utf-8")


def for_page(path: Path, prefix: str, title: str) -> str:
    """Return an SVG file for inclusion in a page, with unique ids and replaceable colours.

    Each colour #rrggbb becomes the custom property --rrggbb, so that a dark page can replace it;
    fonts come from the page.
    """
    svg = path.read_text(encoding="utf-8")
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<title>.*?</title>\n?", "", svg, flags=re.S)
    svg = re.sub(r"<desc>.*?</desc>\n?", "", svg, count=1, flags=re.S)
    svg = re.sub(r"""\bid=(['"])([^'"]+)\1""", rf'id="{prefix}-\2"', svg)
    svg = re.sub(r"""href=(['"])#([^'"]+)\1""", rf'href="#{prefix}-\2"', svg)
    svg = re.sub(r"<filter .*?</filter>\n?", "", svg, flags=re.S)
    svg = re.sub(r""" font-family=(['"]).*?\1""", "", svg)
    svg = re.sub(r"""\b(fill|stroke|color)=(['"])(#\w{6}|rgb\([^)]*\))\2""", _as_property, svg)
    svg = re.sub(r"<g [^>]*>\s*</g>\n?", "", svg)
    # gnuplot writes these initial values of SVG for every stroke.
    svg = svg.replace(' stroke-linecap="butt" stroke-linejoin="miter"', "")
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)


def _as_property(match: re.Match[str]) -> str:
    attribute, value = match[1], match[3].lower()
    if value.startswith("rgb"):
        red, green, blue = (int(part) for part in re.findall(r"\d+", value))
        value = f"#{red:02x}{green:02x}{blue:02x}"
    return f'{attribute}="var(--{value[1:]},{value})"'
