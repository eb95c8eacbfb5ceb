# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Commands of all exercises: start, check, status, hint, watch, predict, convert."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from pathlib import Path

from grader.base import command, paths, seed
from grader.base.errors import HostFault, LabError
from grader.base.finding import Code
from grader.course import (
    carry_forward,
    earlier,
    predictions,
    records,
    result_files,
    results,
    skeleton,
    upgrade,
)
from grader.course.check import CheckResult, check, task_lines
from grader.course.watch import changes
from grader.exercise.files import exercises
from grader.exercise.files.exercises import Exercise
from grader.exercise.files.tasks import Task
from grader.scoring.points import Line


def start(exercise: Exercise) -> None:
    """Make the copy in work/. Put an existing copy aside only if the learner agrees."""
    there = skeleton.learner_directory(exercise.name)
    content, message = carry_forward.begin(exercise.name)
    if there is not None:
        shown = paths.shown(there)
        if skeleton.untouched(exercise.name, there, content):
            print(f"{shown} is there, as new: begin with task 1")
            return
        if not sys.stdin.isatty():
            raise LabError(f"{shown} holds your work: move it away, then start again")
        try:
            answer = input(f"{shown} holds your work. Put it aside and start again? [y/N] ")
        except EOFError:  # Ctrl-D
            answer = ""
            print()
        if answer.strip().lower() not in ("y", "yes"):
            print("nothing is changed")
            return
        aside = paths.shown(skeleton.put_aside(there))
        print(f"your work is in {aside} now; to have it back: move {shown} away,")
        print(f"then mv {aside} {shown}")
    made = skeleton.write(exercise.name, skeleton.WORK, files=content)
    records.forget(exercise.name)
    print(f"{paths.shown(made)} is yours. Tasks:")
    for task in exercise.course.tasks:
        files = ", ".join(dict.fromkeys(part.file for part in task.parts))
        print(f"  {task.number}  {task.name} ({files}), {task.points} points")
    for line in message:
        print(line)
    handout = exercise.handout if exercise.handout.is_file() else paths.ROOT / "handouts/README.md"
    print(f"Read {paths.shown(handout)}, then try {exercise.command('check')}")


def _own(exercise: Exercise) -> Path:
    directory = skeleton.learner_directory(exercise.name)
    if directory is None:
        begin = exercise.command("start")
        raise LabError(f"there is no copy of yours: {begin} makes one")
    return directory


def _seed(exercise: Exercise, option: int | None) -> int:
    """Return the requested seed, else the seed of the stage's last failure, else a random one."""
    if not exercise.arithmetic:
        return 0  # the tests of such exercises use no random numbers
    kept = records.failed_seed(exercise.name)
    if seed.requested(option) is None and kept is not None:
        chosen, message = kept, f"seed {kept}, with which {exercise.label} did not pass last time"
    else:
        chosen, message = seed.chosen(option, "seed=")
    if message:
        print(message, file=sys.stderr, flush=True)
    return chosen


def hint(exercise: Exercise, option: int | None) -> None:
    """Print the next hint for the first task that is not done."""
    directory = _own(exercise)
    first = carry_forward.first_step(exercise.name, directory)
    if first:  # a correct task may fail without these functions; a hint would not help
        print(f"next: {first}")
        return
    found = records.recorded(exercise.name)
    if found and found[0].full and found[1]:
        print(results.next_step(found[0]))
        return
    chosen = _seed(exercise, option)
    lines = task_lines(exercise, directory, chosen)
    undone = next((line for line in lines if not line.full), None)
    if undone is None:
        print("all tasks are done")
        rest = next((x for x in found[0].lines if not x.full), None) if found and found[1] else None
        if found and rest:
            print(_wrapped(f"{rest.name}: {rest.remark}"))
            print(results.next_step(found[0]))
        else:
            print(f"{exercise.command('check')} tells of the rest")
            if exercise.course.speed:
                print(f"for speed: {results.where_time_goes(exercise)}")
        return
    records.settle(exercise.name, chosen, False)
    if undone.code == Code.BUILD_FAILED:
        at = results.task_at(exercise, directory, undone.remark)
        if at is None:
            raise LabError(undone.remark)
        _next_hint(exercise, at, undone.remark)
        return
    if undone.code == Code.CONTRACT:
        # Use up no hint, because the problem is a contract violation and not the task's idea.
        print(_wrapped(undone.remark))
        print(f"next: {results.keep_contract(exercise)}")
        return
    _next_hint(exercise, exercise.course.tasks[undone.task - 1], undone.remark)


def _next_hint(exercise: Exercise, task: Task, remark: str) -> None:
    """Print what is wrong with a task, and its next hint."""
    i = records.next_hint(exercise.name, task.number, len(task.hints) - 1)
    print(_wrapped(f"task {task.number}, {task.name}: {remark}"))
    print(_wrapped(f"hint {i + 1} of {len(task.hints)}: {task.hints[i]}"))


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def status() -> None:
    """Print the points of every exercise of the course, and the next step."""
    upcoming = ""
    every = [exercises.find(name) for name in exercises.names()]
    began = [one for one in every if skeleton.learner_directory(one.name)]
    wide = max(len(_title(one)) for one in every)
    for exercise in every:
        directory = skeleton.learner_directory(exercise.name)
        found = records.recorded(exercise.name)
        if directory is None:
            message = "not begun"
        elif found is None:
            message = "begun, not checked"
        else:
            result, fresh = found
            changed = "" if fresh else ", changed since"
            message = f"{result.earned:3} of 100{changed}"
        if directory and exercises.pending(exercise, directory):
            message += f"; made for an older kit: {exercise.command('convert')}"
        print(f" {_title(exercise):{wide}} {message}")
        # A learner who began with stage 1 may skip the driver. Electives are optional.
        skipped = not exercise.arithmetic and directory is None and any(x.arithmetic for x in began)
        if exercise.stage and not skipped:
            upcoming = upcoming or results.to_do(exercise)
    print(f"next: {upcoming}" if upcoming else "all stages are done")


def _title(exercise: Exercise) -> str:
    if exercise.stage is None:
        return f"    {exercise.name} (elective)"
    return f"{exercise.stage.number:2}  {exercise.stage.name}"


def _tell_changes(exercise: Exercise, directory: Path) -> None:
    """Print what has changed in an exercise since the learner's copy was made."""
    pending = exercises.pending(exercise, directory)
    if not pending:
        return
    print(f"{paths.shown(directory)} was made for an older kit; since then:", file=sys.stderr)
    for change in pending:
        print(f"  {change.what}", file=sys.stderr)
    print(f"{exercise.command('convert')} brings it up to date", file=sys.stderr, flush=True)


def convert(exercise: Exercise) -> None:
    """Bring a copy from an older kit up to date. Keep the old copy in work/old/."""
    directory = _own(exercise)
    pending = exercises.pending(exercise, directory)
    if not pending:
        print(f"{paths.shown(directory)} is up to date")
        return
    files = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    renames = {old: new for change in pending for old, new in change.rename.items()}
    kept = skeleton.put_aside(directory)
    made = skeleton.write(exercise.name, skeleton.WORK, files={})
    for name, content in files.items():
        if name != exercises.OLD_MANIFEST:
            (made / name).write_bytes(upgrade.renamed(content, renames))
    (made / exercises.MANIFEST).write_bytes((exercise.directory / exercises.MANIFEST).read_bytes())
    for change in pending:
        print(f"done: {change.what}")
    print(f"the old copy is in {paths.shown(kept)}")
    print(f"next: {exercise.command('check')}")


def predict(exercise: Exercise, options: argparse.Namespace) -> None:
    """Record the learner's prediction of a stage's speedup over the stage before it."""
    if exercise.stage is None or not exercise.arithmetic:
        raise LabError(f"{exercise.label} is not measured, so there is nothing to predict")
    number = exercise.stage.number
    n = options.n or predictions.benchmark_sizes(number)[-1]
    given = {phase: getattr(options, phase) for phase in predictions.PHASES}
    if not any(given.values()):
        if not sys.stdin.isatty():
            call = exercise.command("predict compute=20")
            raise LabError(f"say how many times as fast: {call}")
        for phase in predictions.PHASES:
            before = f"{phase}, n = {n:,}: how many times as fast as stage {number - 1}? "
            given[phase] = input(before)
    factors = {name: predictions.factor(words, name) for name, words in given.items() if words}
    print(predictions.keep(number, n, factors))
    print(f"{exercise.command('bench')} shows both")


def watch(exercise: Exercise, option: int | None) -> None:
    """Check the learner's copy now, and again whenever a file is saved."""
    directory = _own(exercise)
    for _ in changes(directory):
        print(flush=True)
        try:
            result = _check_and_record(exercise, directory, option, "", show=True)
            print(results.outcome(result))
        except (LabError, HostFault) as error:
            print(f"course: {error}")
        print("watching; Ctrl-C ends it", flush=True)


def _check_and_record(
    exercise: Exercise, directory: Path, option: int | None, machine: str, show: bool
) -> CheckResult:
    _tell_changes(exercise, directory)
    chosen = _seed(exercise, option)
    # Take the digest first, because files that are saved during the check are not checked.
    state = earlier.digest(exercise, directory, machine) if exercise.arithmetic else ""
    result = _checked(exercise, directory, chosen, machine, show)
    records.record(result, directory)
    records.settle(exercise.name, chosen, result.full)
    records.note_right(exercise.name, state if earlier.is_right(result) else "")
    return result


def _checked(
    exercise: Exercise, directory: Path, chosen: int, machine: str, show: bool
) -> CheckResult:
    """Check a copy, and print each line of points as soon as it is known."""
    shown: list[Line] = []

    def show_line(line: Line) -> None:
        print(results.row(line, exercise), flush=True)
        shown.append(line)

    result = check(exercise, directory, chosen, machine, show=show_line if show else None)
    for line in result.lines if show and not shown else ():
        print(results.row(line, exercise), flush=True)
    return result


def _grade(exercise: Exercise, options: argparse.Namespace) -> int:
    """Print the points of the learner's copy, and write them in the requested formats."""
    own = None if os.environ.get("LAB_REF") else skeleton.learner_directory(exercise.name)
    show = not options.ktap
    if own is None:
        chosen = _seed(exercise, options.seed)
        result = _checked(exercise, exercise.sources, chosen, options.machine, show)
    else:
        result = _check_and_record(exercise, own, options.seed, options.machine, show)
    if options.json:
        result_files.write(options.json, result_files.gradescope(result))
    if options.classroom:
        result_files.write(options.classroom, result_files.classroom(result))
    if options.ktap:
        print(result_files.ktap(result))
    else:
        # Flush now, because checking the earlier stages may take a while.
        print(results.outcome(result), flush=True)
        given = seed.requested(options.seed) is not None

        def seed_of(before: str) -> int:
            return (not given and records.failed_seed(before)) or result.seed

        if not options.only:
            again = earlier.check_again(exercise, seed_of, options.machine, reuse=not given)
            for one, line in again:
                print(line, flush=True)
                if one and not one.full:
                    records.settle(one.exercise, one.seed, False)
    return 0 if result.earned == 100 else 1


VERBS = ("start", "check", "status", "hint", "watch", "predict", "convert")


def main() -> int:
    """Run the command that the Makefile passes."""
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("verb")
    parser.add_argument("--exercise", default="", help="a stage's number or an elective's name")
    parser.add_argument("--machine", default="")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--n", type=int, help="where a prediction is for")
    for phase in predictions.PHASES:
        parser.add_argument(f"--{phase}", default="", help="how many times as fast it will be")
    parser.add_argument("--json", type=Path, help="also write Gradescope's results.json there")
    parser.add_argument("--classroom", type=Path, help="also write GitHub Classroom's there")
    parser.add_argument("--only", action="store_true", help="do not check earlier stages again")
    parser.add_argument("--ktap", action="store_true", help="print KTAP instead of points")
    options = parser.parse_args()
    if options.verb == "status":
        status()
        return 0
    if not re.fullmatch(r"[\w-]+", options.exercise):
        raise LabError(
            f"which stage or elective? say one, like {paths.make(f'stage=3 {options.verb}')}"
        )
    exercise = exercises.find(options.exercise)
    if options.verb not in VERBS:
        known = f"{', '.join(VERBS)}; its handout names others"
        raise LabError(f"{exercise.label} has no {options.verb}: it has {known}")
    if options.verb == "start":
        start(exercise)
    elif options.verb == "hint":
        hint(exercise, options.seed)
    elif options.verb == "watch":
        watch(exercise, options.seed)
    elif options.verb == "predict":
        predict(exercise, options)
    elif options.verb == "convert":
        convert(exercise)
    else:
        return _grade(exercise, options)
    return 0


if __name__ == "__main__":
    sys.exit(command.end("course", main))
