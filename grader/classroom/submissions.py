# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find submissions and their students: in a folder from Gradescope or Moodle, or in a list.

This module does not open submissions; only packing.py does. File names may contain any bytes.
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
# Other kinds of archive that students send, which the unpacker does not support.
OTHER_ARCHIVES = (".7z", ".rar", ".gz", ".xz", ".bz2", ".zst")
# Moodle's folders: Anna Example_1234567_assignsubmission_file_
_MOODLE = re.compile(r"^(?P<name>.+?)_\d+_assignsubmission_file_?$", re.DOTALL)
LIST_BYTES = 4 << 20


@dataclass(frozen=True)
class Submission:
    """A student's submission: the name from the folder or list, and the path."""

    name: str
    path: Path

    @property
    def student(self) -> str:
        """Return the student's name, printable."""
        return in_a_line(self.name)

    @property
    def id(self) -> str:
        """Return a unique name for files and commands, of letters, digits and hyphens.

        The digest has 128 bits, so that no student can find a name with the id of another student.
        """
        tag = hashlib.sha256(self.name.encode(errors="surrogateescape")).hexdigest()[:32]
        plain = re.sub(r"[^A-Za-z0-9]+", "-", self.name).strip("-")[:32]
        return f"{plain}-{tag}" if plain else tag


def archive_suffix(name: str) -> str:
    """Return a name's archive suffix, or ""."""
    lower = name.lower()
    known = [suffix for suffix in (*ARCHIVES, *OTHER_ARCHIVES) if lower.endswith(suffix)]
    return max(known, key=len, default="")


def student_of(name: str) -> str:
    """Return the student's name for the name of a folder or archive."""
    suffix = archive_suffix(name)
    plain = name[: len(name) - len(suffix)] if suffix else name
    moodle = _MOODLE.match(plain)
    return moodle["name"] if moodle else plain or name


def find(place: Path) -> tuple[list[Submission], list[str]]:
    """Return all submissions in the directory by name, and the names of its other files."""
    try:
        if place.is_dir():
            return _in_folder(place)
        return _in_list(place)
    except OSError as error:
        raise LabError(
            f"{in_one_line(error)}",
            "give a folder with a directory or archive for each student, or a list of paths",
        ) from error


def _in_folder(folder: Path) -> tuple[list[Submission], list[str]]:
    taken, left = [], []
    for entry in os.scandir(folder):
        # Include symbolic links, because packing rejects each link with a message. So no student is
        # silently missing.
        if entry.name.startswith("."):
            continue
        if entry.is_symlink() or entry.is_dir() or archive_suffix(entry.name):
            taken.append(Path(entry.path))
        else:
            left.append(entry.name)
    if not taken:
        raise LabError(
            f"{folder} holds no submission",
            "put a directory or archive (zip, tar) for each student into it",
        )
    # anna.zip and anna/ have the same student name, so they stay two submissions with full names.
    # The full names count as well, because anna.zip.zip must not get the full name of anna.zip.
    full = {path.name for path in taken}
    names = Counter(student_of(path.name) for path in taken)
    names.update(full)
    found = [
        Submission(
            name if names[name := student_of(path.name)] == 1 + (name == path.name) else path.name,
            path,
        )
        for path in taken
    ]
    return sorted(found, key=lambda one: one.name), sorted(left)


def _in_list(path: Path) -> tuple[list[Submission], list[str]]:
    with path.open("rb") as file:
        text = os.fsdecode(file.read(LIST_BYTES + 1))
    if len(text) > LIST_BYTES or "\0" in text:
        raise LabError(
            f"{path} is not a list of paths",
            "give a folder, or a text file with a path in each line",
        )
    named = list(dict.fromkeys(line for line in text.splitlines() if line.strip()))
    if not named:
        raise LabError(f"{path} is empty", "write the path of a submission in each line")
    found = []
    for line in named:
        one = path.parent / line
        if not os.path.lexists(one):
            raise LabError(f"{path} names {line!r}, which does not exist", "correct the list")
        found.append(one)
    return list(_named_shortly(found, named)), []


def _named_shortly(found: list[Path], named: list[str]) -> Iterable[Submission]:
    """Name each submission by the last part of its path if that is unique, else by the path."""
    short = Counter(student_of(path.name) for path in found)
    for path, line in zip(found, named):
        name = student_of(path.name)
        yield Submission(name if short[name] == 1 else line, path)
