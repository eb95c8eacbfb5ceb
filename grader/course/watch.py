# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Wait for a learner to save a file, by inotify and without polling the disk."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator
from pathlib import Path

from grader.base.errors import LabError

# Wait this long, because editors save a file in several steps.
SETTLE_SECONDS = 0.1
# From sys/inotify.h.
IN_CLOSE_WRITE = 0x8
IN_MOVED_TO = 0x80


def changes(directory: Path) -> Iterator[None]:
    """Yield once at first, and then whenever a C file in the directory has changed."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC)
    # An editor writes the file itself, or writes another file and renames it.
    wanted = IN_CLOSE_WRITE | IN_MOVED_TO
    if fd < 0 or libc.inotify_add_watch(fd, os.fsencode(directory), wanted) < 0:
        raise LabError(
            f"{directory} cannot be watched: {os.strerror(ctypes.get_errno())}",
            "run the check by hand",
        )
    before: dict[str, bytes] = {}
    try:
        while True:
            time.sleep(SETTLE_SECONDS)
            now = {p.name: p.read_bytes() for p in directory.iterdir() if p.suffix in (".c", ".h")}
            if now != before:
                before = now
                yield
            os.read(fd, 65536)
    finally:
        os.close(fd)
