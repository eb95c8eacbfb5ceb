# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Format rows of text as aligned columns for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], left_aligned: Collection[int] = (0,)) -> str:
    """Return one line for each row; columns not in left_aligned are aligned to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in left_aligned else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    )
