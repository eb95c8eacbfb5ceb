# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Copy functions that a learner wrote in earlier stages into a new stage's skeleton.

The skeleton of stage 4 needs functions that were tasks of stage 3. In the kit, the skeleton holds
the reference's versions. In a student repository the reference's versions would be solutions, so
the skeleton has stubs instead. stages/SKELETONS lists these functions and the stages from which the
reference's version fits unchanged.

A learner's version may use other definitions than the reference's. It is copied together with the
definitions that it needs, and only if the next stage then compiles.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader import sandbox
from grader.base import paths, scratch, toml
from grader.base.errors import LabError
from grader.course import definitions, skeleton
from grader.course.definitions import Definition
from grader.course.texts import ENGLISH, Texts, beginnings
from grader.exercise.build import diagnostics, preprocess
from grader.exercise.files import stages
from grader.lab import module


@dataclass(frozen=True)
class CarriedFunction:
    """A function that the kit's skeleton contains and that was a task of an earlier stage."""

    file: str
    function: str
    stage: int  # the stage in which the function was a task
    task: int
    fits: tuple[int, ...]  # the stages with the same function text, the latest first


def table(stage: str | int) -> list[CarriedFunction]:
    """Return the stage's rows of stages/SKELETONS; the kit itself and electives have no rows."""
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
        raise LabError(f"{paths.shown(path)}: {error}", "run git checkout stages") from error


def _read(directory: Path, name: str) -> str:
    try:
        return (directory / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _text(source: str, function: str) -> str:
    there = skeleton.functions(source).get(function)
    return source[there.begin : there.end + 2] if there else ""


@cache
def _task_comment() -> re.Pattern[str]:
    """Return a pattern for the task comment of a stub; a finished function has no such comment."""
    wrote = "|".join(map(re.escape, beginnings()))
    return re.compile(
        rf"^[ \t]*/\*(?:\s*\*)? (?:Task \d+, |(?:{wrote})\d+)(?:(?!\*/).)*\*/\n",
        re.DOTALL | re.MULTILINE,
    )


def _code(source: str, function: str) -> str:
    """Return a function without its task comment; the comment may be in any language."""
    return _task_comment().sub("", _text(source, function))


def _written(stage: int, one: CarriedFunction) -> str:
    """Return the learner's text of a function in a stage; "" while the function is a stub."""
    own = skeleton.learner_directory(stage)
    if own is None:
        return ""
    text = _code(_read(own, one.file), one.function)
    stub = _code(skeleton.sources(stage)[one.file], one.function)
    return "" if text == stub else text


@dataclass(frozen=True)
class _Written:
    """A function that the learner has written, and the stage from which to copy the function."""

    function: CarriedFunction
    stage: int
    text: str

    @property
    def name(self) -> str:
        """Return the function and its file, for messages."""
        return f"{self.function.function} ({self.function.file})"


def _needed(one: _Written, files: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the learner's definitions that a function needs and that the files lack, by file.

    The definitions are functions, macros, types, variables and declarations from the function's own
    file and from headers, and non-static functions and variables from other files. The types,
    macros and variables of the kit's earlier skeleton are not copied. A function that needs one of
    these was written for another representation of numbers.
    """
    own = skeleton.learner_directory(one.stage)
    sources = {file: _read(own, file) for file in files if own and file.endswith((".c", ".h"))}
    found = {file: definitions.definitions(text) for file, text in sources.items()}
    there = {file: _defined(text) for file, text in files.items() if file in sources}
    in_headers = {name for file in there if file.endswith(".h") for name in there[file]}
    given = {name for text in skeleton.sources(one.stage).values() for name in _no_functions(text)}
    chosen: set[tuple[str, Definition]] = set()
    asked = {(one.function.file, name) for name in definitions.names_in(one.text)}
    done: set[tuple[str, str]] = set()
    while asked:
        user, name = asked.pop()
        done.add((user, name))
        if name in there[user] or name in in_headers or name in given:
            continue
        visible = {
            (file, definition)
            for file, those in found.items()
            for definition in those
            if name in definition.names
            and (file == user or file.endswith(".h") or not definition.static)
        }
        chosen |= visible
        for file, definition in visible:
            text = sources[file][definition.begin : definition.end]
            asked |= {(file, other) for other in definitions.names_in(text)} - done
    ordered = sorted(chosen, key=lambda pair: (pair[0], pair[1].begin))
    needed: dict[str, list[str]] = {}
    for file, definition in ordered:
        text = sources[file][definition.begin : definition.end]
        needed.setdefault(file, []).append(text.rstrip("\n") + "\n")
    return needed


def _defined(source: str) -> set[str]:
    return {name for one in definitions.definitions(source) for name in one.names}


def _no_functions(source: str) -> set[str]:
    """Return the names of the types, macros and variables that a source defines."""
    return _defined(source) - set(skeleton.functions(source))


def _with_function(files: Mapping[str, str], one: _Written) -> dict[str, str]:
    """Return the files with a function of the learner and the definitions that it needs."""
    needed = _needed(one, files)
    made = dict(files)
    file, function = one.function.file, one.function.function
    above, _, below = made[file].partition(_text(made[file], function))
    text = "".join(f"{helper}\n" for helper in needed.pop(file, [])) + one.text
    made[file] = _placed(above, text, function) + below
    for other, texts in needed.items():
        added = "\n".join(texts)
        end = re.search(r"\n#endif[^\n]*\n*\Z", made[other]) if other.endswith(".h") else None
        at = end.start() + 1 if end else len(made[other])
        before = made[other][:at].rstrip("\n")
        made[other] = f"{before}\n\n{added}" + (f"\n{made[other][at:]}" if end else "")
    return made


def _compiler_error(stage: str | int, files: Mapping[str, str], changed: str = "") -> str:
    """Return the compiler's first error in a stage's files, or "".

    changed is the only file to compile, unless it is a header; "" for all.
    """
    folder = scratch.folder()
    try:
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        checked = stages.single(folder, folder.name, int(stage))
        names = [changed] if changed.endswith(".c") else [x for x in files if x.endswith(".c")]
        for name in names:
            words = (os.environ.get("CC", "gcc"), "-fsyntax-only", "-fno-diagnostics-show-caret")
            ended = sandbox.run(
                [*words, *preprocess.options(checked, name), str(folder / name)],
                module.LIMITS,
                None,
                environment=module.environment(),
                together=True,
            )
            if ended.ended_by or ended.status:
                line = diagnostics.error_line(ended.text)
                return re.sub(r"^\S+?:(?:\d+:)+ (?:fatal )?error: ", "", line)
    finally:
        scratch.remove(folder)
    return ""


def _fitting(
    stage: str | int, begun: dict[str, str], written: Sequence[_Written]
) -> tuple[dict[str, str], dict[_Written, str]]:
    """Return a stage's files with the functions that compile there, and the errors of the rest.

    begun: the files without these functions.

    A function may compile in one stage only. For example, it may use a type that the next stage
    does not have.
    """
    files = begun
    for one in written:
        files = _with_function(files, one)
    if not written or not _compiler_error(stage, files):
        return files, {}
    files, errors = begun, {}
    for one in written:
        made = _with_function(files, one)
        changed = [file for file in made if made[file] != files[file]]
        error = _compiler_error(stage, made, changed[0] if len(changed) == 1 else "")
        if error:
            errors[one] = error
        else:
            files = made
    return files, errors


def _latest(one: CarriedFunction) -> _Written | None:
    """Return the function from the latest copy in work/ in which it is written and fits."""
    found = ((source, _written(source, one)) for source in one.fits)
    return next((_Written(one, source, text) for source, text in found if text), None)


def sources(stage: str | int) -> list[int]:
    """Return the earlier stages whose functions begin() copies."""
    return sorted({latest.stage for one in table(stage) if (latest := _latest(one))})


def changed_since(stage: str | int, directory: Path) -> dict[int, list[str]]:
    """Return the functions of a copy that an earlier stage has with another text, by that stage.

    Leave out those that are still stubs, which first_step() names.
    """
    found: dict[int, list[str]] = {}
    stubs = missing(stage, directory)
    for one in table(stage):
        latest = _latest(one)
        here = _code(_read(directory, one.file), one.function)
        if latest and one not in stubs and here != latest.text:
            found.setdefault(latest.stage, []).append(latest.name)
    return found


def begin(stage: str | int, texts: Texts = ENGLISH) -> tuple[dict[str, str], list[str]]:
    """Return the initial files of a stage, with the learner's earlier functions, and messages.

    Each function is taken from the latest copy in work/ in which it is written and fits. The
    messages list the functions that were copied, and the functions that were not copied, with the
    reasons.
    """
    written: list[_Written] = []
    absent: dict[int, list[str]] = {}
    left: list[str] = []
    for one in table(stage):
        latest = _latest(one)
        what = f"{one.function} ({one.file})"
        if latest:
            written.append(latest)
        elif one.fits:
            absent.setdefault(one.fits[-1], []).append(what)
        else:
            why = f"yours of stage {one.stage} does not fit as it is, see the comment there"
            left.append(f"not brought over: {what}; {why}")
    files, errors = _fitting(stage, skeleton.sources(stage, texts=texts), written)
    came: dict[str, list[str]] = {}
    for own in written:
        if own in errors:
            left.append(
                f"not brought over: {own.name}; yours of stage {own.stage} does not compile in"
                f" stage {stage} ({errors[own]}); copy it into the stub and correct that"
            )
        else:
            came.setdefault(paths.shown(_own(own.stage)), []).append(own.name)
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
    """Return the step that provides the first missing function; "" if none is missing."""
    left = missing(stage, directory)
    if not left:
        return ""
    one = left[0]
    source = one.fits[-1] if one.fits else one.stage
    what = f"{one.function} ({one.file})"
    if skeleton.learner_directory(source) is None:
        begin = paths.make(f"stage={source} start")
        return f"do stage {source} first ({begin}), which has {what}; or write it here"
    if not one.fits:
        return f"write {what}: that of your stage {one.stage} does not fit, see the comment there"
    own = next((number for number in one.fits if _written(number, one)), None)
    if own is None:
        return f"write {what}: your stage {source} does not have it; see the comment there"
    return f"copy {what} from your stage {own}"


def missing(stage: str | int, directory: Path) -> list[CarriedFunction]:
    """Return the functions that must come from earlier stages but are still stubs in a copy."""
    if not table(stage):
        return []
    stubs = skeleton.sources(stage)
    return [
        one
        for one in table(stage)
        if _code(_read(directory, one.file), one.function) == _code(stubs[one.file], one.function)
    ]


def _own(stage: int) -> Path:
    directory = skeleton.learner_directory(stage)
    assert directory is not None
    return directory


def _placed(above: str, text: str, function: str) -> str:
    """Join a function and the text above it. Put helper functions above the function's comment."""
    there = skeleton.functions(text)[function]
    helpers = text[: there.begin]
    if not helpers:
        return above + text
    at = skeleton.comment_above(above, skeleton.Span(len(above), 0, 0))
    return above[:at] + helpers + above[at:] + text[there.begin :]
