# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Format points and the next step as make check prints them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from grader.base import paths
from grader.base.finding import Code
from grader.course import carry_forward, records, skeleton
from grader.course.check import CheckResult
from grader.exercise.files import exercises, stages, tasks
from grader.exercise.files.exercises import Exercise
from grader.exercise.workload.stage_workload import PHASES
from grader.scoring import points
from grader.scoring.points import Line


def row(line: Line, exercise: Exercise) -> str:
    """Return the printed row of one test: its points, name and remark."""
    wide = max(len(name) for name, _ in exercise.points)
    return textwrap.fill(
        line.remark,
        100,
        initial_indent=f"[{line.earned:3}/{line.possible:3}] {line.name + ':':{wide + 1}} ",
        subsequent_indent=" " * (wide + 12),
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(result: CheckResult) -> str:
    """Return the rows of all tests, in the order of the tasks."""
    return "\n".join(row(line, exercises.find(result.exercise)) for line in result.lines)


def outcome(result: CheckResult) -> str:
    """Return the total points and the next step."""
    exercise = exercises.find(result.exercise)
    total = f"{exercise.label}, {result.directory}: {result.earned} of 100 points"
    return f"{total}\n{_leak(exercise, result)}{next_step(result)}{_brought_over(result)}"


def _brought_over(result: CheckResult) -> str:
    """Return a note about functions that are right in an earlier stage, and different here."""
    if all(line.full for line in result.lines):
        return ""
    changed = carry_forward.changed_since(result.exercise, paths.ROOT / result.directory)
    return "".join(
        f"\nnote: stage {source} is right and has another text of {', '.join(names)};"
        " if the mistake is there, copy it again"
        for source, names in changed.items()
        if records.is_right(str(source))
    )


def _leak(exercise: Exercise, result: CheckResult) -> str:
    """Return advice to run valgrind after a memory leak in the device.

    The tests of tasks name the leaking line themselves.
    """
    first = next((line for line in result.lines if not line.full), None)
    if not first or first.code != Code.LEAK or first.task or not exercise.arithmetic:
        return ""
    return f"{exercise.command('memcheck')} names the lines that allocated the leaked memory\n"


def next_step(result: CheckResult) -> str:
    """Return a line that tells the learner what to do next."""
    exercise = exercises.find(result.exercise)
    for line in result.lines:
        if line.full:
            continue
        if line.kind == points.TASK and line.code == Code.BUILD_FAILED:
            return f"next: make it compile; {exercise.command('hint')}"
        if line.kind == points.TASK and line.code == Code.CONTRACT:
            return f"next: {keep_contract(exercise)}"
        first = carry_forward.first_step(exercise.name, paths.ROOT / result.directory)
        if first:
            return f"next: {first}"
        if line.task:
            task = exercise.course.tasks[line.task - 1]
            return (
                f"next: task {task.number}, {task.name}, at {_place(result, task, line)};"
                f" {exercise.command('hint')}"
            )
        if line.kind == points.SPEED:
            return f"next: make it faster; {where_time_goes(exercise)}"
        if line.repeat:
            reason = "only the device test makes allocations fail and kills the caller"
            others = f"{exercise.command('memcheck')} tries more of both"
            return f"next: {line.repeat} repeats the failure; {reason}; {others}"
        if line.contract_test:
            load = exercise.command("load")
            return f"next: correct the function that is named; {load} does not show this mistake"
        return f"next: correct the device; {exercise.command('load')} loads it for you to try"
    if exercise.stage is None:
        return "done"
    deeper = f"{exercise.command('debug')} finds mistakes that check cannot find"
    if exercise.arithmetic:
        sanitize, memcheck = exercise.command("sanitize"), exercise.command("memcheck")
        deeper = f"{sanitize}, {memcheck}, {deeper.replace(' finds ', ' find ')}"
        deeper += f"\n{exercise.command('bench')} measures its speed"
    return f"{deeper}\ndone; next: {after(exercise.stage.number)}"


def keep_contract(exercise: Exercise) -> str:
    """Return advice for a violation of the contract."""
    where = (
        "common/stage.h explains why"
        if exercise.arithmetic
        else 'the handout explains why, under "What is allowed"'
    )
    return f"remove what is named above, or nothing is tested; {where}"


def where_time_goes(exercise: Exercise) -> str:
    """Return the command that profiles the phase whose speed is graded."""
    speed = exercise.course.speed
    alone = f" phase={speed.phase}" if speed and speed.phase in PHASES else ""
    return f"{exercise.command(f'profile{alone}')} shows where the instructions go"


def after(number: int) -> str:
    """Return the next step after a finished stage, which is the first later stage not yet done."""
    for later in sorted(stages.manifests()):
        todo = to_do(exercises.find(later)) if later > number else ""
        if todo:
            return todo
    return "nothing, all stages are done"


def upcoming(every: Sequence[Exercise]) -> str:
    """Return the next step of the course; "" when every stage is done.

    The order of the search is the last stage that the learner began, the stages after it, and the
    stages before it, because a learner may leave out stages. A learner who began with stage 1 may
    skip the driver.
    """
    begun = [one for one in every if skeleton.learner_directory(one.name)]
    skips_driver = any(one.arithmetic for one in begun)
    needed = [one for one in every if one in begun or one.arithmetic or not skips_driver]
    at = needed.index(begun[-1]) if begun else 0
    return next((todo for one in needed[at:] + needed[:at] if (todo := to_do(one))), "")


def to_do(exercise: Exercise) -> str:
    """Return the command to run next for an exercise; "" when the exercise is done."""
    if skeleton.learner_directory(exercise.name) is None:
        return exercise.command("start")
    return "" if records.is_right(exercise.name) else exercise.command("check")


def task_at(exercise: Exercise, directory: Path, error: str) -> tasks.Task | None:
    """Return the task whose function begins at or before the line of a compiler error."""
    found = re.search(r"([\w.-]+\.[ch]):(\d+):\d+: error", error)
    if not found:
        return None
    try:
        lines = (directory / found[1]).read_text(errors="replace").splitlines()
    except OSError:
        return None
    owners = {
        part.function: task
        for task in exercise.course.tasks
        for part in task.parts
        if part.file == found[1] and part.function
    }
    for line in reversed(lines[: int(found[2])]):
        for function, task in owners.items():
            if _begins(line, function):
                return task
    return None


def _begins(line: str, function: str) -> bool:
    """Return whether a line is the first of a function's definition."""
    return f"{function}(" in line and not line.startswith(("\t", " ", "/"))


def _place(result: CheckResult, task: tasks.Task, wrong: Line) -> str:
    """Return "FILE:LINE" of a task in the learner's file.

    If the task has several functions, return the line of the wrong function, as the test or the
    remark names it, or else of the first function in the file. If the learner has yet to write the
    functions, return the line of the comment that describes the task, or the line where the task
    belongs. An elective has only the comment, which the learner may have removed; then return
    "FILE".
    """
    named = [p for p in task.parts if p.function and re.search(rf"\b{p.function}\b", wrong.remark)]
    named = [p for p in task.parts if p.function and p.function == wrong.function] or named
    part = (named or task.parts)[0]
    path = paths.ROOT / result.directory / part.file
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return paths.shown(path)
    functions = [p.function for p in (*named, *task.parts) if p.function and p.file == part.file]
    functions = [wrong.function] * (wrong.function in task.uses) + functions
    above = task.omitted.above if task.omitted else ""
    tests: list[Callable[[str], bool]] = [
        *(partial(_begins, function=function) for function in functions),
        lambda line: bool(re.search(rf"\bTask {task.number}, |\bTODO: task {task.number}\b", line)),
        lambda line: bool(above) and line == above,
    ]
    found = (i for test in tests for i, line in enumerate(lines, 1) if test(line))
    line = next(found, 0)
    return f"{paths.shown(path)}:{line}" if line else paths.shown(path)
