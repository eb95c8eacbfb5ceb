# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Where all that is random begins: a seed that is given, or one that is drawn and said."""

from __future__ import annotations

import os
import secrets

from grader.base.errors import LabError

# Short enough to be typed again.
LARGEST = 999_999


def requested(option: int | None) -> int | None:
    """The seed of the command line, else LAB_SEED's; None where neither names one."""
    if option is not None:
        return option
    named = os.environ.get("LAB_SEED", "")
    if not named:
        return None
    if not (named.isascii() and named.isdigit()):
        raise LabError(f"LAB_SEED is {named!r}: it is a number, the seed, or it is not set")
    return int(named)


def drawn() -> int:
    """A seed that nobody knew beforehand."""
    return 1 + secrets.randbelow(LARGEST)


def chosen(option: int | None, again: str) -> tuple[int, str]:
    """The seed, and a line about it if it was drawn; again: how to give one, like --seed."""
    named = requested(option)
    if named is not None:
        return named, ""
    seed = drawn()
    return seed, f"seed {seed}, drawn: {again}{seed} asks for the same again"
