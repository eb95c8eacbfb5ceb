# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Translate the texts of tasks: the comments in skeletons and the hints.

handouts/LANGUAGE/tasks.po holds the translations. A course that was exported in another language
has only handouts/tasks.po. A learner chooses the language once, by lang=LANGUAGE of start or hint;
the file "language" in the folder of the learner's copies stores the choice.

Only the prose is translated. The beginning of a task's comment, such as "Task 1, compute: ", is the
same in all languages, because carry_forward.py and results.py search for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import polib

from grader.base import paths
from grader.base.errors import LabError
from grader.exercise.files import exercises
from grader.exercise.files.tasks import Course

HANDOUTS = paths.ROOT / "handouts"
CATALOGUE = "tasks.po"
CHOICE = "language"
NATIVE = "en"
# The width of a printed hint in columns.
WIDTH = 100

# The comment in a stub of a function that a student wrote in an earlier stage, see
# export/skeletons.py.
WROTE = "You wrote this in stage {stage} (task {task}, {name}): {how}"
BRING = "bring it over."
BRING_FROM = "you made it fit in stage {stage}; bring it over from there."
MAKE_FIT = (
    "bring it over and make it fit: mind the comment above, the arguments, and what it may call."
)

# The line with a hint. The second form follows the message of a failed test.
HINT = "hint {number} of {count}: {hint}"
HINT_AFTER_FAILURE = "hint {number} of {count} (about the task, not about this failure): {hint}"


@dataclass(frozen=True)
class Texts:
    """The texts in one language, by their English text."""

    language: str
    table: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        """Return the text in this language, or in English while it has no current translation."""
        return self.table.get(text, text)


ENGLISH = Texts(NATIVE)


def read(path: Path) -> Texts:
    """Read a catalogue."""
    try:
        found = polib.pofile(str(path))
    except (OSError, ValueError) as error:
        raise LabError(f"{paths.shown(path)}: {error}", "correct the file") from error
    table = {entry.msgid: entry.msgstr for entry in found.translated_entries()}
    return Texts(found.metadata.get("Language", NATIVE).replace("_", "-"), table)


def available() -> dict[str, Texts]:
    """Return the texts by language; those of the course's own language come first."""
    own = HANDOUTS / CATALOGUE
    found = [read(own)] if own.is_file() else []
    found += [ENGLISH, *map(read, sorted(HANDOUTS.glob(f"*/{CATALOGUE}")))]
    return {texts.language: texts for texts in found}


def chosen(work: Path, language: str = "") -> Texts:
    """Return the texts in a language. Without a language, use the one chosen before for work/."""
    known = available()
    if language and language not in known:
        raise LabError(f"there is no language {language}", f"choose one of {', '.join(known)}")
    kept = work / CHOICE
    if language:
        work.mkdir(parents=True, exist_ok=True)
        kept.write_text(f"{language}\n")
    try:
        language = language or kept.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        pass
    return known.get(language) or next(iter(known.values()))


@cache
def beginnings() -> tuple[str, ...]:
    """Return the text before the number of the stage in WROTE, in all languages."""
    return tuple(texts(WROTE).partition("{stage}")[0] for texts in available().values())


def strings() -> Iterator[tuple[Path, str]]:
    """Yield each text to translate and the file that contains it, in the order of the exercises."""
    for name in exercises.names():
        exercise = exercises.find(name)
        for text in _of(exercise.course):
            yield exercise.directory / "tasks.toml", text
    for text in (WROTE, BRING, BRING_FROM, MAKE_FIT, HINT, HINT_AFTER_FAILURE):
        yield Path(__file__), text


def _of(course: Course) -> Iterator[str]:
    for task in course.tasks:
        yield from (task.text, *task.hints, *task.uses.values())
        yield from (part.hint for part in task.parts if part.hint)
        for part in task.parts:
            yield from (part.text, part.above)
