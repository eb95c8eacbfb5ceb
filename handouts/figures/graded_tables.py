# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write the table of graded parts into the handout of each exercise, from its tasks.toml."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from grader.base import command, paths
from grader.base.errors import LabError
from grader.exercise.files import exercises
from grader.exercise.files.tasks import UNBOUNDED, UNITS, CountedCall, Course, Idea, Speed, Task

HEAD = "| part | points | what is judged |"
TABLE = re.compile(rf"^{re.escape(HEAD)}\n(?:\|.*\n)+", re.M)
OPERANDS = {
    "add": "a sum",
    "add-in-place": "a sum in place of an operand",
    "create": "room for three numbers",
    "decimal": "the digits",
    "decrease": "one limb subtracted from a number",
    "digit-fifth": "a fifth",
    "digit-sum": "a sum of digits",
    "digit-difference": "a difference of digits",
    "digit-text": "the text",
    "digit-unique": "the unique digits",
    "digit-unique-sparse": "the unique digits after runs of zeros",
    "div5": "a fifth",
    "fft": "a product of digits",
    "increase": "one limb added to a number",
    "lshift": "a shift",
    "mul": "a product",
    "mul-balanced": "a product of two numbers of one size",
    "mul-sparse": "a product of two numbers with few one bits",
    "shoup": "32 products by Shoup's method",
    "solinas": "32 products modulo P",
    "square": "a square",
    "sub": "a difference",
    "sub-in-place": "a difference in place of its first operand",
}


def table(course: Course) -> str:
    """Return the table of graded parts, as Markdown."""
    rows = [(f"{t.number} **{t.name}**", t.points, _task(t)) for t in course.tasks]
    if course.device_points:
        text = (
            "the module: it loads and unloads, all calls and all F(n) are right, the log is clean"
        )
        text = _sentences([text, *_bounds(course.device_ideas, course.device_points)])
        rows.append(("**device**", course.device_points, text))
    if course.speed:
        rows.append(("**speed**", course.speed.points, _speed(course.speed)))
    lines = [f"| {name} | {points} | {text} |" for name, points, text in rows]
    return "\n".join([HEAD, "|---|---|---|", *lines, ""])


def _task(task: Task) -> str:
    """Return a task's row text: the code to write and the bounds on its instructions."""
    left = [part for part in task.parts if part.stub is not None] or list(task.parts)
    written = []
    for file, parts in groupby(left, lambda part: part.file):
        functions = dict.fromkeys(f"`{part.function}`" for part in parts if part.function)
        written.append(f"{', '.join(functions)} in `{file}`" if functions else f"`{file}`")
    return _sentences(["; ".join(written), *_bounds(task.ideas, task.points)])


def _sentences(texts: list[str]) -> str:
    first, *more = texts
    return ". ".join([first, *(text[0].upper() + text[1:] for text in more)])


def _bounds(ideas: Iterable[Idea], points: int) -> Iterator[str]:
    """Yield the texts of the bounds that make a method necessary, for a part with these points."""
    # The points of ideas with one text are withheld once.
    for (_, withheld), same in groupby(ideas, lambda idea: _withheld(idea, points)):
        by_call = groupby(same, lambda idea: (idea.takes, idea.scaled))
        texts = [_bound(call, list(bounds), smaller) for (call, smaller), bounds in by_call]
        if withheld < points:
            yield f"{'; '.join(texts)}, else {withheld} points less"
        else:
            yield from texts


def _withheld(idea: Idea, points: int) -> tuple[str, int]:
    return ("" if idea.points == points else idea.text, idea.points)


def _bound(call: CountedCall, ideas: list[Idea], smaller: bool) -> str:
    """Return the text of the bounds of one call; smaller ones for smaller sizes, if given."""
    bounds = []
    for idea in ideas:
        unit = re.sub(r"\b\w+_\w+\b", r"`\g<0>`", UNITS[idea.unit])  # names of functions as code
        limits = [f"at least {idea.least:,}"] if idea.least else []
        limits += [f"at most {idea.at_most:,}"] if idea.at_most < UNBOUNDED else []
        bounds.append(f"{' and '.join(limits)} {unit}")
    largest = " at the largest size, fewer below" if smaller else ""
    listed = " and ".join([", ".join(bounds[:-1]), bounds[-1]]) if bounds[1:] else bounds[0]
    return f"{_call(call)}: {listed}{largest}"


def _call(count: CountedCall) -> str:
    if count.operation == "compute":
        most = f"F({count.size:,})"
        return f"any of F({count.least:,}) to {most}" if count.least else most
    least = f"{count.least:,} to " if count.least else ""
    return f"{OPERANDS[count.operation]} of {least}{count.words}"


def _speed(speed: Speed) -> str:
    phase = {"compute": "computing F(n)", "read": "a whole read of F(n)"}[speed.phase]
    return (
        f"instructions of {phase}, at one n from {speed.n - speed.n // 2:,} to {speed.n:,}. All "
        f"points: a tenth above the kit's count. None: the count of stage {speed.before}"
    )


def renewed(handout: Path, course: Course) -> str:
    """Return the text of a handout with its table made from the tasks."""
    text = handout.read_text(encoding="utf-8")
    if len(TABLE.findall(text)) != 1:
        raise LabError(f"{paths.shown(handout)}: no table of graded parts", f"add {HEAD!r}")
    new = table(course)
    return TABLE.sub(lambda _: new, text)


def graded() -> list[tuple[Path, Course]]:
    """Return the handouts of all available exercises, each with its tasks."""
    found = [exercises.find(name) for name in exercises.names()]
    return [(one.handout, one.course) for one in found]


def main() -> int:
    """Update the tables in all handouts."""
    for handout, course in graded():
        text = renewed(handout, course)
        if text != handout.read_text(encoding="utf-8"):
            handout.write_text(text, encoding="utf-8")
            print(f"{paths.shown(handout)}: the table of graded parts has been updated")
    return 0


if __name__ == "__main__":
    sys.exit(command.end("graded_tables", main))
