# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Search every exported file for every line of the solutions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.base import marked_regions, paths
from grader.base.errors import LabError
from grader.course import skeleton
from grader.course.export.skeletons import carried
from grader.course.export.solutions import definition, reference, squeezed, task_functions, telling
from grader.exercise.files import exercises, stages


@cache
def solution_lines() -> dict[str, str]:
    """Return the distinctive lines of all solutions, each with its task.

    Lines of a task's stub are left out, and so are lines that the learner may read in the same
    stage or an earlier one.
    """
    lines: dict[str, str] = {}
    given: set[str] = set()
    for stage in sorted(stages.manifests()):
        mine = {(one.file, one.function) for one in carried(stage)}
        for file, source in reference(stage).items():
            rest = source
            for function in skeleton.functions(source):
                if (file, function) in task_functions(stage) or (file, function) in mine:
                    rest = rest.replace(definition(stage, file, function)[1], "")
            given |= telling(rest)
        for (file, function), (task, part) in task_functions(stage).items():
            source = reference(stage)[file]
            there = skeleton.functions(source)[function]
            text = source[there.body : there.end]
            # A line is also readable if it is part of a longer line that the learner may read.
            readable = "\n".join(given)
            for line in telling(text) - given - telling(part.stub or ""):
                if line not in readable:
                    lines.setdefault(line, f"stage {stage}, task {task.number}, {function}")
    return lines | marked_lines()


def marked_lines() -> dict[str, str]:
    """Return lines that only solutions of drivers and electives have, each with its task.

    An example of a task's name is "elective kbench, task 2". Lines that also occur in the skeletons
    or in the kit's other files are not included.
    """
    folders = (paths.COMMON, paths.ROOT / "electives", paths.ROOT / "grader/exercise/driver")
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in _c_files(folder)]
    given = {line for text in texts for line in telling(marked_regions.skeleton(text, "a file"))}
    lines: dict[str, str] = {}
    for exercise in map(exercises.find, exercises.names()):
        if exercise.arithmetic:
            continue
        bare = skeleton.sources(exercise.name)
        given |= telling("\n".join(bare.values()))
        every = frozenset(task.number for task in exercise.course.tasks)
        solved = skeleton.sources(exercise.name, every)
        for number in sorted(every):
            alone = skeleton.sources(exercise.name, frozenset({number}))
            others = skeleton.sources(exercise.name, every - {number})
            owner = f"{exercise.label}, task {number}"
            for name, text in solved.items():
                own = telling(text) - telling(others[name]) | telling(alone[name])
                lines |= dict.fromkeys(own - telling(bare[name]), owner)
    return {line: owner for line, owner in lines.items() if line not in given}


def _c_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.suffix in exercises.SOURCES]


@dataclass(frozen=True)
class Leak:
    """A solution line that the export would reveal."""

    file: str
    line: int
    text: str
    owner: str


def leaks(folder: Path) -> Iterator[Leak]:
    """Yield every solution line that occurs in a file below folder, except in .git."""
    wanted = solution_lines()
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or ".git" in path.relative_to(folder).parts:
            continue
        text = squeezed(path.read_text(encoding="utf-8", errors="replace"))
        for line in wanted:
            at = text.find(line)
            if at >= 0:
                name = str(path.relative_to(folder))
                yield Leak(name, text.count("\n", 0, at) + 1, line, wanted[line])


def refuse_leaks(folder: Path) -> None:
    """Raise LabError if a file below folder contains a solution line."""
    for leak in leaks(folder):
        raise LabError(
            f"{leak.file}:{leak.line} would reveal a line of the solution ({leak.owner}):"
            f" {leak.text}",
            "add the file to grader/course/export/exclusions.py",
        )
