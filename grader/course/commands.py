# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Commands of all exercises: start, check, status, hint, watch, predict, convert."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from grader.base import command, paths, seed, wrapping
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
    texts,
    upgrade,
)
from grader.course.check import CheckResult, check, task_lines
from grader.course.watch import changes
from grader.exercise.files import exercises
from grader.exercise.files.exercises import Exercise
from grader.exercise.files.tasks import Task
from grader.scoring.points import Line


def start(exercise: Exercise, language: str = "") -> None:
    """Make the copy in work/. Put an existing copy aside only if the learner agrees."""
    there = skeleton.learner_directory(exercise.name)
    chosen = texts.chosen(skeleton.WORK, language)
    content, message = carry_forward.begin(exercise.name, chosen)
    if there is not None:
        shown = paths.shown(there)
        if skeleton.untouched(exercise.name, there, content):
            print(f"{shown} exists and is unchanged; begin with task 1")
            return
        # Replace an unchanged copy without asking. It may differ from the new skeleton, because the
        # language or the functions of earlier stages may have changed since the last start.
        if not records.is_new(exercise.name, there) and not _agrees(shown):
            print("nothing is changed")
            return
        aside = paths.shown(skeleton.put_aside(there))
        print(f"your work is now in {aside}; to restore it, move {shown} away,")
        print(f"then run mv {aside} {shown}")
    made = skeleton.write(exercise.name, skeleton.WORK, files=content)
    records.begin(exercise.name, made)
    print(f"{paths.shown(made)} is yours. Tasks:")
    for task in exercise.course.tasks:
        files = ", ".join(dict.fromkeys(part.file for part in task.parts))
        print(f"  {task.number}  {task.name} ({files}), {task.points} points")
    for line in message:
        print(line)
    for source in carry_forward.sources(exercise.name):
        if not records.is_right(str(source)):
            print(
                f"stage {source} is not known to be right, and what came from it may be wrong:"
                f" run {exercises.find(source).command('check')} first, correct it, then run"
                f" {exercise.command('start')} again"
            )
    handout = exercise.handout if exercise.handout.is_file() else paths.ROOT / "handouts/README.md"
    print(f"Read {paths.shown(handout)}, then try {exercise.command('check')}")


def _agrees(shown: str) -> bool:
    """Ask the learner whether to put the copy aside. Return whether the learner agrees."""
    if not sys.stdin.isatty():
        raise LabError(f"{shown} holds your work", "move it away, then start again")
    try:
        answer = input(f"{shown} holds your work. Put it aside and start again? [y/N] ")
    except EOFError:  # Ctrl-D
        answer = ""
        print()
    return answer.strip().lower() in ("y", "yes")


def _own(exercise: Exercise) -> Path:
    directory = skeleton.learner_directory(exercise.name)
    if directory is None:
        begin = exercise.command("start")
        raise LabError("you have no copy of this exercise", f"run {begin}")
    return directory


def _seed(exercise: Exercise, option: int | None) -> int:
    """Return the requested seed, else that of the exercise's last failure, else a random seed."""
    kept = records.failed_seed(exercise.name)
    if seed.requested(option) is None and kept is not None:
        chosen, message = kept, f"seed {kept}, with which {exercise.label} did not pass last time"
    else:
        chosen, message = seed.chosen(option, "seed=")
    if message:
        print(message, file=sys.stderr, flush=True)
    return chosen


def hint(exercise: Exercise, option: int | None, number: str = "", language: str = "") -> None:
    """Print the next hint for the first task that is not done, or for the task with this number."""
    directory = _own(exercise)
    texts.chosen(skeleton.WORK, language)
    if number:
        chosen_task = next((x for x in exercise.course.tasks if str(x.number) == number), None)
        if chosen_task is None:
            count = len(exercise.course.tasks)
            raise LabError(f"there is no task {number}", f"choose one of 1 to {count}")
        _next_hint(exercise, chosen_task)
        return
    found = records.recorded(exercise.name)
    if found and found[0].full and found[1]:
        print(results.next_step(found[0]))
        return
    chosen = _seed(exercise, option)
    lines = task_lines(exercise, directory, chosen)
    undone = next((line for line in lines if not line.full), None)
    first = carry_forward.first_step(exercise.name, directory)
    # A message that names a line is about a mistake there, not about a function that is missing.
    named = undone and (
        undone.code in (Code.BUILD_FAILED, Code.CONTRACT) or re.search(r"\.[ch]:\d+", undone.remark)
    )
    if first and not named:
        _point_to(exercise, first, undone)
        return
    if undone is None:
        print("all tasks are done")
        rest = next((x for x in found[0].lines if not x.full), None) if found and found[1] else None
        if found and rest:
            print(_wrapped(f"{rest.name}: {rest.remark}"))
            print(results.next_step(found[0]))
        else:
            print(f"{exercise.command('check')} shows the other results")
            if exercise.course.speed:
                print(f"for speed: {results.where_time_goes(exercise)}")
        return
    records.settle(exercise.name, chosen, False)
    if undone.code == Code.BUILD_FAILED:
        at = results.task_at(exercise, directory, undone.remark)
        if at is None:
            raise LabError(undone.remark, "correct the source")
        _next_hint(exercise, at, undone.remark)
        return
    if undone.code == Code.CONTRACT:
        # Show no hint, because the code violates the contract; the learner may already know the
        # idea of the task.
        print(_wrapped(undone.remark))
        print(f"next: {results.keep_contract(exercise)}")
        return
    task = exercise.course.tasks[undone.task - 1]
    _next_hint(exercise, task, undone.remark, undone.function)


def _point_to(exercise: Exercise, first: str, undone: Line | None) -> None:
    """Print the step to copy a missing function, and the first task that fails without it.

    Use up no hint, because the task may be correct.
    """
    if undone:
        task = exercise.course.tasks[undone.task - 1]
        print(_wrapped(f"task {task.number}, {task.name}: {undone.remark}"))
        command = exercise.command(f"hint task={task.number}")
        print(_wrapped(f"it may fail only because of what is missing; {command} gives its hint"))
    print(_wrapped(f"next: {first}"))


def _next_hint(exercise: Exercise, task: Task, remark: str = "", function: str = "") -> None:
    """Print the failure of a task, and its next hint.

    Hints do not depend on the failure, except that the hint for the wrong function comes first.
    """
    hints = task.hints_for(function)
    counted = function if len(hints) > len(task.hints) else ""
    i = records.next_hint(exercise.name, task.number, len(hints) - 1, counted)
    failure = f": {remark}" if remark else ""
    print(_wrapped(f"task {task.number}, {task.name}{failure}"))
    known = texts.chosen(skeleton.WORK)
    about_failure = counted and i == 0
    line = known(texts.HINT_AFTER_FAILURE if remark and not about_failure else texts.HINT)
    print(_wrapped(line.format(number=i + 1, count=len(hints), hint=known(hints[i]))))


def _wrapped(text: str) -> str:
    return "\n".join(wrapping.wrapped(text, texts.WIDTH, break_long_words=False))


def status() -> None:
    """Print the points of every exercise of the course, and the next step."""
    every = [exercises.find(name) for name in exercises.names()]
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
    upcoming = results.upcoming([one for one in every if one.stage])
    print(f"next: {upcoming}" if upcoming else "all stages are done")


def _title(exercise: Exercise) -> str:
    if exercise.stage is None:
        return f"    {exercise.name} (elective)"
    return f"{exercise.stage.number:2}  {exercise.stage.name}"


def _tell_changes(exercise: Exercise, directory: Path) -> None:
    """Print the changes of an exercise since the learner's copy was made."""
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
        raise LabError(
            f"{exercise.label} is not measured, so there is nothing to predict",
            "choose a stage from 2 on",
        )
    number = exercise.stage.number
    n = options.n or predictions.benchmark_sizes(number)[-1]
    given = {phase: getattr(options, phase) for phase in predictions.PHASES}
    if not any(given.values()):
        if not sys.stdin.isatty():
            call = exercise.command("predict compute=20")
            raise LabError("no prediction is given", f"give it, like {call}")
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
    if earlier.is_right(result):
        records.note_outcome(exercise.name, chosen, state, "")
    return result


def _checked(
    exercise: Exercise, directory: Path, chosen: int, machine: str, show: bool
) -> CheckResult:
    """Check a copy, and print each line of points as soon as it is known."""
    shown: list[Line] = []

    def show_line(line: Line) -> None:
        print(results.row(line, exercise))
        shown.append(line)

    result = check(exercise, directory, chosen, machine, show=show_line if show else None)
    for line in result.lines if show and not shown else ():
        print(results.row(line, exercise))
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
        print(results.outcome(result))
        given = seed.requested(options.seed) is not None

        def seed_of(before: str) -> int:
            return (not given and records.failed_seed(before)) or result.seed

        if not options.only:
            for line in earlier.check_again(exercise, seed_of, options.machine, reuse=not given):
                print(line)
    return 0 if result.earned == 100 else 1


VERBS = ("start", "check", "status", "hint", "watch", "predict", "convert")


def main() -> int:
    """Run the command that the Makefile passes."""
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("verb")
    parser.add_argument("--exercise", default="", help="a stage's number or an elective's name")
    parser.add_argument("--machine", default="")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--task", default="", help="the task that a hint is for")
    parser.add_argument("--lang", default="", help="the language of tasks and hints from now on")
    parser.add_argument("--n", type=int, help="the n that a prediction is for")
    for phase in predictions.PHASES:
        parser.add_argument(f"--{phase}", default="", help="the predicted speedup of this phase")
    parser.add_argument(
        "--json", type=Path, help="also write results.json for Gradescope to this path"
    )
    parser.add_argument(
        "--classroom", type=Path, help="also write the result for GitHub Classroom to this path"
    )
    parser.add_argument("--only", action="store_true", help="do not check earlier stages again")
    parser.add_argument("--ktap", action="store_true", help="print KTAP instead of points")
    options = parser.parse_args()
    if options.verb == "status":
        status()
        return 0
    if not re.fullmatch(r"[\w-]+", options.exercise):
        raise LabError(
            "no stage or elective is given",
            f"give one, like {paths.make(f'stage=3 {options.verb}')}",
        )
    exercise = exercises.find(options.exercise)
    if options.verb not in VERBS:
        raise LabError(
            f"{exercise.label} has no command {options.verb}",
            f"choose one of {', '.join(VERBS)}, or a command in its handout",
        )
    if options.verb == "start":
        start(exercise, options.lang)
    elif options.verb == "hint":
        hint(exercise, options.seed, options.task, options.lang)
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
