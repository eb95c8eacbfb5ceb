# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Whose submissions there are, and where: a folder as Gradescope or Moodle leave it, or a list.

Nothing of a submission is opened here but by packing.py; names may be anything that a name can be.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import LabError, in_one_line
from grader.base.printable import in_a_line

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
# What people pack with as well, and the unpacker does not know.
OTHER_ARCHIVES = (".7z", ".rar", ".gz", ".xz", ".bz2", ".zst")
# Moodle's folders: Anna Example_1234567_assignsubmission_file_
_MOODLE = re.compile(r"^(?P<name>.+?)_\d+_assignsubmission_file_?$", re.DOTALL)
LIST_BYTES = 4 << 20


@dataclass(frozen=True)
class Submission:
    """One student's: the name as the folder or list has it, and what there is."""

    name: str
    path: Path

    @property
    def student(self) -> str:
        """The name, printable."""
        return in_a_line(self.name)

    @property
    def id(self) -> str:
        """A name for files and commands, made of letters and digits, one for each student."""
        tag = hashlib.sha256(self.name.encode(errors="surrogateescape")).hexdigest()[:8]
        plain = re.sub(r"[^A-Za-z0-9]+", "-", self.name).strip("-")[:32]
        return f"{plain}-{tag}" if plain else tag


def archive_suffix(name: str) -> str:
    """The ending that says which archive it is; nothing for what is none."""
    lower = name.lower()
    known = [suffix for suffix in (*ARCHIVES, *OTHER_ARCHIVES) if lower.endswith(suffix)]
    return max(known, key=len, default="")


def student_of(name: str) -> str:
    """Whose a folder or archive of that name is."""
    suffix = archive_suffix(name)
    plain = name[: len(name) - len(suffix)] if suffix else name
    moodle = _MOODLE.match(plain)
    return moodle["name"] if moodle else plain or name


def find(place: Path) -> tuple[list[Submission], list[str]]:
    """All submissions, by name, and the names of what is there and is none."""
    try:
        if place.is_dir():
            return _in_folder(place)
        return _in_list(place)
    except OSError as error:
        raise LabError(
            f"{in_one_line(error)}: name a folder with a directory or archive for each student,"
            " or a list of paths"
        ) from error


def _in_folder(folder: Path) -> tuple[list[Submission], list[str]]:
    taken, left = [], []
    for entry in os.scandir(folder):
        # A link is taken, to be refused by name: a student is not to be lost in silence.
        if entry.name.startswith("."):
            continue
        if entry.is_symlink() or entry.is_dir() or archive_suffix(entry.name):
            taken.append(Path(entry.path))
        else:
            left.append(entry.name)
    if not taken:
        raise LabError(
            f"{folder} holds no submission: it takes a directory or archive (zip, tar) for each"
            " student"
        )
    names = Counter(student_of(path.name) for path in taken)
    found = [
        # anna.zip beside anna/: two, until somebody says which counts.
        Submission(name if names[name := student_of(path.name)] == 1 else path.name, path)
        for path in taken
    ]
    return sorted(found, key=lambda one: one.name), sorted(left)


def _in_list(path: Path) -> tuple[list[Submission], list[str]]:
    with path.open("rb") as file:
        text = os.fsdecode(file.read(LIST_BYTES + 1))
    if len(text) > LIST_BYTES or "\0" in text:
        raise LabError(f"{path} is no list of paths: name a folder, or a text file, a path a line")
    named = list(dict.fromkeys(line for line in text.splitlines() if line.strip()))
    if not named:
        raise LabError(f"{path} is empty: it takes the path of a submission on each line")
    found = []
    for line in named:
        one = path.parent / line
        if not os.path.lexists(one):
            raise LabError(f"{path} names {line!r}, which is not there: mend the list")
        found.append(one)
    return list(_named_shortly(found, named)), []


def _named_shortly(found: list[Path], named: list[str]) -> Iterable[Submission]:
    """By the last part of the path, where that tells them apart."""
    short = Counter(student_of(path.name) for path in found)
    for path, line in zip(found, named):
        name = student_of(path.name)
        yield Submission(name if short[name] == 1 else line, path)
