# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run sparse over the kernel modules of all electives; exit with 1 if it reports anything.

An elective with kernel modules has a file sparse.py with a function complaints().
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from grader.base import command


def main() -> int:
    """Print sparse's findings for each elective. Return 1 if there are any."""
    found: list[str] = []
    for path in sorted(Path(__file__).parent.glob("*/sparse.py")):
        found.extend(importlib.import_module(f"electives.{path.parent.name}.sparse").complaints())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(command.end("sparse", main))
