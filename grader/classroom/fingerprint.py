# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compute the digest of all that a result depends on: submission, kit, exercise, seed.

A submission whose stored result has the same digest is not graded again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from grader.base import paths

# Files and folders of the kit on which points depend, except SHOWING, which only displays points.
KIT = (
    *("common", "electives", "expected", "grader", "stages"),
    "requirements.txt",
)
SHOWING = ("grader/report", "grader/tools")


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    for path in sorted(place.rglob("*")) if place.is_dir() else ():
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


@cache
def kit() -> str:
    """Return the digest of the kit, which is equal on all computers that have the same files."""
    digest = hashlib.sha256()
    for name in KIT:
        for path in _files(paths.ROOT / name):
            place = path.relative_to(paths.ROOT).as_posix()
            if not place.startswith(SHOWING):
                digest.update(f"{place}\0{path.stat().st_size}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def of_submission(packed: bytes, what: str, seed: int) -> str:
    """Return the digest of everything on which the result of a submission depends."""
    text = f"{kit()} {what} {seed} ".encode() + hashlib.sha256(packed).digest()
    return hashlib.sha256(text).hexdigest()[:32]
