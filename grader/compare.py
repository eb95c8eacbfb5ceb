# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command line of grader/compare.sh, which compares two directories of a stage.

It reports in one line whether the stage in the second directory is faster, by time and by
instructions.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from grader.base import command, paths, seed
from grader.base.background import Background
from grader.base.errors import HostFault, LabError
from grader.base.finding import Finding
from grader.base.progress import Progress
from grader.exercise.build import stage_module
from grader.exercise.conformance.verify import Verified
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.exercise.workload.stage_workload import StageWorkload, contents
from grader.lab import machines
from grader.measure import instructions, timing
from grader.measure.guest_session import Measurements
from grader.scoring import pipeline, status
from grader.scoring.stage_comparison import (
    ComparedStage,
    ComparisonRow,
    details,
    lines_by_n,
    plot,
    rows,
    undecided,
    verdict_line,
)
from grader.scoring.status import ReportedFinding

# Take more samples than the grader, which is possible because only a few n are measured.
EFFORT = timing.SamplingPlan(20, second=12)
# The number of n to measure without --n, taken from both manifests. At the largest n a call takes
# up to 10 ms.
LARGEST_N = 10_000
HOW_MANY_N = 3

EPILOG = """\
The verdict is about the second directory: faster, slower, ~ (no difference is proved) or mixed.
Exit status: 0 compared, 1 one of the two stages is not right, 2 the comparison
was not possible.
"""


def pair(first: Path, second: Path, number: int | None) -> tuple[Stage, Stage]:
    """Return both directories as stages with different names.

    If only one directory has a stage number, the other stage gets the same number.
    """
    numbers = [number or stages.number_of(directory) for directory in (first, second)]
    numbers = [own or other for own, other in zip(numbers, reversed(numbers))]
    names = [re.sub(r"[^\w.+-]", "_", d.resolve().name, flags=re.ASCII) for d in (first, second)]
    if names[0] == names[1]:
        names = [f"{names[0]}-a", f"{names[1]}-b"]
    one, two = (
        stages.computing(stages.single(directory, name, own))
        for directory, name, own in zip((first, second), names, numbers)
    )
    return one, two


def chosen_n(one: Stage, two: Stage, requested_n: Iterable[int]) -> tuple[int, ...]:
    """Return the n to measure: the requested ones, else up to HOW_MANY_N that both manifests have.

    Raise LabError if a stage cannot compute a requested n, or if the manifests share no n.
    """
    most = min(one.manifest.max_n, two.manifest.max_n)
    wanted = sorted(set(requested_n))
    if wanted:
        if wanted[-1] > most:
            raise LabError(
                f"--n {wanted[-1]}: the two stages support n up to {most}", "give a smaller n"
            )
        return tuple(wanted)
    shared = sorted(set(one.manifest.measure) & set(two.manifest.measure))
    fitting = [n for n in shared if n <= LARGEST_N]
    if not fitting:
        raise LabError("the manifests of the two stages share no n", "give --n NUMBER,...")
    last = len(fitting) - 1
    places = {round(i * last / (HOW_MANY_N - 1)) for i in range(HOW_MANY_N)}
    return tuple(fitting[i] for i in sorted(places))


def _count(both: tuple[Stage, Stage]) -> Measurements:
    """Count the instructions of both stages. Other load on the computer has no effect on counts."""
    machine = machines.counting()
    made = {stage.key: pipeline.build_subject(stage, machine) for stage in both}
    broken = {
        key: one.within("machine qemu") for key, one in made.items() if isinstance(one, Finding)
    }
    if broken:
        return Measurements({}, broken)
    subjects = [one for one in made.values() if isinstance(one, StageWorkload)]
    return instructions.count(machine, subjects, contents, lambda *_: None, len(subjects))


def _verified(both: tuple[Stage, Stage], seed: int, progress: Progress) -> list[Verified]:
    """Build and verify both stages on machine uml. Stop after the first that has a finding."""
    machine = machines.get("uml")
    results: list[Verified] = []
    for stage in both:
        if results and stage.directory == results[0].built.stage.directory:
            built = replace(results[0].built, stage=stage)
            results.append(replace(results[0], built=built))
            continue
        tell = progress.substeps(stage.key)
        tell("build")
        built = stage_module.build(stage, machine.kernel())
        for note in built.excluded:
            progress.say(f"note: {stage.key}: {note}")
        tell("verify")
        results.append(pipeline.verify_built(built, machine, seed, lambda _: None, quick=True))
        if not results[-1].ok:
            break
    return results


def _numbers(text: str) -> list[int]:
    words = text.replace(",", " ").split()
    if not words or not all(re.fullmatch("[0-9]{1,9}", word) for word in words):
        raise LabError(f"--n {text}: not a list of numbers", "give numbers like 1000 or 100,10000")
    return [int(word) for word in words]


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="grader/compare.sh",
        description="Compare the stages in two directories, by time and by instructions.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("first", type=Path, metavar="A")
    parser.add_argument("second", type=Path, metavar="B")
    parser.add_argument("--n", default="", metavar="N,...", help="measure at these n")
    parser.add_argument(
        "--number",
        type=int,
        metavar="N",
        help="stage number of A and B (default: from their names, like 5-mine)",
    )
    parser.add_argument(
        "--details", action="store_true", help="print all values that were compared"
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the comparison into a .svg or .png file"
    )
    parser.add_argument("--no-exact", action="store_true", help="compare by time only")
    parser.add_argument(
        "--seed", type=int, help="seed of the random tests (default: LAB_SEED, else random)"
    )
    return parser.parse_args(words)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.plot and arguments.plot.suffix not in (".svg", ".png"):
        raise LabError(
            f"--plot {arguments.plot}: neither .svg nor .png", "give a .svg or a .png file"
        )
    asked = _numbers(arguments.n) if arguments.n else []
    both = pair(arguments.first, arguments.second, arguments.number)
    n = chosen_n(*both, asked)
    both = (
        replace(both[0], manifest=replace(both[0].manifest, measure=n)),
        replace(both[1], manifest=replace(both[1].manifest, measure=n)),
    )
    names = (paths.shown(both[0].directory), paths.shown(both[1].directory))
    progress = Progress()
    arguments.seed, message = seed.chosen(arguments.seed, "--seed ")
    if message:
        progress.say(message)
    progress.step("set up")
    machines.get("uml").kernel()
    if not arguments.no_exact:
        try:
            machines.counting()
        except LabError as error:
            progress.say(f"note: by time only, without the exact metric: {error}")
            arguments.no_exact = True
    counting = None
    if not arguments.no_exact:
        counting = Background(lambda: _count(both))
    results = _verified(both, arguments.seed, progress)
    found: list[ComparisonRow] = []
    metrics: dict[str, Measurements] = {}
    if all(result.ok for result in results) and counting:
        progress.step("count instructions")
        try:
            metrics["instructions"] = counting.result()
        except (LabError, HostFault) as error:
            progress.say(f"note: by time only: {error}")
    if not _wrong(results, metrics):
        progress.step("measure")
        subjects = [StageWorkload(result.built) for result in results]
        metrics["ns"] = timing.measure(
            machines.get("uml"),
            subjects,
            contents,
            arguments.seed,
            progress.step,
            EFFORT,
            equal_repetitions=True,
            undecided=lambda samples: undecided(both, samples, arguments.seed, EFFORT.growth),
        )
    progress.clear()
    for i, stands in (wrong := _wrong(results, metrics)).items():
        print(f"{names[i]}: {stands.name}: {stands.cause}")
    if wrong:
        return 1
    for metric, measured in metrics.items():
        found += rows(both, metric, measured.samples, arguments.seed)
    print(verdict_line(names, found))
    if len(asked) > 1:
        print(lines_by_n(found))
    if arguments.details:
        print(details([ComparedStage(*side) for side in zip(names, results)], found))
        for warning in timing.disturbances(metrics["ns"].samples):
            print(f"note: {warning}")
    if arguments.plot:
        plot(found, names, arguments.plot)
        print(f"Picture: {arguments.plot}")
    return 0


def _wrong(results: list[Verified], metrics: dict[str, Measurements]) -> dict[int, status.Status]:
    """Return the status of each stage that is not correct, by the index of the stage, 0 or 1."""
    found = {}
    for i, result in enumerate(results):
        mine = [ReportedFinding("verify", finding) for finding in result.findings]
        for measured in metrics.values():
            finding = measured.findings.get(result.built.stage.key)
            mine += [ReportedFinding("verify", finding)] if finding else []
        if mine:
            found[i] = status.decide(mine)
    return found


def main(words: list[str]) -> int:
    """Compare two stages. Return the exit status."""
    return _run(_arguments(words))


if __name__ == "__main__":
    sys.exit(command.end("compare", lambda: main(sys.argv[1:])))
