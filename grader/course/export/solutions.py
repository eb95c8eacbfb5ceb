# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find the solutions: the reference's functions that are tasks, and their lines."""

from __future__ import annotations

from functools import cache

from grader.course import skeleton
from grader.exercise.files import tasks

# Minimum length of a distinctive line; a shorter line, like "return 0;", occurs in any code.
TELLING = 16


def squeezed(text: str) -> str:
    """Return the text with each run of spaces replaced by one."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def telling(text: str) -> set[str]:
    """Return the distinctive lines of a text: those of at least TELLING characters."""
    return {line for line in squeezed(text).splitlines() if len(line) >= TELLING}


@cache
def reference(stage: int) -> dict[str, str]:
    """Return the reference's files by name."""
    solved = frozenset(task.number for task in tasks.course(stage).tasks)
    return skeleton.sources(stage, solved)


@cache
def task_functions(stage: int) -> dict[tuple[str, str], tuple[tasks.Task, tasks.TaskFunction]]:
    """Return the functions that are tasks of a stage, by file and name."""
    course = tasks.course(stage)
    return {(p.file, p.function): (task, p) for task in course.tasks for p in task.parts}


def definition(stage: int, file: str, function: str) -> tuple[str, str]:
    """Return a reference function's header and body; empty strings if it does not exist."""
    source = reference(stage)[file]
    there = skeleton.functions(source).get(function)
    if there is None:
        return "", ""
    return source[there.begin : there.body], source[there.body : there.end]
