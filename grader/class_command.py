# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command line of grader/class.sh, which grades a class or one submission."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grader.base import command, parent_death, paths
from grader.base.errors import LabError, in_one_line

if TYPE_CHECKING:
    from grader.exercise.files.exercises import Exercise

EPILOG = """\
The results are in DIR: class.html, class.csv, students/. After Ctrl-C, the same command
continues: it grades only submissions without a result for the same submission, kit and seed.
Exit status: 0 all are graded or refused, 2 some are not, or the grader itself could not run.
"""


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="grader/class.sh",
        description="Grade one stage or one elective of every student in a class. Each submission"
        " has its own sandbox and machines.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "submissions",
        nargs="?",
        type=Path,
        metavar="SUBMISSIONS",
        help="a folder with a directory or archive (zip, tar) for each student, or a list of paths",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--stage", type=int, metavar="N", help="the stage that the students submitted"
    )
    what.add_argument(
        "--elective", metavar="NAME", help="or the elective that the students submitted"
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="S",
        help="seed of the random tests, one for the whole class (default: random, then stored)",
    )
    parser.add_argument(
        "--jobs",
        default="",
        metavar="N",
        help="submissions at the same time on each host (default: one for each core)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="directory for the results (default: build/class-N)"
    )
    parser.add_argument(
        "--hosts",
        type=Path,
        metavar="FILE",
        help="grade by ssh on the hosts in FILE, one per line: [JOBS/][USER@]HOST",
    )
    parser.add_argument(
        "--prepare-hosts",
        action="store_true",
        help="first copy the kit and its cache to the hosts, at the same paths as here",
    )
    parser.add_argument(
        "--similarity",
        action="store_true",
        help="also list similar submissions, for the instructor only",
    )
    parser.add_argument("--alike", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--one",
        type=Path,
        metavar="PATH",
        help="grade only this submission, into DIR or --json, for a job of a cluster",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="with --one: write the result to FILE"
    )
    parser.add_argument("--part-of-a-class", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.alike:
        print("note: --alike has been renamed; use --similarity", file=sys.stderr)
        arguments.similarity = True
    if arguments.one:
        where = bool(arguments.json) + bool(arguments.out)
        if where != 1 or arguments.seed is None or arguments.submissions:
            parser.error("--one: wrong options; give --seed, --out or --json, and no SUBMISSIONS")
    elif not arguments.submissions:
        parser.error("no submissions are given; give a folder of them, or a list of their paths")
    elif arguments.prepare_hosts and not arguments.hosts:
        parser.error("--prepare-hosts needs --hosts; give --hosts FILE")
    return arguments


def _what(arguments: argparse.Namespace) -> Exercise:
    from grader.exercise.files import exercises

    return exercises.for_a_class(arguments.elective or str(arguments.stage))


def _one(arguments: argparse.Namespace) -> int:
    from grader.classroom import grade_one, outcome
    from grader.classroom.submissions import Submission, student_of

    if not os.path.lexists(arguments.one):
        raise LabError(f"{arguments.one} does not exist", "give a directory or an archive")
    if arguments.part_of_a_class:
        parent_death.set_parent_death_signal(signal.SIGTERM)  # so that the sandbox is cleaned up
    # Write the result to the path where a later run over the whole class with the same --out finds
    # it.
    alone = Submission(student_of(arguments.one.name), arguments.one)
    target = arguments.json or arguments.out / "results" / f"{alone.id}.json"
    made = grade_one.grade(arguments.one, _what(arguments), arguments.seed)
    try:
        outcome.write(target, made)
    except OSError as error:
        raise LabError(f"{in_one_line(error)}", "give another path for the result") from error
    if not made.graded:
        raise LabError(f"{made.status}: {made.cause}", "run the command again")
    message = f"{made.status}: {made.cause}" if made.cause else made.status
    print(f"{made.earned} of {made.possible} points; {message}")
    return 0


def main(words: list[str]) -> int:
    """Grade a class or one submission. Return the exit status."""
    arguments = _arguments(words)
    if arguments.one:
        return _one(arguments)
    from grader.classroom import grade_class

    what = _what(arguments)
    return grade_class.grade(
        grade_class.ClassOptions(
            submissions=arguments.submissions,
            exercise=what,
            seed=arguments.seed,
            output_folder=(arguments.out or paths.BUILD / f"class-{what.name}").absolute(),
            jobs=arguments.jobs,
            hosts=arguments.hosts,
            prepare_hosts=arguments.prepare_hosts,
            similarity=arguments.similarity,
        )
    )


if __name__ == "__main__":
    stopped = "no process is left running; run the same command again to continue"
    sys.exit(command.end("class", lambda: main(sys.argv[1:]), stopped))
