# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read the compiler flags that define the C dialect of a stage from common/cflags."""

from __future__ import annotations

from functools import cache

from grader.base import paths

# The flag that forbids vector registers, for all files except vector files.
INTEGERS_ONLY = "-mgeneral-regs-only"


@cache
def language() -> tuple[str, ...]:
    """Return the flags for every build of a stage's own files."""
    return _words("cflags")


def of_file(vector_file: bool) -> tuple[str, ...]:
    """Return the flags for a file of a stage; vector_file: the file may use vector registers."""
    if not vector_file:
        return language()
    return (*(word for word in language() if word != INTEGERS_ONLY), *vector())


@cache
def vector() -> tuple[str, ...]:
    """Return the flags that vector files get in place of INTEGERS_ONLY, see cflags-vector."""
    return _words("cflags-vector")


def _words(name: str) -> tuple[str, ...]:
    """Return the flags that a file in common/ lists; lines that begin with # are comments."""
    lines = (paths.COMMON / name).read_text().splitlines()
    return tuple(word for line in lines if not line.startswith("#") for word in line.split())
