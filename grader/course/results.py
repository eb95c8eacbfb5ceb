# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Points as make check prints them, and what to do next."""

from __future__ import annotations

import textwrap

from grader.base import paths
from grader.course import bring_over
from grader.course.check import Result
from grader.stage import function_program, stages, tasks


def table(result: Result) -> str:
    """Each test with its points, as check prints them."""
    wide = max(len(line.name) for line in result.lines)
    return "\n".join(
        textwrap.fill(
            line.remark,
            100,
            initial_indent=f"[{line.earned:3}/{line.possible:3}] {line.name + ':':{wide + 1}} ",
            subsequent_indent=" " * (wide + 12),
            break_long_words=False,
        )
        for line in result.lines
    )


def outcome(result: Result) -> str:
    """The points in all, and what to do now."""
    total = f"stage {result.stage}, {result.directory}: {result.earned} of 100 points"
    return f"{total}\n{next_step(result)}"


def next_step(result: Result) -> str:
    """One line that says what to do now."""
    for line in result.lines:
        if line.full:
            continue
        if line.remark.startswith(function_program.NO_PROGRAM):
            return "next: make it compile"
        if line.remark.startswith(function_program.BREACH):
            return "next: keep the contract, common/stage.h: what it forbids is not tried"
        missing = bring_over.missing(result.stage, paths.ROOT / result.directory)
        if missing:
            one = missing[0]
            return f"next: bring over {one.function} ({one.file}) from your stage {one.stage}"
        if line.task:
            task = tasks.course(result.stage).tasks[line.task - 1]
            return (
                f"next: task {task.number}, {task.name}, at {_place(result, task)};"
                f" make stage={result.stage} hint"
            )
        if line.name == "speed":
            return "next: faster; the handout says where the time goes"
        return f"next: mend what the device does; make stage={result.stage} load tries it"
    last = max(stages.manifests())
    after = (
        f"make stage={result.stage + 1} start" if result.stage < last else "nothing: all is done"
    )
    return f"done; next: {after}"


def _place(result: Result, task: tasks.Task) -> str:
    """Where a task is in the learner's file: the line to open."""
    part = task.parts[0]
    path = paths.ROOT / result.directory / part.file
    try:
        for i, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if f"{part.function}(" in line and not line.startswith(("\t", " ", "/")):
                return f"{paths.shown(path)}:{i}"
    except OSError:
        pass
    return paths.shown(path)
