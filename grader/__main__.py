# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command line of grader/run.sh. Modules that need third-party packages are imported late."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from grader.base import command, paths, seed
from grader.base.errors import LabError, in_one_line
from grader.base.progress import Progress

EPILOG = """\
Exit status: 0 all stages are right, 1 a stage failed, 2 the grader itself could not run.
The report is in build/report/: index.html, report.json and the pictures.
"""


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="grader/run.sh",
        description="Build the stages, load each into a real kernel, verify, measure, report.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--stage", metavar="N,...", help="grade only these stages, like 1,2 or 3-5")
    parser.add_argument(
        "--machine",
        metavar="NAME,...",
        help="machines to load the stages on: uml measures time, qemu counts instructions, host is"
        " this computer, uml-debug runs the tests of make debug; the first one verifies the stages"
        " (default: uml,qemu; qemu for a --tree outside the checkout)",
    )
    parser.add_argument(
        "--tree",
        type=Path,
        metavar="DIR",
        help="grade the stages in another directory: their C files, with the kit's manifests,"
        " build files and expected results",
    )
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="for a trusted --tree outside the checkout: compile it and run its functions with"
        " your own permissions",
    )
    parser.add_argument(
        "--own",
        action="store_true",
        help="with --stage: grade your copies in work/ of those stages that you have copied",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="directory for the report")
    parser.add_argument(
        "--seed",
        type=int,
        help="seed of the random tests and of the n for speed (default: LAB_SEED, else random)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="take fewer measurements; judge by the same rules"
    )
    parser.add_argument(
        "--stats",
        choices=("median", "all"),
        default="median",
        help="all: also print means, trimmed means, minima, maxima and outliers of all samples",
    )
    parser.add_argument(
        "--user-time",
        action="store_true",
        help="also measure the time of read() by the clock of a user process",
    )
    parser.add_argument("--no-measure", action="store_true", help="verify only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write report.json to FILE")
    return parser.parse_args(words)


def _machines(arguments: argparse.Namespace, tree: Path) -> list[str]:
    chosen = arguments.machine or os.environ.get("LAB_MACHINE")
    if chosen:
        return str(chosen).split(",")
    if not paths.inside(tree, paths.ROOT):
        return ["qemu"]  # Machine qemu isolates untrusted code from this computer.
    return ["uml"] if arguments.no_measure else ["uml", "qemu"]


def _have_folder(path: Path) -> None:
    """Create the parent directory of path. Raise LabError if path cannot be written.

    The caller does this first, so that a wrong path is reported before minutes of work.
    """
    folder = path.absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(
            f"{path} cannot be written: {in_one_line(error)}", "give another path"
        ) from None
    if not os.access(folder, os.W_OK) or path.is_dir() and not os.access(path, os.W_OK):
        raise LabError(f"{path} cannot be written: no permission for {folder}", "give another path")


def main(words: list[str]) -> int:
    """Run the grader. Return the exit status."""
    arguments = _arguments(words)
    from grader import report, run, sandbox
    from grader.course import learner_copy, predictions
    from grader.exercise.files import stages
    from grader.report import stats_table, terminal

    numbers = stages.parse_numbers(arguments.stage) if arguments.stage else []
    if arguments.own and (arguments.tree or not numbers):
        raise LabError("--own needs --stage and excludes --tree", "give --stage, and no --tree")
    # Without --own, stages.home() uses the kit's version of a stage if the learner has no copy.
    # LAB_REF=1 selects the kit's version in any case.
    by_number = arguments.own or (os.environ.get("LAB_REF") and numbers and not arguments.tree)
    tree = arguments.tree or (paths.STAGES if by_number else stages.home(numbers))
    chosen = learner_copy.choose(numbers) if by_number else stages.find(tree, numbers)
    if arguments.own and not arguments.no_measure and not stages.arithmetic(chosen):
        stages.computing(chosen[0])  # This raises LabError if there is nothing to measure.
    out = arguments.out or paths.BUILD / "report"
    report.prepare(out)
    for path in (out, arguments.json):
        if path:
            _have_folder(path)
    if not paths.inside(tree, paths.ROOT) and not arguments.no_sandbox:
        sandbox.require()
        chosen = [replace(stage, isolated=True) for stage in chosen]
    progress = Progress()
    chosen_seed, message = seed.chosen(arguments.seed, "--seed ")
    if message:
        progress.say(message)
    result = run.grade(
        run.RunOptions(
            stages=chosen,
            machines=_machines(arguments, tree),
            needed=bool(arguments.machine or os.environ.get("LAB_MACHINE")),
            seed=chosen_seed,
            quick=arguments.quick,
            measure=not arguments.no_measure,
            user_time=arguments.user_time,
            command=shlex.join(["grader/run.sh", *words]),
        ),
        progress,
    )
    progress.step("draw the report")
    report.write(result, out)
    if arguments.json:
        shutil.copy(out / "report.json", arguments.json)
    progress.clear()
    print(terminal.summary(result))
    if arguments.own and (message := predictions.comparison_with_prediction(result)):
        print(message)
    if arguments.stats == "all":
        print(stats_table.stats_table(result))
    print(f"Report: {paths.shown(out / 'index.html')}")
    return 0 if all(stage["status"] == "ok" for stage in result["stages"]) else 1


if __name__ == "__main__":
    stopped = "no process is left running, and the previous report is unchanged"
    sys.exit(command.end("grader", lambda: main(sys.argv[1:]), stopped))
