# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the figures of the handouts from measurements.

cost.svg         time of each stage over n, both phases           from report.json
speedup.svg      each stage's whole read against the one before   from report.json
compare-gmp.svg  each stage's whole read, relative to GMP's       from build/compare-gmp/rows.tsv
loops.svg        distributions of 98, 99 and 100 loops            measured here, half a minute

Each figure is drawn twice: NAME.svg for a wide page, and NAME-narrow.svg for the site's pages on a
phone.
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
from dataclasses import replace
from pathlib import Path
from typing import Any

from scipy.stats import ks_2samp

from grader.base import command, paths
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import machines, qemu
from grader.measure import sensitivity
from grader.report import stage_figures
from grader.report.figures import COLOURS, Figure
from grader.report.plots import NARROW, WIDE, draw_one
from grader.tools import peer_figure, peer_rows

HERE = Path(__file__).resolve().parent
MOST_BYTES = 100_000
RUNS = 60
# Handout 7 shows the seven stages of the course's first part; with more stages, lines would hide
# one another.
FIRST_PART = 7
LONG = r"(?<![\d.])(\d{2,}\.\d)\d+"
HEAD = """\
set encoding utf8
set terminal svg size {width},{height} font 'DejaVu Sans,13' background '#ffffff'
set output '{output}'
set border 3 linecolor rgb '#57606a'
set tics nomirror scale 0.5, 0.25 textcolor rgb '#57606a'
set grid linewidth 0.6 linetype 1 linecolor rgb '#d0d7de'
set label 1 "{caption}" at screen 0.5,{low} center noenhanced textcolor rgb '#57606a'
set bmargin 5
set key samplen 1.5 textcolor rgb '#24292f'
"""


def plain(text: str) -> str:
    """Return text that is safe between gnuplot's single quotes."""
    return re.sub(r"[^\w .,:;()+/×%-]", "", text)


def draw(name: str, size: tuple[int, int], caption: list[str], script: str) -> None:
    """Run gnuplot on a script and store the picture; the caption's lines are at the bottom."""
    width, height = size
    said = "\\n".join(map(plain, caption))
    low = 0.02 + 17 * (len(caption) - 1) / height
    head = HEAD.format(width=width, height=height, output="/dev/stdout", caption=said, low=low)
    completed = subprocess.run(
        ["gnuplot", "-d"], input=head + script, capture_output=True, text=True
    )
    if completed.returncode or not completed.stdout:
        raise LabError(f"gnuplot: {completed.stderr.strip()[-200:]}", "correct the figure's script")
    keep(name, completed.stdout)


def keep(name: str, drawn: str) -> None:
    """Store gnuplot's picture, made smaller. Raise LabError if it is still too large."""
    out = HERE / f"{name}.svg"
    # Shorten positions to a tenth of a pixel, which is precise enough, and remove empty groups;
    # texts of labels do not change.
    picture = re.sub(r"[ \t]+", " ", drawn)
    picture = re.sub(r"<[^>]*>", lambda tag: re.sub(LONG, r"\1", tag[0]), picture)
    picture = re.sub(r" stroke-linecap=\"butt\" stroke-linejoin=\"miter\"", "", picture)
    picture = re.sub(r"<g [^>]*>\s*</g>\s*", "", picture)
    picture = re.sub(r"<title>.*?</title>", f"<title>{name}</title>", picture, count=1)
    if len(picture.encode()) > MOST_BYTES:
        raise LabError(
            f"{out.name} would have {len(picture)} bytes; the limit is {MOST_BYTES}",
            "draw fewer points",
        )
    out.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n")
    print(f"{paths.shown(out)}: {out.stat().st_size:,} bytes")


def block(name: str, rows: Iterable[tuple[float, ...]]) -> str:
    """Return a block of data for a gnuplot script."""
    lines = [" ".join(f"{x:.6g}" for x in row) for row in rows]
    return "\n".join([f"${name} << EOD", *lines, "EOD", ""])


def machine_text(report: dict[str, Any], metric: str) -> str:
    """Return the machine, kernel and compiler with which the report's values were measured."""
    found = next((m for m in report["machines"] if m["metric"] == metric), None)
    if found is None:
        raise LabError(f"the report has no {metric}", "run grader/run.sh with both metrics")
    return f"{found['cpu']}, {found['name']} {found['kernel']}, {found['compiler']}"


def keep_figure(name: str, figure: Figure) -> None:
    """Draw a figure of the report or of a tool, for wide and narrow pages, and store it."""
    with tempfile.TemporaryDirectory(prefix=".draw-", dir=HERE) as folder:
        drawn = Path(folder) / "picture.svg"
        for layout, kind in ((WIDE, ""), (NARROW, "-narrow")):
            draw_one(figure, drawn, layout)
            keep(name + kind, drawn.read_text(encoding="utf-8"))


def draw_cost(report: dict[str, Any]) -> None:
    """Draw time over n for the stages of the first part, computing and converting."""
    stages = [
        {**stage, "samples": [s for s in stage["samples"] if s["phase"] != stage_figures.WHOLE]}
        for stage in report["stages"]
        if stage["number"] <= FIRST_PART
    ]
    figure = stage_figures.cost({**report, "stages": stages}, "ns")
    keep_figure("cost", replace(figure, notes=[machine_text(report, "ns")]))


def draw_speedup(report: dict[str, Any]) -> None:
    """Draw each stage's whole read against the stage before, by both metrics."""
    # Leave stage 3 out: it is a thousand times slower than stage 2, in exchange for larger n, which
    # the text beside the figure explains.
    whole = [e for e in report["speedups"] if e["phase"] == stage_figures.WHOLE and e["to"] != 3]
    notes = [machine_text(report, metric) for metric in ("ns", "instructions")]
    keep_figure(
        "speedup", replace(stage_figures.speedup({**report, "speedups": whole}), notes=notes)
    )


def steps(values: list[float]) -> list[tuple[float, float]]:
    """Return the empirical distribution function: each value with the share of values up to it."""
    ordered = sorted(values)
    return [(x, (i + 1) / len(ordered)) for i, x in enumerate(ordered)]


def draw_loops(report: dict[str, Any], runs: int) -> None:
    """Draw the distributions of the cost of 98, 99 and 100 loops, by each of three metrics."""
    tell = Progress().step
    todo = sensitivity.order(runs, 1)
    found = [
        ("user process, ns", sensitivity.user_runs(todo, [], "user process", tell)),
        ("lab kernel, ns", sensitivity.machine_runs(machines.get("uml"), todo, tell)),
        ("exact metric, instructions", sensitivity.machine_runs(qemu.MACHINE, todo, tell)),
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
    machine = machine_text(report, "ns")
    draw_distributions(script, plots, f"share of {runs} runs that took no longer", machine)


def draw_distributions(script: str, plots: str, caption: str, machine: str) -> None:
    """Draw three plots side by side, and one below the other for a phone."""
    drawn = script + "set multiplot layout LAYOUT\n" + plots + "unset multiplot\n"
    wide = [f"{caption}; each program twice; {machine}"]
    draw("loops", (900, 360), wide, drawn.replace("LAYOUT", "1,3"))
    narrow = [f"{caption};", "each program twice", *machine.split(", ", 2)]
    below = "3,1 margins 0.13,0.96,0.16,0.96 spacing 0,0.11"
    draw("loops-narrow", (430, 1000), narrow, drawn.replace("LAYOUT", below))


def draw_compare_gmp(recorded: Path) -> None:
    """Draw the whole read of all stages and of Python's decimal, relative to GMP's."""
    keep_figure("compare-gmp", peer_figure.figure(peer_rows.read(recorded), [peer_rows.READ]))


def main() -> int:
    """Draw all figures, or only the figure that --only names."""
    parser = argparse.ArgumentParser(prog="handouts/figures/draw.sh", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("report", nargs="?", type=Path, default=paths.BUILD / "report/report.json")
    parser.add_argument("--only", choices=("cost", "speedup", "loops", "compare-gmp"))
    parser.add_argument(
        "--runs", type=int, default=RUNS, help=f"number of runs of the loops (default {RUNS})"
    )
    options = parser.parse_args()
    if options.only in (None, "compare-gmp"):
        draw_compare_gmp(paths.BUILD / "compare-gmp/rows.tsv")
    if options.only == "compare-gmp":
        return 0
    try:
        report = json.loads(options.report.read_text())
    except (OSError, ValueError) as error:
        raise LabError(f"{options.report}: {error}", "run grader/run.sh") from None
    if options.only in (None, "cost"):
        draw_cost(report)
    if options.only in (None, "speedup"):
        draw_speedup(report)
    if options.only in (None, "loops"):
        draw_loops(report, options.runs)
    return 0


if __name__ == "__main__":
    sys.exit(command.end("draw", main))
