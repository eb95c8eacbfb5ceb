# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Count the time limits that ended something in this process.

On a computer that is very busy a limit may be reached by no fault of what it was set for. Whoever
tries again must know that from here, not from words that a submission could print.
"""

from __future__ import annotations

_count = 0


def note(times: int = 1) -> None:
    """Count a time limit that has been reached."""
    global _count  # noqa: PLW0603 - of this process, wherever it was reached
    _count += times


def reached() -> int:
    """Return how many have been reached so far."""
    return _count
