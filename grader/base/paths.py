# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define the folders of the lab. LAB_BUILD moves build/ out of a read-only checkout."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from grader.base.errors import LabError
from grader.base.printable import in_a_line

# The names of the kit's folders outside BUILD, for example of the cache folder, have this prefix.
KIT = "fibdrv-lab"

ROOT = Path(__file__).resolve().parents[2]
COMMON = ROOT / "common"
STAGES = ROOT / "stages"
EXPECTED = ROOT / "expected"
SCRIPTS = ROOT / "scripts"
# The learner's copies of the stages. make work=FOLDER selects another folder for experiments.
WORK = ROOT / (os.environ.get("LAB_WORK") or "work")
# Environment variable with the folder of an untrusted submission to an elective.
SUBMISSION = "LAB_SUBMISSION"
BUILD = Path(os.environ.get("LAB_BUILD") or ROOT / "build").absolute()
# scripts/lib.sh chooses the cache folder and sets LAB_CACHE for each program that scripts/python.sh
# runs.
CACHE = Path(os.environ.get("LAB_CACHE") or Path.home() / ".cache" / KIT)


def inside(path: Path, folder: Path) -> bool:
    """Return whether path is folder or is below it, with symbolic links resolved."""
    return path.resolve().is_relative_to(folder.resolve())


def shown(path: Path) -> str:
    """Return a path as printable text, relative to the checkout if it is inside, else absolute."""
    path = path.absolute()
    return in_a_line(str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path))


def place(directory: Path, name: str = "") -> str:
    """Return a directory's name for debug information and logs, independent of the checkout.

    name: used instead of the directory's own name if the directory is outside of the checkout.
    """
    inner = directory.resolve()
    if inside(directory, ROOT):
        found = str(inner.relative_to(ROOT.resolve()))
    else:
        found = f"{inner.parent.name}/{name or inner.name}"
    return re.sub(r"[^\w./+-]", "_", found, flags=re.ASCII)


def make(words: str) -> str:
    """Return a make command for a person to type, with work=FOLDER if LAB_WORK is set."""
    elsewhere = os.environ.get("LAB_WORK")
    return f"make {words}" + (f" work={shlex.quote(elsewhere)}" if elsewhere else "")


def for_make(path: Path) -> str:
    """Return a path that make accepts, relative to the checkout if the absolute path has blanks.

    Raise LabError if both forms contain blanks or similar characters.
    """
    for name in (str(path), os.path.relpath(path, ROOT)):
        if re.fullmatch(r"[\w./+-]+", name, re.ASCII):
            return name
    raise LabError(
        f"{path}: make accepts no blanks or special characters in a name", "choose another folder"
    )
