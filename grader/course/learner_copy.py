# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Whose stage is meant: the learner's copy in work/ where there is one, else the kit's."""

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
    """The stages of these numbers, and a line on stderr for each copy taken.

    LAB_REF in the environment (make's ref=1) means the kit's own, whatever there is in work/.
    """
    return [_own(number) or stages.kit(number) for number in numbers]


def choose_one(number: str, verb: str) -> stages.Stage:
    """The stage that make stage=N VERB means."""
    numbers = stages.parse_numbers(number) if number else []
    if len(numbers) != 1:
        raise LabError(f"which stage? say one, like {paths.make(f'stage=2 {verb}')}")
    return choose(numbers)[0]


def with_source(stage: stages.Stage) -> stages.Stage:
    """The stage, one of arithmetic, and not the object that stands for the reference's sources."""
    stages.computing(stage)
    if stage.shipped:
        raise LabError(
            f"the kit's stage {stage.number} is here without its source:"
            f" {paths.make(f'stage={stage.number} start')}, then take your copy"
        )
    return stage


def _own(number: int) -> stages.Stage | None:
    copy = None if os.environ.get("LAB_REF") else skeleton.learner_directory(number)
    if copy is None:
        return None
    print(f"your copy, {paths.shown(copy)} (ref=1 takes the kit's)", file=sys.stderr)
    return stages.single(copy, copy.name, number)


def main() -> int:
    """Print the directories of the stages that are meant, one a line, for the Makefile."""
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("--stage", default="", metavar="N,...", help="these; else the kit's, all")
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
