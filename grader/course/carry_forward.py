# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Copy functions that a learner wrote in earlier stages into a new stage's skeleton.

The skeleton of stage 4 needs functions that were tasks of stage 3. In the kit, the skeleton holds
the reference's versions. In a student repository those would be solutions, so the skeleton has
stubs there, too. stages/SKELETONS lists these functions and the stages from which a learner's
version fits unchanged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from grader.base import paths, toml
from grader.base.errors import LabError
from grader.course import skeleton
from grader.exercise.files import stages


@dataclass(frozen=True)
class CarriedFunction:
    """A function that the kit's skeleton contains and that was a task of an earlier stage."""

    file: str
    function: str
    stage: int  # stage in which the function was a task
    task: int
    fits: tuple[int, ...]  # stages with the same function text, the latest first


def table(stage: str | int) -> list[CarriedFunction]:
    """Return the stage's rows of stages/SKELETONS; none in the kit itself or for electives."""
    if not stages.exported():
        return []
    path = paths.STAGES / "SKELETONS"
    try:
        rows = toml.read(path).get("carried", [])
        return [
            CarriedFunction(r["file"], r["function"], r["stage"], r["task"], tuple(r["fits"]))
            for r in rows
            if str(r["into"]) == str(stage)
        ]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise LabError(f"{paths.shown(path)}: {error}; git checkout stages mends it") from error


def _read(directory: Path, name: str) -> str:
    try:
        return (directory / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _text(source: str, function: str) -> str:
    there = skeleton.functions(source).get(function)
    return source[there.begin : there.end + 2] if there else ""


# The comments of stubs that describe a task. They are removed from the body of a finished function.
_TASK = re.compile(
    r"^[ \t]*/\*(?:\s*\*)? (?:Task \d+, |You wrote this in stage \d+ )(?:(?!\*/).)*\*/\n",
    re.DOTALL | re.MULTILINE,
)


def _written(stage: int, one: CarriedFunction) -> str:
    """Return the learner's text of a function in a stage; "" while the function is a stub."""
    own = skeleton.learner_directory(stage)
    if own is None:
        return ""
    text = _text(_read(own, one.file), one.function)
    stub = _text(skeleton.sources(stage)[one.file], one.function)
    return "" if text == stub else _TASK.sub("", text)


def _with_helpers(stage: int, file: str, text: str, target: str) -> str:
    """Return the text after the learner's own functions that it calls and the target lacks."""
    own = skeleton.learner_directory(stage)
    source = _read(own, file) if own else ""
    wanted = {name for name in skeleton.functions(source) if not _text(target, name)}
    helpers: list[str] = []
    found = {name for name in wanted if re.search(rf"\b{name}\(", text)}
    while found:
        name = max(found, key=lambda n: skeleton.functions(source)[n].begin)
        wanted.discard(name)
        there = skeleton.functions(source)[name]
        helper = source[skeleton.comment_above(source, there) : there.end + 2]
        helpers.insert(0, helper)
        found = {n for n in wanted if re.search(rf"\b{n}\(", text + "".join(helpers))}
    return "".join(f"{helper}\n" for helper in helpers) + text


def begin(stage: str | int) -> tuple[dict[str, str], list[str]]:
    """Return the files that a stage starts from, with the learner's functions, and messages.

    Each function is taken from the latest copy in work/ in which it is written and fits. The
    messages list the functions that were copied, and those that were not and why.
    """
    files = skeleton.sources(stage)
    came: dict[str, list[str]] = {}
    absent: dict[int, list[str]] = {}
    left: list[str] = []
    for one in table(stage):
        what = f"{one.function} ({one.file})"
        for source in one.fits:
            text = _written(source, one)
            if not text:
                continue
            old = _text(files[one.file], one.function)
            above, _, below = files[one.file].partition(old)
            text = _with_helpers(source, one.file, text, files[one.file])
            files[one.file] = _placed(above, text, one.function) + below
            came.setdefault(paths.shown(_own(source)), []).append(what)
            break
        else:
            if one.fits:
                absent.setdefault(one.fits[-1], []).append(what)
                continue
            why = f"yours of stage {one.stage} does not fit as it is, see the comment there"
            left.append(f"not brought over: {what}; {why}")
    return files, [
        *(f"brought over from {where}: {', '.join(names)}" for where, names in came.items()),
        *(
            f"not brought over: {', '.join(names)}; yours of stage {source} is not in work/ yet"
            for source, names in absent.items()
        ),
        *left,
        *([_do_first(stage, sorted(absent))] if absent else []),
    ]


def _do_first(stage: str | int, sources: list[int]) -> str:
    numbers = " and ".join(str(source) for source in sources)
    first = f"stage{'s' if len(sources) > 1 else ''} {numbers} first"
    begin = paths.make(f"stage={stage} start")
    return f"do {first}, then {begin} again; or write here what is missing"


def first_step(stage: str | int, directory: Path) -> str:
    """Return what to bring over before other results can be right; "" if nothing is missing."""
    left = missing(stage, directory)
    if not left:
        return ""
    one = left[0]
    source = one.fits[-1] if one.fits else one.stage
    what = f"{one.function} ({one.file})"
    if skeleton.learner_directory(source) is None:
        return f"stage {source}, {paths.make(f'stage={source} start')}: {what} comes from there"
    return f"bring over {what} from your stage {one.stage}"


def missing(stage: str | int, directory: Path) -> list[CarriedFunction]:
    """Return the functions to bring over that are still stubs in a copy of a stage."""
    if not table(stage):
        return []
    stubs = skeleton.sources(stage)
    return [
        one
        for one in table(stage)
        if _text(_read(directory, one.file), one.function) == _text(stubs[one.file], one.function)
    ]


def _own(stage: int) -> Path:
    directory = skeleton.learner_directory(stage)
    assert directory is not None
    return directory


def _placed(above: str, text: str, function: str) -> str:
    """Insert the function, with its helpers above the comment that belongs to the function."""
    there = skeleton.functions(text)[function]
    helpers = text[: there.begin]
    if not helpers:
        return above + text
    at = skeleton.comment_above(above, skeleton.Span(len(above), 0, 0))
    return above[:at] + helpers + above[at:] + text[there.begin :]
