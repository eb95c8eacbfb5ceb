# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Update the counts of par in the handouts and their translations from expected/par.json.

A handout has the sentence "1,234 instructions in stage 4, 567 are par", for the n in tasks.toml.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from grader.base import command, paths
from grader.base.errors import LabError
from grader.exercise.files.tasks import course
from grader.scoring import par

HANDOUTS = paths.ROOT / "handouts"
SENTENCE = re.compile(r"([\d,]+)\s+instructions\s+in\s+stage\s+(\d+),\s+([\d,]+)\s+are\s+par")


def numbers(handout: Path) -> dict[str, str]:
    """Return the counts in a handout, each with its current value from par.json."""
    found: dict[str, str] = {}
    counts = par.of_record(json.loads(par.FILE.read_text())["records"][-1])
    for before, number, own in SENTENCE.findall(handout.read_text(encoding="utf-8")):
        speed = course(int(handout.name.split("-")[0])).speed
        if speed is None or speed.before != int(number):
            raise LabError(
                f"{paths.shown(handout)}: par.json has no count of stage {number}",
                "correct the sentence",
            )
        stage = int(handout.name.split("-")[0])
        found[before] = f"{counts[int(number), speed.phase, speed.n]:,.0f}"
        found[own] = f"{counts[stage, speed.phase, speed.n]:,.0f}"
    return found


def handouts() -> list[Path]:
    """Return the handouts of the stages."""
    return sorted(HANDOUTS.glob("[0-9]*-*.md"))


def put(path: Path, new: dict[str, str]) -> None:
    """Replace numbers in those paragraphs of a file that contain all of them."""
    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8")
    parts = re.split(r"(\n\n)", text)
    number = re.compile(r"(?<![\d,.])(" + "|".join(map(re.escape, new)) + r")(?![\d]|,\d)")
    for i, part in enumerate(parts):
        if set(number.findall(part)) == set(new):
            parts[i] = number.sub(lambda match: new[match[1]], part)
    if "".join(parts) != text:
        path.write_text("".join(parts), encoding="utf-8")
        print(f"{paths.shown(path)}: {', '.join(f'{a} is {b}' for a, b in new.items())}")


def main() -> int:
    """Update all handouts and their translations."""
    for handout in handouts():
        new = numbers(handout)
        if any(old != count for old, count in new.items()):
            put(handout, new)
            for translation in HANDOUTS.glob(f"*/{handout.stem}.po"):
                put(translation, new)
    return 0


if __name__ == "__main__":
    sys.exit(command.end("par_numbers", main))
