# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Choose the sources of an elective: a submission's, the learner's or the kit's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from pathlib import Path

from grader.base import paths

WORK = paths.WORK
SUFFIXES = (".c", ".h", ".S")


def submission() -> Path | None:
    """Return the folder of an untrusted submission that is being graded, or None.

    Compile and run its files only in the sandbox or in QEMU.
    """
    given = os.environ.get(paths.SUBMISSION)
    return Path(given) if given else None


def folder(elective: str, kit: Path) -> Path:
    """Return the folder of sources to use; kit is the kit's own folder.

    A submission comes first, then the learner's copy if it exists and LAB_REF is not set.
    """
    given = submission()
    if given:
        return given
    own = WORK / elective
    return own if own.is_dir() and not os.environ.get("LAB_REF") else kit


def excluded(sources: Path, kit: Path, used: Collection[str]) -> list[str]:
    """Return a message for each source that is not used because it is not in the list.

    A file that equals the kit's file of this name needs no message.
    """
    messages = []
    for path in sorted(sources.iterdir()):
        if path.suffix not in SUFFIXES or path.name in used or not path.is_file():
            continue
        if not (kit / path.name).is_file():
            messages.append(f"{path.name} is left out: only files with a task are used")
        elif path.read_bytes() != (kit / path.name).read_bytes():
            messages.append(f"{path.name} is left out: the kit's own file of this name is used")
    return messages


def build_name(elective: str, sources: Path, kit: Path) -> str:
    """Return the name of the folder in which to build a module of these sources.

    Two folders may be graded at the same time, as submissions or with work=FOLDER, so the modules
    of two places have different folders.
    """
    if sources == kit:
        return elective
    if sources == paths.ROOT / "work" / elective:
        return f"{elective}-work"
    return f"{elective}-{hashlib.sha256(str(sources).encode()).hexdigest()[:12]}"
