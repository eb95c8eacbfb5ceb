# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make kbench PROG=A AGAINST=B: compare two programs by each metric, and explain disagreements."""

from __future__ import annotations

import textwrap
from pathlib import Path

from electives.kbench import metrics, report, show
from electives.kbench.kernel import ProgramTask
from electives.kbench.metrics import Metric
from electives.kbench.report import KbenchRequest
from grader.base import paths
from grader.base.columns import aligned
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.measure import comparison
from grader.measure.comparison import Compared
from grader.measure.samples import Series

# Smallest relevant difference of times, as in grader/compare.sh: on a computer that also does other
# work, smaller differences are not reliable after a few seconds of measurement.
NS_MARGIN = 0.03
SEED = 1


def compare(path: Path, against: Path, request: KbenchRequest) -> int:
    """Compare two programs, which must print the same output. The verdict is on the first one."""
    chosen = report.chosen_metrics(request)
    progress = Progress()
    second, before = report.ready(against, request, progress)
    first, ran = report.ready(path, request, progress)
    if difference := metrics.differs(ran, before):
        raise LabError(
            f"{first.name} does not do what {second.name} does, so nothing is compared:"
            f" {difference.replace('that of the process', f'that of {second.name}')}",
            "give programs with the same result",
        )
    pair = [(second, before), (first, ran)]
    tasks = [ProgramTask.after(program, request.program_input, own) for program, own in pair]
    measured = metrics.measure(tasks, [before, ran], chosen, request.rounds, progress.step)
    progress.clear()
    found = {
        metric: comparison.compare(
            metric.unit, [(Series(values[0]), Series(values[1]))], SEED, NS_MARGIN
        )[0]
        for metric, values in measured.values.items()
    }
    print(f"{first.name} against {second.name}: the same output, exit {ran.status}")
    print()
    print(table(found))
    for line in [*why(found), *(f"note: {note}" for note in measured.notes)]:
        print("\n".join(textwrap.wrap(line, 100)))
    if found:
        picture = paths.BUILD / "kbench" / "against.svg"
        show.picture(
            list(found),
            [(one.ratio, one.low, one.high, one.verdict != "~") for one in found.values()],
            f"{second.name} over {first.name}: above 1 the latter costs less",
            [
                f"A: {first.name}, against B: {second.name}.",
                "Bars: 95 % intervals. A hollow mark: no difference is proved.",
            ],
            picture,
        )
        print(f"\nPicture: {paths.shown(picture)}")
    return 0


def change(one: Compared) -> str:
    """Return the change of the program's cost over the other program's, in percent."""
    return f"{100 * (one.after / one.before - 1):+.3f} %"


def table(found: dict[Metric, Compared]) -> str:
    """Return a table with a row for each metric. The verdict is on the first program."""
    rows = [["metric", "against", "program", "change", "95 % interval", "p", "program is"]]
    for metric, one in found.items():
        rows.append(
            [
                metric.name,
                show.amount(metric, one.before),
                show.amount(metric, one.after),
                change(one),
                f"{100 * (1 / one.high - 1):+.2f} to {100 * (1 / one.low - 1):+.2f} %",
                "exact" if one.p is None else f"{one.p:.2g}",
                one.verdict,
            ]
        )
    return aligned(rows, left_aligned=(0, 6))


def why(found: dict[Metric, Compared]) -> list[str]:
    """Return possible reasons for disagreements between metrics."""
    counts = {one.verdict for metric, one in found.items() if metric.exact}
    clocks = {one.verdict for metric, one in found.items() if not metric.exact}
    claims = clocks - {"~"}
    lines = []
    if len(counts) > 1:
        lines.append(
            "The counters disagree: callgrind counts the C library's instructions, qemu those of"
            " the kernel's and of our own functions in its place (printf, malloc, memcpy)."
        )
    if not clocks or not counts:
        return lines
    if claims and counts - {"~"} and not claims & counts:
        lines.append(
            "Instructions and time disagree: fewer instructions do not always take less time. One"
            " division or one cache miss costs as much as dozens of additions."
        )
    elif not claims and counts - {"~"}:
        lines.append(
            "The counters see a difference and no clock does. Either it is smaller than what the"
            " clocks can see here (3 % and the noise), or these instructions cost no time: a"
            " processor does several at once, and waits for the slowest chain."
        )
    elif claims and counts == {"~"}:
        lines.append(
            "The clocks see a difference and no counter does: as many instructions, but slower"
            " ones, or data in another order (divisions, caches, mispredicted jumps)."
        )
    if len(clocks) > 1:
        lines.append(
            "The clocks disagree: only the quieter ones see a difference that is as small as the"
            " noise. With RUNS=50 all of them see more."
        )
    return lines
