# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Where things are. A read-only checkout may name another place by LAB_BUILD."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from grader.base.errors import LabError
from grader.base.printable import in_a_line

# What the names of folders begin with that are not below BUILD.
KIT = "fibdrv-lab"

ROOT = Path(__file__).resolve().parents[2]
COMMON = ROOT / "common"
STAGES = ROOT / "stages"
EXPECTED = ROOT / "expected"
SCRIPTS = ROOT / "scripts"
# The learner's copies; make's work=FOLDER names another place for them, to try things out in.
WORK = ROOT / (os.environ.get("LAB_WORK") or "work")
# In the environment: the folder of an untrusted submission to an elective.
SUBMISSION = "LAB_SUBMISSION"
BUILD = Path(os.environ.get("LAB_BUILD") or ROOT / "build").absolute()
# scripts/lib.sh chooses it, and has it in the environment of all that scripts/python.sh runs.
CACHE = Path(os.environ.get("LAB_CACHE") or Path.home() / ".cache" / KIT)


def inside(path: Path, folder: Path) -> bool:
    """Whether path is folder or below it, links resolved."""
    return path.resolve().is_relative_to(folder.resolve())


def shown(path: Path) -> str:
    """The path as a person at the top of the checkout would type it, printable."""
    path = path.absolute()
    return in_a_line(str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path))


def make(words: str) -> str:
    """Return a make command for a person to type, with work=FOLDER if copies there are meant."""
    elsewhere = os.environ.get("LAB_WORK")
    return f"make {words}" + (f" work={shlex.quote(elsewhere)}" if elsewhere else "")


def for_make(path: Path) -> str:
    """A path as make takes it: without blanks or the like, relative to the top if need be."""
    for name in (str(path), os.path.relpath(path, ROOT)):
        if re.fullmatch(r"[\w./+-]+", name, re.ASCII):
            return name
    raise LabError(f"{path}: make takes no name with blanks or the like: choose another folder")
