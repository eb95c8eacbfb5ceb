# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What the solutions are: the reference's functions that tasks are about, and their lines."""

from __future__ import annotations

from functools import cache

from grader.course import skeleton
from grader.exercise.files import tasks

# Shorter lines say nothing: "return 0;", "int err;", "a = b;".
TELLING = 16


def squeezed(text: str) -> str:
    """The text with one space where there is any."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def telling(text: str) -> set[str]:
    """The lines that say something."""
    return {line for line in squeezed(text).splitlines() if len(line) >= TELLING}


@cache
def reference(stage: int) -> dict[str, str]:
    """The reference's files, by name."""
    solved = frozenset(task.number for task in tasks.course(stage).tasks)
    return skeleton.sources(stage, solved)


@cache
def task_functions(stage: int) -> dict[tuple[str, str], tuple[tasks.Task, tasks.TaskFunction]]:
    """The functions that a stage's tasks are about, by file and name."""
    course = tasks.course(stage)
    return {(p.file, p.function): (task, p) for task in course.tasks for p in task.parts}


def definition(stage: int, file: str, function: str) -> tuple[str, str]:
    """A function of the reference: its head, and its body."""
    source = reference(stage)[file]
    there = skeleton.functions(source).get(function)
    if there is None:
        return "", ""
    return source[there.begin : there.body], source[there.body : there.end]
