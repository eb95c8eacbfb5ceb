# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make an exercise's skeleton: its sources with some parts left for the learner to write.

tasks.toml in the exercise's folder lists these parts. A stage needs no marks: a function is found
by its name, and its body lies between a brace in the first column and the next such brace, as
clang-format writes them; lines outside functions, such as the definition of a lock, are removed
wherever they occur. Electives mark these parts in their sources, see grader/base/marked_regions.py.

A student repository (made by scripts/export-course) has no solutions: its exercises are already
skeletons, and carry_forward.py copies the learner's own functions into the next stage.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from grader.base import marked_regions, paths, wrapping
from grader.base.errors import LabError
from grader.course.texts import ENGLISH, Texts
from grader.exercise.files import exercises, stages, tasks

WORK = paths.WORK

# A definition begins in the first column; its parameters may continue on more lines.
_HEAD = r"^[a-z][\w \t*]*\b({name})\([^;{{}}]*\)\n\{{\n"


def reference(name: str | int) -> Path:
    """Return the kit's own folder of an exercise."""
    return exercises.find(name).directory


def learner_directory(name: str | int) -> Path | None:
    """Return the folder of the learner's copy of an exercise in work/, or None."""
    return exercises.copy_in(exercises.find(name), WORK)


@dataclass(frozen=True)
class Span:
    """The offsets of a function in a source: start of its definition, start and end of its body."""

    begin: int
    body: int
    end: int


@lru_cache(maxsize=256)
def functions(source: str) -> Mapping[str, Span]:
    """Return the spans of all functions in a C source in kernel style, by function name."""
    head = re.compile(_HEAD.format(name=r"\w+"), re.MULTILINE)
    return {
        m[1]: Span(m.start(), m.end(), source.index("\n}\n", m.end() - 1) + 1)
        for m in head.finditer(source)
        if "\n}\n" in source[m.end() - 1 :]
    }


def span(source: str, function: str, where: str) -> Span:
    """Return the span of a function. Raise LabError unless it is defined exactly once."""
    head = re.compile(_HEAD.format(name=function), re.MULTILINE)
    found = len(head.findall(source))
    if found != 1:
        raise LabError(
            f"{where}: {function} has {found} definitions, tasks need exactly one", "define it once"
        )
    return functions(source)[function]


def comment_above(source: str, function: Span) -> int:
    """Return the offset of the comment directly above a function, or of the function itself."""
    comment = re.search(r"^/\*(?:(?!\*/).)*\*/\n\Z", source[: function.begin], re.DOTALL | re.M)
    return comment.start() if comment else function.begin


def _comment(text: str, indent: str) -> str:
    width = 80 - 8 * len(indent) - 3
    lines = wrapping.wrapped(text, width)
    if len(lines) == 1 and wrapping.columns(lines[0]) + 6 <= width + 3:
        return f"{indent}/* {lines[0]} */\n"
    return f"{indent}/*\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"


def stubbed(source: str, part: tasks.TaskFunction, note: str, where: str) -> str:
    """Return the source with a part's body replaced by a note and a stub.

    Without a stub, the whole function is removed.
    """
    there = span(source, part.function, where)
    # The comment directly above a function is removed with the function.
    comment = comment_above(source, there)
    if part.stub is None:
        return source[:comment].rstrip("\n") + "\n\n" + source[there.end + 2 :].lstrip("\n")
    stub = "".join(f"\t{line}\n" if line else "\n" for line in part.stub.strip("\n").splitlines())
    head = source[: there.body]
    if part.above and comment < there.begin:
        head = source[:comment] + _comment(part.above, "") + source[there.begin : there.body]
    return head + _comment(note, "\t") + stub + source[there.end :]


def _without(source: str, reference: Path, task: tasks.Task, text: str, where: str) -> str:
    """Return the source without the lines that a task leaves out. text: the task's text."""
    omitted = task.omitted
    assert omitted
    if omitted.above:
        line = f"{omitted.above}\n"
        if source.count(line) != 1:
            raise LabError(
                f"{where} names a line that does not occur exactly once: {omitted.above}",
                "correct tasks.toml",
            )
        note = _comment(f"Task {task.number}, {task.name}: {text}", "")
        source = source.replace(line, f"{note}\n{line}")
    whole = reference.read_text(encoding="utf-8")
    for lines in omitted.lines:
        pattern = re.compile(rf"^[ \t]*{re.escape(lines)}\n", re.MULTILINE)
        if not pattern.search(whole):
            raise LabError(
                f"{where} leaves out lines that are not in {reference.name}: {lines}",
                "correct tasks.toml",
            )
        source = pattern.sub("", source)
    return source


def sources(
    name: str | int, solved: frozenset[int] = frozenset(), texts: Texts = ENGLISH
) -> dict[str, str]:
    """Return the skeleton's files by name. Keep the reference's code of the tasks in solved.

    texts: the language of the comments. A student repository has its skeletons in one language.
    """
    exercise = exercises.find(name)
    files = exercise.texts()
    if stages.exported():
        return files
    left = [task for task in exercise.course.tasks if task.number not in solved]
    for task in left:
        if task.omitted:
            file = task.omitted.file
            where = f"task {task.number} of {exercise.label}"
            text = texts(task.text)
            files[file] = _without(files[file], exercise.sources / file, task, text, where)
    for task in left:
        for part in task.parts:
            if part.file not in files:
                raise LabError(
                    f"task {task.number} of {exercise.label} refers to a missing file: {part.file}",
                    "correct tasks.toml",
                )
            if not part.function:
                continue
            note = f"Task {task.number}, {task.name}: {texts(part.text)}"
            where = paths.shown(exercise.sources / part.file)
            shown = replace(part, above=texts(part.above))
            files[part.file] = stubbed(files[part.file], shown, note, where)
    return {file: marked_regions.skeleton(text, file, solved) for file, text in files.items()}


def write(
    name: str | int,
    folder: Path,
    solved: frozenset[int] = frozenset(),
    files: dict[str, str] | None = None,
) -> Path:
    """Make a complete copy of an exercise in folder, from files or else from the skeleton."""
    files = sources(name, solved) if files is None else files
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / exercises.find(name).copy_name
    half_made = Path(tempfile.mkdtemp(prefix=".", dir=folder))
    try:
        half_made.chmod(0o755)
        for file, text in files.items():
            (half_made / file).write_text(text, encoding="utf-8")
        half_made.rename(target)
    except BaseException:
        shutil.rmtree(half_made, ignore_errors=True)
        raise
    return target


def untouched(name: str | int, directory: Path, files: dict[str, str] | None = None) -> bool:
    """Return whether a learner's copy still equals the skeleton or the files, byte for byte."""
    files = sources(name) if files is None else files
    wanted = {file: text.encode() for file, text in files.items()}
    there = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    return there == wanted


def put_aside(directory: Path) -> Path:
    """Move a learner's copy to work/old/. Return its new path."""
    old = directory.parent / "old"
    old.mkdir(exist_ok=True)
    i = 1
    while (old / f"{directory.name}.{i}").exists():
        i += 1
    return directory.rename(old / f"{directory.name}.{i}")
