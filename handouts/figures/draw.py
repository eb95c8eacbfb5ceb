# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the figures of the handouts: one report, one run of make compare-gmp, and runs of the
loops that differ by one percent.

cost.svg      time of each stage over n, both phases     from report.json
speedup.svg   each stage against the one before          from report.json
compare-gmp.svg  the whole read over GMP's              from build/compare-gmp/rows.tsv
loops.svg     distributions of 98, 99 and 100 loops      measured here, half a minute
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scipy.stats import ks_2samp

from grader import sensitivity
from grader.base import command, paths
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import machines, qemu
from grader.report.figures import COLOURS, style
from grader.report.plots import draw_one
from grader.tools import peer_figure, peer_rows

HERE = Path(__file__).resolve().parent
MOST_BYTES = 80_000
RUNS = 60
# Handout 7 shows the seven stages of the course's first part; more lines hide one another.
FIRST_PART = 7
HEAD = """\
set encoding utf8
set terminal svg size {width},{height} font 'DejaVu Sans,13' background '#ffffff'
set output '{output}'
set border 3 linecolor rgb '#57606a'
set tics nomirror scale 0.5, 0.25 textcolor rgb '#57606a'
set grid linewidth 0.6 linetype 1 linecolor rgb '#d0d7de'
set label 1 '{caption}' at screen 0.5,0.02 center noenhanced textcolor rgb '#57606a'
set bmargin 5
set key samplen 1.5 textcolor rgb '#24292f'
"""
Series = dict[tuple[Any, ...], list[tuple[float, float]]]


def plain(text: str) -> str:
    """A text that is safe between gnuplot's single quotes."""
    return re.sub(r"[^\w .,:;()+/×%-]", "", text)


def draw(name: str, size: tuple[int, int], caption: str, script: str) -> None:
    """Run gnuplot on a script and keep the picture."""
    head = HEAD.format(width=size[0], height=size[1], output="/dev/stdout", caption=plain(caption))
    done = subprocess.run(["gnuplot", "-d"], input=head + script, capture_output=True, text=True)
    if done.returncode or not done.stdout:
        raise LabError(f"gnuplot: {done.stderr.strip()[-200:]}")
    keep(name, done.stdout)


def keep(name: str, drawn: str) -> None:
    """Put gnuplot's picture into its place, made smaller, if it is small enough."""
    out = HERE / f"{name}.svg"
    # Positions to a tenth of a pixel are enough, and groups of nothing say nothing.
    picture = re.sub(r"(?<![\d.])(\d+\.\d)\d+", r"\1", re.sub(r"[ \t]+", " ", drawn))
    picture = re.sub(r" stroke-linecap=\"butt\" stroke-linejoin=\"miter\"", "", picture)
    picture = re.sub(r"<g [^>]*>\s*</g>\s*", "", picture)
    picture = re.sub(r"<title>.*?</title>", f"<title>{name}</title>", picture, count=1)
    if len(picture.encode()) > MOST_BYTES:
        raise LabError(f"{out.name} would have {len(picture)} bytes, {MOST_BYTES} are enough")
    out.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n")
    print(f"{paths.shown(out)}: {out.stat().st_size:,} bytes")


def block(name: str, rows: Iterable[tuple[float, ...]]) -> str:
    """Data within a gnuplot script."""
    lines = [" ".join(f"{x:.6g}" for x in row) for row in rows]
    return "\n".join([f"${name} << EOD", *lines, "EOD", ""])


def machine_text(report: dict[str, Any], ruler: str) -> str:
    """Which machine the figures of this ruler come from."""
    found = next((m for m in report["machines"] if m["ruler"] == ruler), None)
    if found is None:
        raise LabError(f"the report has no {ruler}: let grader/run.sh measure by both rulers")
    return f"{found['cpu']}, {found['name']} {found['kernel']}, {found['compiler']}"


def series(entries: list[dict[str, Any]], key: tuple[str, ...], value: str, ruler: str) -> Series:
    """Points (n, value) by key."""
    found: Series = {}
    for e in entries:
        if e["ruler"] == ruler and e[value] is not None:
            found.setdefault(tuple(e[k] for k in key), []).append((e["n"], e[value]))
    return {k: sorted(v) for k, v in sorted(found.items())}


def lines(data: Series, label: str, keys: bool) -> tuple[str, str]:
    """Data blocks, and the plot command for them, a line for each stage."""
    blocks, plots = "", []
    for k, points in data.items():
        stage = int(k[-1])
        look = style(stage - 1, "")
        name = f"d{abs(hash((label, *k))) % 10**9}"
        blocks += block(name, points)
        title = f"title 'stage {stage}'" if keys else "notitle"
        plots.append(
            f"${name} using 1:2 with linespoints linewidth 1.4 pointsize 0.5"
            f" pointtype {look.filled} linecolor rgb '{look.colour}' {title}"
        )
    return blocks, "plot " + ", \\\n ".join(plots) + "\n"


def panels(parts: list[tuple[str, str, str, Series]]) -> str:
    """Panels side by side, log-log: (title, y, more commands, data). The first has keys."""
    script = "set logscale xy\nset format xy '10^{%L}'\nset xlabel 'n' textcolor rgb '#57606a'\n"
    plots = ""
    for i, (title, label, more, data) in enumerate(parts):
        blocks, plot = lines(data, title, keys=i == 0)
        script += blocks
        plots += f"set title '{title}'\nset ylabel '{label}' textcolor rgb '#57606a'\n"
        plots += f"{more}{plot}unset label 1\nunset key\n"
    return f"{script}set multiplot layout 1,{len(parts)}\n{plots}unset multiplot\n"


def draw_cost(report: dict[str, Any]) -> None:
    """Time over n, by stage of the first part."""
    samples = [
        {**s, "stage": stage["number"]}
        for stage in report["stages"]
        if stage["number"] <= FIRST_PART
        for s in stage["samples"]
    ]
    data = series(samples, ("phase", "stage"), "median", "ns")
    parts = [
        (
            phase,
            "ns",
            "set key bottom right\nset yrange [1:1e9]\n",
            {k: v for k, v in data.items() if k[0] == phase},
        )
        for phase in ("compute", "decimal")
    ]
    draw("cost", (900, 430), machine_text(report, "ns"), panels(parts))


def draw_speedup(report: dict[str, Any]) -> None:
    """Each stage against the one before, computing, by both rulers."""
    entries = [
        e for e in report["speedups"] if e["phase"] == "compute" and e["to"] == e["from"] + 1
    ]
    more = "set key top left\nset yrange [0.5:200]\nset format y '%g'\n"
    more += "set arrow 1 from graph 0,first 1 to graph 1,first 1 nohead linecolor rgb '#57606a'\n"
    parts = [
        (title, "times as fast as the stage before", more, series(entries, ("to",), "ratio", ruler))
        for title, ruler in (("time", "ns"), ("instructions", "instructions"))
    ]
    # Stage 3 against 2 is a loss by a thousand: it buys range.
    for _, _, _, data in parts:
        data.pop((3,), None)
    captions = [machine_text(report, ruler) for ruler in ("ns", "instructions")]
    kernels = f"{captions[0]}; {captions[1].split(', ')[1]}"
    draw("speedup", (900, 430), kernels, panels(parts))


def steps(values: list[float]) -> list[tuple[float, float]]:
    """The empirical distribution function: the share of values up to each."""
    ordered = sorted(values)
    return [(x, (i + 1) / len(ordered)) for i, x in enumerate(ordered)]


def draw_loops(report: dict[str, Any], runs: int) -> None:
    """The distributions of 98, 99 and 100 loops by a clock and by the exact ruler."""
    tell = Progress().step
    todo = sensitivity.order(runs, 1)
    found = [
        ("user process, ns", sensitivity.user_runs(todo, [], "user process", tell)),
        ("lab kernel, ns", sensitivity.machine_runs(machines.get("uml"), todo, tell)),
        ("exact ruler, instructions", sensitivity.machine_runs(qemu.MACHINE, todo, tell)),
    ]
    script, plots = "", ""
    for i, (title, data) in enumerate(found):
        middle = statistics.median(data[99, "a"])
        parts = []
        for j, (loops, copy) in enumerate(sorted(data)):
            name = f"e{i}_{loops}{copy}"
            relative = [100 * x / middle for x in data[loops, copy]]
            script += block(name, steps(relative))
            named = f"title '{loops}'" if copy == "a" and i == 0 else "notitle"
            parts.append(
                f"${name} using 1:2 with steps linewidth {1.6 if copy == 'a' else 0.8}"
                f" linecolor rgb '{COLOURS[(5, 2, 6)[j // 2]]}' {named}"
            )
        plots += f"set title '{title}'\nplot " + ", \\\n ".join(parts) + "\nunset label 1\n"
        plots += "unset key\n"
        p = [ks_2samp(data[98, "a"], data[99, "a"]), ks_2samp(data[99, "a"], data[99, "b"])]
        print(f"{title}: 98-99 p = {p[0].pvalue:.2g}, 99-99 p = {p[1].pvalue:.2g}")
    script += "set xrange [96.5:104]\nset yrange [0:1]\nset xlabel 'percent of the median of 99'\n"
    script += "set key bottom right title 'loops'\n"
    script += f"set multiplot layout 1,3\n{plots}unset multiplot\n"
    caption = f"share of {runs} runs that took no longer; each program twice; "
    draw("loops", (900, 360), caption + machine_text(report, "ns"), script)


def draw_compare_gmp(recorded: Path) -> None:
    """The whole read of all stages and of Python's decimal, over GMP's."""
    figure = peer_figure.figure(peer_rows.read(recorded), [peer_rows.READ])
    with tempfile.TemporaryDirectory(prefix=".draw-", dir=HERE) as folder:
        drawn = Path(folder) / "picture.svg"
        draw_one(figure, drawn)
        keep("compare-gmp", drawn.read_text(encoding="utf-8"))


def main() -> int:
    """Draw all, or those named."""
    parser = argparse.ArgumentParser(prog="handouts/figures/draw.sh", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("report", nargs="?", type=Path, default=paths.BUILD / "report/report.json")
    parser.add_argument("--only", choices=("cost", "speedup", "loops", "compare-gmp"))
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of the loops (default {RUNS})")
    options = parser.parse_args()
    if options.only in (None, "compare-gmp"):
        draw_compare_gmp(paths.BUILD / "compare-gmp/rows.tsv")
    if options.only == "compare-gmp":
        return 0
    try:
        report = json.loads(options.report.read_text())
    except (OSError, ValueError) as error:
        raise LabError(f"{options.report}: {error}; grader/run.sh makes a report") from None
    if options.only in (None, "cost"):
        draw_cost(report)
    if options.only in (None, "speedup"):
        draw_speedup(report)
    if options.only in (None, "loops"):
        draw_loops(report, options.runs)
    return 0


if __name__ == "__main__":
    sys.exit(command.end("draw", main))
