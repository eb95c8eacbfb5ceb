# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Choose which sources of a stage a command uses: the learner's copy in work/, or the kit's."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable

from grader.base import command, paths
from grader.base.errors import LabError
from grader.course import skeleton
from grader.exercise.files import stages


def choose(numbers: Iterable[int]) -> list[stages.Stage]:
    """Return the stages with these numbers; print a line on stderr for each learner's copy.

    LAB_REF in the environment (make's ref=1) selects the kit's stages, even if work/ has copies.
    """
    return [_own(number) or stages.kit(number) for number in numbers]


def choose_one(number: str, verb: str) -> stages.Stage:
    """Return the stage that "make stage=N VERB" selects."""
    numbers = stages.parse_numbers(number) if number else []
    if len(numbers) != 1:
        raise LabError(
            "the command needs one stage", f"give it, like {paths.make(f'stage=2 {verb}')}"
        )
    return choose(numbers)[0]


def with_source(stage: stages.Stage) -> stages.Stage:
    """Return the stage. Raise LabError if it does not compute F(n) or has no source."""
    stages.computing(stage)
    if stage.shipped:
        raise LabError(
            f"the kit's stage {stage.number} is here without its source",
            f"run {paths.make(f'stage={stage.number} start')} and use your copy",
        )
    return stage


def _own(number: int) -> stages.Stage | None:
    copy = None if os.environ.get("LAB_REF") else skeleton.learner_directory(number)
    if copy is None:
        return None
    print(f"your copy, {paths.shown(copy)} (ref=1 takes the kit's)", file=sys.stderr)
    return stages.single(copy, copy.name, number)


def main() -> int:
    """Print the directories of the selected stages, one per line, for the Makefile."""
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument(
        "--stage", default="", metavar="N,...", help="default: all stages of the kit"
    )
    options = parser.parse_args()
    found = (
        [with_source(stage) for stage in choose(stages.parse_numbers(options.stage))]
        if options.stage
        else stages.find(stages.home())
    )
    for stage in found:
        print(paths.shown(stage.directory))
    return 0


if __name__ == "__main__":
    sys.exit(command.end("lab", main))
