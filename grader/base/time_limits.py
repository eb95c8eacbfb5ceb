# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Count the time limits that expired in this process.

On a very busy computer a limit may expire although the limited program is not at fault. Code that
decides about a second attempt asks this module, because a submission could forge any message.
"""

from __future__ import annotations

_count = 0


def note(times: int = 1) -> None:
    """Count time limits that have expired."""
    global _count  # noqa: PLW0603 - one count for the whole process
    _count += times


def reached() -> int:
    """Return the number of time limits that have expired so far."""
    return _count
