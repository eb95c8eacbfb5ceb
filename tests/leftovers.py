# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find processes and machine folders that still exist after a run."""

from __future__ import annotations

import os
from pathlib import Path


def leftovers(place: Path) -> list[str]:
    """Return the processes and machine folders that still exist after a run."""
    found = [str(p) for p in place.glob("fibdrv-lab-*/*") if p.suffix != ".lock"]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = process.read_bytes()
        except OSError:
            continue
        if os.fsencode(str(place)) in command:
            found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found
