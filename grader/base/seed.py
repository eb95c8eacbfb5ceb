# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Choose the random seed: the seed that the user gives, or else a random seed that is printed."""

from __future__ import annotations

import os
import secrets

from grader.base.errors import LabError

# Six digits are short enough for a user to type.
LARGEST = 999_999


def requested(option: int | None) -> int | None:
    """Return the seed of the command line or else of LAB_SEED, or None if neither is set."""
    if option is not None:
        return option
    named = os.environ.get("LAB_SEED", "")
    if not named:
        return None
    if not (named.isascii() and named.isdigit()):
        raise LabError(
            f"LAB_SEED is {named!r}, which is not a number", "set it to a number, or unset it"
        )
    return int(named)


def drawn() -> int:
    """Return a random seed that a submission cannot predict."""
    return 1 + secrets.randbelow(LARGEST)


def chosen(option: int | None, again: str) -> tuple[int, str]:
    """Return the seed, and a line that reports it if it was drawn.

    again: the option that sets the seed, such as "--seed ".
    """
    named = requested(option)
    if named is not None:
        return named, ""
    seed = drawn()
    return seed, f"seed {seed}, drawn: {again}{seed} asks for the same again"
