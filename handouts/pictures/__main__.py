# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the pictures of the handouts beside this file, or in the folder that is given."""

from __future__ import annotations

import sys
from pathlib import Path

from . import electives, memory, numbers, times


def main() -> None:
    """Draw all."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
    for module in (electives, memory, numbers, times):
        for draw in module.PICTURES:
            draw().save(folder if folder.is_dir() else folder.parent)


main()
