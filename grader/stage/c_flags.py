# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read the compiler flags that say which C a stage may be written in, see common/cflags."""

from __future__ import annotations

from functools import cache

from grader.base import paths


@cache
def language() -> tuple[str, ...]:
    """Return the flags for every build of a stage's own files."""
    lines = (paths.COMMON / "cflags").read_text().splitlines()
    return tuple(word for line in lines if not line.startswith("#") for word in line.split())
