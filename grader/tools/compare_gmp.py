# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compare the bignum stages with GMP, in user space: how far the state of the art still is.

One process, interleaved rounds (common/userspace/compare_gmp.c); the unit is the round: the ratio
of a stage's time to GMP's in the same round, of which the median counts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from grader.base import command, paths
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.report import plots, text
from grader.report.axis import log_axis
from grader.report.figures import Figure, Panel, Point, Style, style
from grader.stage.stages import Stage, find, home

# The last n that needs no bignum: F(n) fits into 64 bits.
LAST_OF_A_WORD = 93
NUMBERS = (100, 1_000, 10_000, 100_000, 1_000_000)
PHASES = ("compute", "decimal")
GMP = 0

# Nanoseconds by n, contender (0 is GMP, then the stages in order) and phase, a value a round.
Rows = dict[tuple[int, int, str], list[float]]


def _run(call: list[str], what: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
    done = subprocess.run(
        call, capture_output=True, text=True, cwd=paths.ROOT, env=environment, check=False
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it says nothing"]
        said = next((line for line in lines if "error" in line), lines[-1])
        raise LabError(f"{what}: {said}")
    return done.stdout


def build(stages: list[Stage], out: Path, progress: Progress) -> tuple[Path, list[str]]:
    """Build the benchmark and a shared object for each stage; return what to call it with."""
    if subprocess.run(
        ["cc", "-include", "gmp.h", "-E", "-x", "c", "/dev/null"], capture_output=True, check=False
    ).returncode:
        raise LabError("gmp.h is missing: scripts/setup.sh user, or apt install libgmp-dev")
    arguments = []
    for stage in stages:
        progress.step(f"build stage {stage.number} for user space")
        folder = out / stage.key
        _run(
            [
                *("make", "-s", "-C", str(paths.COMMON / "userspace"), "so"),
                *(f"STAGE_DIR={stage.directory}", f"OUT={folder}"),
            ],
            f"stage {stage.number} does not build",
        )
        arguments.append(f"{stage.manifest.max_n}:{folder / 'stage.so'}")
    program = out / "compare_gmp"
    source = paths.COMMON / "userspace" / "compare_gmp.c"
    flags = ["-std=gnu11", "-O2", "-Wall", f"-I{paths.COMMON}", f"-I{paths.COMMON / 'userspace'}"]
    _run(["cc", *flags, "-o", str(program), str(source), "-lgmp", "-ldl"], "compare_gmp.c")
    return program, arguments


def measure(
    program: Path, arguments: list[str], rounds: int, raw: Path, progress: Progress
) -> Rows:
    """Run the benchmark for each n; keep the raw rows in a file."""
    rows: Rows = defaultdict(list)
    lines = ["n\tround\tcontender\tcompute_ns\tdecimal_ns\n"]
    for n in NUMBERS:
        if n > max(int(a.split(":")[0]) for a in arguments):
            continue
        # A round at the largest n takes a second; the medians of five agree well enough.
        count = min(rounds, 5) if n > 100_000 else rounds
        progress.step(f"measure n = {n:,}")
        output = _run([str(program), str(count), str(n), *arguments], f"n = {n:,}")
        for line in output.splitlines():
            _, _, contender, compute, decimal = line.split("\t")
            rows[n, int(contender), "compute"].append(float(compute))
            rows[n, int(contender), "decimal"].append(float(decimal))
            lines.append(line + "\n")
    raw.write_text("".join(lines), encoding="utf-8")
    return rows


def ratios(rows: Rows, n: int, contender: int, phase: str) -> list[float]:
    """Time of a contender over GMP's, a value for each round, sorted; empty without figures."""
    theirs = rows.get((n, GMP, phase), [])
    own = rows.get((n, contender, phase), [])
    return sorted(a / b for a, b in zip(own, theirs, strict=False))


def _cell(values: list[float]) -> str:
    if not values:
        return ""
    ratio = statistics.median(values)
    return f"{ratio:,.1f}" if ratio < 100 else f"{ratio:,.0f}"


def table(rows: Rows, stages: list[Stage]) -> str:
    """Both phases: GMP's time, and how many times it each stage takes."""
    numbers = sorted({n for n, _, _ in rows})
    lines = []
    for phase, function in zip(PHASES, ("mpz_fib_ui", "mpz_get_str"), strict=True):
        lines.append(f"{phase}: times as long as GMP's {function} (median of the rounds)")
        lines.append(f"{'stage':26}" + "".join(f"{'n = ' + format(n, ','):>15}" for n in numbers))
        times = (statistics.median(rows[n, GMP, phase]) for n in numbers)
        cells = "".join(f"{text.duration(t):>15}" for t in times)
        lines.append(f"{'GMP itself':26}{cells}")
        for index, stage in enumerate(stages, 1):
            cells = "".join(f"{_cell(ratios(rows, n, index, phase)):>15}" for n in numbers)
            lines.append(f"{stage.number} {stage.manifest.name:24}{cells}")
        lines.append("")
    return "\n".join(lines)


def figure(rows: Rows, stages: list[Stage]) -> Figure:
    """Ratios over n, a panel for each phase; the bars span the middle half of the rounds."""
    panels = []
    for phase in PHASES:
        series: list[tuple[Style, list[Point]]] = []
        values = [1.0]
        for index, stage in enumerate(stages, 1):
            points = []
            for n in sorted({n for n, _, _ in rows}):
                found = ratios(rows, n, index, phase)
                if not found:
                    continue
                low, high = found[len(found) // 4], found[-1 - len(found) // 4]
                points.append(Point(n, statistics.median(found), low, high))
                values += [low, high]
            series.append(
                (style(stage.number - 1, f"{stage.number} {stage.manifest.name}"), points)
            )
        x = log_axis([float(n) for n, _, _ in rows], text.short_count, 10)
        y = log_axis(values, text.short_count, 10)
        panels.append(Panel(f"{phase}: how many times as long as GMP", x, y, series, baseline=1.0))
    notes = ["User space, CPU time. Points: medians; bars: the middle half of the rounds."]
    return Figure("compare-gmp", "Stages against GMP", "", panels, "", notes)


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="compare-gmp", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds for each n (15)")
    parser.add_argument(
        "--out", type=Path, default=paths.BUILD / "compare-gmp", help="where the picture goes"
    )
    options = parser.parse_args(arguments)
    if not 3 <= options.rounds <= 1000:
        raise LabError("--rounds: a number from 3 to 1000, please")
    progress = Progress()
    out = options.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    stages = [stage for stage in find(home()) if stage.manifest.max_n > LAST_OF_A_WORD]
    if not stages:
        raise LabError("no stage here has bignums yet, and no other can be compared")
    program, contenders = build(stages, out, progress)
    rows = measure(program, contenders, options.rounds, out / "rows.tsv", progress)
    progress.step("draw")
    picture = figure(rows, stages)
    plots.picture(picture, out)
    progress.clear()
    print(table(rows, stages))
    print(f"Picture: {paths.shown(out / 'compare-gmp.svg')}, .png; raw rows: rows.tsv")
    return 0


if __name__ == "__main__":
    sys.exit(command.end("compare-gmp", lambda: main(sys.argv[1:])))
