# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The course as make shows it: start, check, status, hint, watch."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

from grader.base import command, paths, seed
from grader.base.errors import HostFault, LabError
from grader.base.finding import Code
from grader.course import bring_over, predictions, records, result_files, results, skeleton
from grader.course.check import Result, check, earlier, task_lines
from grader.course.watch import changes
from grader.exercise.files import stages, tasks


def start(number: int) -> None:
    """Make work/N-name/; what is there is put aside, if at all, after a question."""
    there = skeleton.learner_directory(number)
    content, said = bring_over.begin(number)
    if there is not None:
        shown = paths.shown(there)
        if skeleton.untouched(number, there, content):
            print(f"{shown} is there, as new: begin with task 1")
            return
        if not sys.stdin.isatty():
            raise LabError(f"{shown} holds your work: move it away, then start again")
        try:
            answer = input(f"{shown} holds your work. Put it aside and start anew? [y/N] ")
        except EOFError:  # Ctrl-D
            answer = ""
            print()
        if answer.strip().lower() not in ("y", "yes"):
            print("nothing is changed")
            return
        aside = paths.shown(skeleton.put_aside(there))
        print(f"your work is in {aside} now; to have it back: move {shown} away,")
        print(f"then mv {aside} {shown}")
    made = skeleton.write(number, skeleton.WORK, files=content)
    records.forget(number)
    course = tasks.course(number)
    print(f"{paths.shown(made)} is yours. Tasks:")
    for task in course.tasks:
        files = ", ".join(dict.fromkeys(part.file for part in task.parts))
        print(f"  {task.number}  {task.name} ({files}), {task.points} points")
    for line in said:
        print(line)
    print(f"Read {_handout(number)}, then try {paths.make(f'stage={number} check')}")


def _handout(number: int) -> str:
    found = sorted((paths.ROOT / "handouts").glob(f"{number}-*.md"))
    return paths.shown(found[0]) if found else "handouts/README.md"


def _own(number: int) -> Path:
    directory = skeleton.learner_directory(number)
    if directory is None:
        skeleton.reference(number)  # says so where there is no such stage
        begin = paths.make(f"stage={number} start")
        raise LabError(f"there is no copy of yours: {begin} makes one")
    return directory


def _seed(number: int, option: int | None) -> int:
    """The seed that is given; else the one the stage last failed with; else a drawn one."""
    if stages.known()[number].driver:
        return 0  # nothing is drawn
    kept = records.failed_seed(number)
    if seed.given(option) is None and kept is not None:
        chosen, said = kept, f"seed {kept}, with which stage {number} did not pass last time"
    else:
        chosen, said = seed.chosen(option, "seed=")
    if said:
        print(said, file=sys.stderr, flush=True)
    return chosen


def hint(number: int, option: int | None) -> None:
    """The next hint for the first task that is not done."""
    directory = _own(number)
    first = bring_over.first_step(number, directory)
    if first:  # a task may be right and fail for want of it: no hint would help
        print(f"next: {first}")
        return
    found = records.recorded(number)
    if found and found[0].full and found[1]:
        print(results.next_step(found[0]))
        return
    course = tasks.course(number)
    stage = stages.single(directory, directory.name, number)
    chosen = _seed(number, option)
    lines = task_lines(stage, course, chosen)
    undone = next((line for line in lines if not line.full), None)
    if undone is None:
        print("all tasks are done")
        rest = next((x for x in found[0].lines if not x.full), None) if found and found[1] else None
        if found and rest:
            print(_wrapped(f"{rest.name}: {rest.remark}"))
            print(results.next_step(found[0]))
        else:
            print(f"{paths.make(f'stage={number} check')} tells of the rest")
            if course.speed:
                print(f"for speed: {results.where_time_goes(number)}")
        return
    records.settle(number, chosen, False)
    if undone.code == Code.BUILD_FAILED:
        raise LabError(undone.remark)
    if undone.code == Code.CONTRACT:
        # No hint is used up: what is wrong is not the task's idea.
        print(_wrapped(undone.remark))
        print(f"next: {results.keep_contract(number)}")
        return
    task = course.tasks[undone.task - 1]
    i = records.next_hint(number, task.number, len(task.hints) - 1)
    print(_wrapped(f"task {task.number}, {task.name}: {undone.remark}"))
    print(_wrapped(f"hint {i + 1} of {len(task.hints)}: {task.hints[i]}"))


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def status() -> None:
    """The whole course: points by stage, and what is next."""
    upcoming = ""
    wide = max(len(manifest.name) for manifest in stages.known().values())
    began = [number for number in stages.known() if skeleton.learner_directory(number)]
    for number, manifest in sorted(stages.known().items()):
        directory, found = skeleton.learner_directory(number), records.recorded(number)
        if directory is None:
            said = "not begun"
        elif found is None:
            said = "begun, not checked"
        else:
            result, fresh = found
            changed = "" if fresh else ", changed since"
            said = f"{result.earned:3} of 100{changed}"
        print(f" {number:2}  {manifest.name:{wide}} {said}")
        # Who has begun with stage 1 may do without the driver.
        if not (manifest.driver and directory is None and any(other > number for other in began)):
            upcoming = upcoming or results.to_do(number)
    print(f"next: {upcoming}" if upcoming else "all stages are done")


def predict(number: int, options: argparse.Namespace) -> None:
    """Write down how many times as fast as the one before the stage will be."""
    n = options.n or predictions.places(number)[-1]
    given = {phase: getattr(options, phase) for phase in predictions.PHASES}
    if not any(given.values()):
        if not sys.stdin.isatty():
            call = paths.make(f"stage={number} predict compute=20")
            raise LabError(f"say how many times as fast: {call}")
        for phase in predictions.PHASES:
            before = f"{phase}, n = {n:,}: how many times as fast as stage {number - 1}? "
            given[phase] = input(before)
    factors = {name: predictions.factor(words, name) for name, words in given.items() if words}
    print(predictions.keep(number, n, factors))
    print(f"{paths.make(f'stage={number} bench')} shows both")


def watch(number: int, option: int | None) -> None:
    """Check the learner's copy, and again whenever it is saved."""
    directory = _own(number)
    for _ in changes(directory):
        try:
            result = _check_and_record(number, directory, option, "uml")
            print(f"\n{results.table(result)}\n{results.outcome(result)}")
        except (LabError, HostFault) as error:
            print(f"\ncourse: {error}")
        print("watching; Ctrl-C ends it", flush=True)


def _check_and_record(number: int, directory: Path, option: int | None, machine: str) -> Result:
    chosen = _seed(number, option)
    result = check(number, directory, chosen, machine)
    records.record(result, directory)
    records.settle(number, chosen, result.full)
    return result


def _grade(number: int, options: argparse.Namespace) -> int:
    """The points of the learner's copy, in the forms that are asked for."""
    machine = options.machine or "uml"
    result = _check_and_record(number, _own(number), options.seed, machine)
    if options.json:
        result_files.write(options.json, result_files.gradescope(result))
    if options.classroom:
        result_files.write(options.classroom, result_files.classroom(result))
    if options.ktap:
        print(result_files.ktap(result))
    else:
        # Flushed: the earlier stages take a while.
        print(results.table(result), flush=True)
        given = seed.given(options.seed) is not None

        def seed_of(before: int) -> int:
            return (not given and records.failed_seed(before)) or result.seed

        for one, line in () if options.only else earlier(number, seed_of, machine):
            print(line, flush=True)
            if not one.full:
                records.settle(one.stage, one.seed, False)
        print(results.outcome(result))
    return 0 if result.earned == 100 else 1


def main() -> int:
    """The command line the Makefile uses."""
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("verb", choices=["start", "check", "status", "hint", "watch", "predict"])
    parser.add_argument("--stage", default="")
    parser.add_argument("--machine", default="uml")
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
    numbers = stages.parse_numbers(options.stage) if options.stage else []
    if len(numbers) != 1:
        raise LabError(f"which stage? say one, like {paths.make(f'stage=3 {options.verb}')}")
    number = numbers[0]
    if options.verb == "start":
        start(number)
    elif options.verb == "hint":
        hint(number, options.seed)
    elif options.verb == "watch":
        watch(number, options.seed)
    elif options.verb == "predict":
        predict(number, options)
    else:
        return _grade(number, options)
    return 0


if __name__ == "__main__":
    sys.exit(command.end("course", main))
