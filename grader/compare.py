# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""grader/compare.sh: is the second of two stage directories faster? Both rulers, one line."""

from __future__ import annotations

import argparse
import math
import re
import shutil
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from grader.base import command, paths
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import machines
from grader.rulers import clock, counter, stats
from grader.rulers.clock import PHASES, Samples
from grader.stage import build, stages, verify
from grader.stage.build import Built
from grader.stage.stages import Stage
from grader.stage.verify import Verified
from grader.verdict import judge

# Some more than the grader takes: few n leave the time.
ROUNDS = 20
# By default some n of the manifest, none above this: a call then takes 10 ms at most.
LARGEST_N = 10_000
HOW_MANY_N = 3
UNITS = {"ns": "time", "instructions": "instructions"}

EPILOG = """\
The verdict is about the second directory: faster, slower, ~ (nothing can be claimed) or mixed.
Exit status: 0 compared, 1 one of the two is not right, 2 the comparison could not be made.
"""


@dataclass(frozen=True)
class Row:
    """Both at one phase and n by one ruler; ratio above 1: the second costs less."""

    ruler: str
    phase: str
    n: int
    before: float
    after: float
    ratio: float
    low: float
    high: float
    p: float | None
    verdict: str


@dataclass(frozen=True)
class Side:
    """One of the two: what it is called, and what became of it."""

    name: str
    result: Verified


def pair(first: Path, second: Path, number: int | None) -> tuple[Stage, Stage]:
    """The two as stages with names of their own; a number left open is that of the other one."""
    numbers = [number or stages.number_of(directory) for directory in (first, second)]
    numbers = [own or other for own, other in zip(numbers, reversed(numbers))]
    names = [re.sub(r"[^\w.+-]", "_", d.resolve().name, flags=re.ASCII) for d in (first, second)]
    if names[0] == names[1]:
        names = [f"{names[0]}-a", f"{names[1]}-b"]
    one, two = (
        stages.single(directory, name, own)
        for directory, name, own in zip((first, second), names, numbers)
    )
    return one, two


def chosen_n(one: Stage, two: Stage, asked: Iterable[int]) -> tuple[int, ...]:
    """The n to measure: those asked for, else a few that both manifests have."""
    most = min(one.manifest.max_n, two.manifest.max_n)
    wanted = sorted(set(asked))
    if wanted:
        if wanted[-1] > most:
            raise LabError(f"--n {wanted[-1]}: the two go to n = {most} at most")
        return tuple(wanted)
    shared = sorted(set(one.manifest.measure) & set(two.manifest.measure))
    fitting = [n for n in shared if n <= LARGEST_N]
    if not fitting:
        raise LabError("the two share no n that both stages are measured at: say --n NUMBER,...")
    last = len(fitting) - 1
    places = {round(i * last / (HOW_MANY_N - 1)) for i in range(HOW_MANY_N)}
    return tuple(fitting[i] for i in sorted(places))


# Time must differ by so much before it is claimed: a few seconds on a computer that does other
# things besides cannot be trusted with less. The exact ruler can.
NS_MARGIN = 0.03


class _Counting:
    """The exact ruler in the background: its counts do not mind what else runs."""

    def __init__(self, pair_of: tuple[Stage, Stage], seed: int) -> None:
        self.samples: Samples = {}
        self.failed: tuple[int, Verified] | None = None
        self.absent = ""
        self.error: BaseException | None = None
        self._pair = pair_of
        self._seed = seed
        self._thread = threading.Thread(target=self._guarded, daemon=True)
        self._thread.start()

    def _guarded(self) -> None:
        try:
            self._work()
        except LabError as error:
            self.absent = str(error)
        except BaseException as error:  # raised again by join
            self.error = error

    def _work(self) -> None:
        machine = machines.get("qemu")
        kernel = machine.kernel()
        results = [Verified(b) for b in _build_both(self._pair, lambda s: build.build(s, kernel))]
        broken = [r for r in results if not r.built.ok]
        if not broken:
            samples, _ = counter.measure_exact(machine, results, self._seed, lambda *_: None)
            broken = [r for r in results if r.status != "ok"]
            self.samples = samples
        for result in broken:
            if not result.built.ok:
                result.end("build-failed", result.built.cause)
            self.failed = (results.index(result), result)

    def join(self) -> None:
        """Wait for the counts."""
        while self._thread.is_alive():
            self._thread.join(0.2)  # in steps, so that Ctrl-C gets through
        if self.error is not None:
            raise self.error


def _build_both(both: tuple[Stage, Stage], make: Callable[[Stage], Built]) -> list[Built]:
    """Builds; the same directory once, under both names."""
    first = make(both[0])
    if both[0].directory == both[1].directory:
        return [first, replace(first, stage=both[1])]
    return [first, make(both[1])]


def _verified(both: tuple[Stage, Stage], seed: int, progress: Progress) -> list[Verified]:
    """Build and verify for machine uml; stops at the first that is not right."""
    machine = machines.get("uml")
    kernel = machine.kernel()
    results: list[Verified] = []
    progress.step("build")
    for stage, built in zip(both, _build_both(both, lambda s: build.build(s, kernel))):
        for warning in built.warnings:
            progress.say(f"note: {stage.key}: {warning}")
        if results and built.directory == results[0].built.directory:
            results.append(replace(results[0], built=built))
            continue
        progress.step(f"verify {stage.key}")
        results.append(verify.verify(built, machine.verifier(), seed, True, lambda _: None))
        if results[-1].status != "ok":
            break
    return results


def rows(both: tuple[Stage, Stage], ruler: str, samples: Samples, seed: int) -> list[Row]:
    """Verdicts by the resolution of the exact ruler, by statistics for time."""
    places = [
        (phase, n)
        for phase in PHASES
        for n in both[0].manifest.measure
        if all((stage.key, phase, n) in samples for stage in both)
    ]
    values = [tuple(samples[s.key, phase, n].values for s in both) for phase, n in places]
    medians = [(statistics.median(first), statistics.median(second)) for first, second in values]
    if ruler == "instructions":
        found = []
        for (phase, n), (before, after) in zip(places, medians):
            ratio, reach = before / after, 1 + counter.RESOLUTION
            verdict = "~"
            if counter.differ(before, after):
                verdict = "faster" if ratio > 1 else "slower"
            found.append(
                Row(ruler, phase, n, before, after, ratio, ratio / reach, ratio * reach, None,
                    verdict)
            )  # fmt: skip
        return found
    compared = [stats.compare(first, second, seed) for first, second in values]
    corrected = stats.holm([c.p for c in compared])
    return [
        Row(
            ruler,
            phase,
            n,
            before,
            after,
            c.ratio,
            c.low,
            c.high,
            p,
            stats.verdict(c, p, NS_MARGIN),
        )
        for (phase, n), (before, after), c, p in zip(places, medians, compared, corrected)
    ]


def overall(found: Iterable[Row]) -> str:
    """faster or slower when every claim says so, ~ without any, else mixed."""
    claims = {row.verdict for row in found} - {"~"}
    if not claims:
        return "~"
    return claims.pop() if len(claims) == 1 else "mixed"


def _change(row: Row) -> str:
    """What the second costs against the first."""
    if row.ratio >= 2 or row.ratio <= 0.5:
        factor = max(row.ratio, 1 / row.ratio)
        return f"{factor:.2f} times {'less' if row.ratio > 1 else 'more'}"
    percent = 100 * (1 / row.ratio - 1)
    return f"{percent:+.{1 if abs(percent) >= 0.95 else 2}f} %"


def _by_ruler(ruler: str, found: list[Row]) -> str:
    """Each phase by its largest claim."""
    parts = []
    for phase in PHASES:
        claims = [row for row in found if row.phase == phase and row.verdict != "~"]
        if claims:
            most = max(claims, key=lambda row: abs(math.log(row.ratio)))
            parts.append(f"{phase} {_change(most)} at n = {most.n:,}")
        else:
            parts.append(f"{phase} ~")
    return f"{UNITS[ruler]}: " + ("~" if overall(found) == "~" else ", ".join(parts))


def verdict_line(names: tuple[str, str], found: list[Row]) -> str:
    """The verdict in one line, the exact ruler first."""
    rulers = [r for r in ("instructions", "ns") if any(row.ruler == r for row in found)]
    parts = [_by_ruler(r, [row for row in found if row.ruler == r]) for r in rulers]
    return f"{overall(found)}  {names[1]} against {names[0]}; {'; '.join(parts)}"


def details(sides: list[Side], found: list[Row]) -> str:
    """Every figure behind the verdict."""
    lines = []
    for letter, side in zip("AB", sides):
        lines.append(f"{letter}  {side.name}: {side.result.passed:,} tests passed")
    head = ("", "phase", "n", "A", "B", "A/B", "95 % interval", "p", "B is")
    table = [head]
    for row in found:
        table.append(
            (
                UNITS[row.ruler] + (", ns" if row.ruler == "ns" else ""),
                row.phase,
                f"{row.n:,}",
                f"{row.before:,.1f}",
                f"{row.after:,.1f}",
                f"{row.ratio:.4f}",
                f"{row.low:.4f} - {row.high:.4f}",
                "exact" if row.p is None and row.ruler == "instructions" else f"{row.p:.2g}",
                row.verdict,
            )
        )
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    for line in table:
        cells = [c.ljust(w) if i in (0, 1, 8) else c.rjust(w)
                 for i, (c, w) in enumerate(zip(line, widths))]  # fmt: skip
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def plot(found: list[Row], names: tuple[str, str], output: Path) -> None:
    """Draw A/B against n, a panel for each ruler; the file's name says SVG or PNG."""
    from grader.report import figures, plots
    from grader.report.axis import log_axis
    from grader.report.text import short_count

    panels = []
    for ruler in dict.fromkeys(row.ruler for row in found):
        own = [row for row in found if row.ruler == ruler and row.n > 0]
        series = [
            (
                figures.style(4 * i + 1, phase),
                [figures.Point(row.n, row.ratio, row.low, row.high, row.verdict != "~")
                 for row in own if row.phase == phase],
            )
            for i, phase in enumerate(PHASES)
        ]  # fmt: skip
        values = [v for row in own for v in (row.low, row.high, 1.0)]
        x = log_axis([row.n for row in own], short_count, 10)
        y = log_axis(values, lambda v: f"{v:g}", 1.1)
        title = f"{UNITS[ruler]}: A over B, above 1 B takes less"
        panels.append(figures.Panel(title, x, y, series, baseline=1.0))
    notes = [f"A: {names[0]}", f"B: {names[1]}. A hollow mark: nothing can be claimed."]
    figure = figures.Figure("compare", "Two stages compared", "", panels, "", notes)
    plots.require_gnuplot()
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fibdrv-lab-") as name:
        drawn = Path(name) / f"compare{output.suffix}"
        plots._gnuplot(figure, plots.WIDE, output.suffix[1:], drawn, Path(name))
        shutil.copy(drawn, output)


def _numbers(text: str) -> list[int]:
    words = text.replace(",", " ").split()
    if not words or not all(re.fullmatch("[0-9]{1,9}", word) for word in words):
        raise LabError(f"--n {text}: give numbers like 1000 or 100,10000")
    return [int(word) for word in words]


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="grader/compare.sh",
        description="Compare two directories with a stage each, by time and by instructions.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("first", type=Path, metavar="A")
    parser.add_argument("second", type=Path, metavar="B")
    parser.add_argument("--n", default="", metavar="N,...", help="measure at these n")
    parser.add_argument(
        "--number", type=int, metavar="N", help="which stage both are, if not named like 5-mine"
    )
    parser.add_argument("--details", action="store_true", help="every figure behind the verdict")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it: a .svg or .png file")
    parser.add_argument("--no-exact", action="store_true", help="by time only")
    parser.add_argument("--seed", type=int, default=1, help="for all that is random (1)")
    return parser.parse_args(words)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.plot and arguments.plot.suffix not in (".svg", ".png"):
        raise LabError(f"--plot {arguments.plot}: name a .svg or a .png file")
    asked = _numbers(arguments.n) if arguments.n else []
    both = pair(arguments.first, arguments.second, arguments.number)
    n = chosen_n(*both, asked)
    both = (
        replace(both[0], manifest=replace(both[0].manifest, measure=n)),
        replace(both[1], manifest=replace(both[1].manifest, measure=n)),
    )
    names = (paths.shown(both[0].directory), paths.shown(both[1].directory))
    progress = Progress()
    progress.step("set up")
    machines.get("uml").kernel()
    if not arguments.no_exact:
        try:
            machines.get("qemu").kernel()
        except LabError as error:
            progress.say(f"note: by time only, without the exact ruler: {error}")
            arguments.no_exact = True
    counting = None if arguments.no_exact else _Counting(both, arguments.seed)
    results = _verified(both, arguments.seed, progress)
    wrong = [(i, r) for i, r in enumerate(results) if r.status != "ok"]
    found: list[Row] = []
    if not wrong and counting:
        progress.step("count instructions")
        counting.join()
        if counting.absent:
            progress.say(f"note: by time only: {counting.absent}")
        if counting.failed:
            wrong = [counting.failed]
        found += rows(both, "instructions", counting.samples, arguments.seed)
    if not wrong:
        samples = clock.measure(machines.get("uml"), results, ROUNDS, arguments.seed, progress.step)
        wrong = [(i, r) for i, r in enumerate(results) if r.status != "ok"]
        found += rows(both, "ns", samples, arguments.seed)
    progress.clear()
    if wrong:
        for i, result in wrong:
            print(f"{names[i]}: {result.status}: {result.cause}")
        return 1
    print(verdict_line(names, found))
    if arguments.details:
        print(details([Side(*side) for side in zip(names, results)], found))
        for warning in judge.warnings(samples):
            print(f"note: {warning}")
    if arguments.plot:
        plot(found, names, arguments.plot)
        print(f"Picture: {arguments.plot}")
    return 0


def main(words: list[str]) -> int:
    """Compare; returns the exit status."""
    return _run(_arguments(words))


if __name__ == "__main__":
    sys.exit(command.end("compare", lambda: main(sys.argv[1:])))
