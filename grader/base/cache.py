# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Store small values in the lab's cache, in a JSON file for each key.

Writing is atomic. A file that cannot be read counts as absent, because every cached value can be
computed again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from grader.base import paths
from grader.base.errors import LabError, in_one_line


def read(folder: str, name: str) -> dict[str, Any]:
    """Return the value stored under a name, or {} if the file is missing or unreadable."""
    try:
        value = json.loads((paths.CACHE / folder / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write(folder: str, name: str, value: dict[str, Any]) -> None:
    """Store a value under a name and replace the old value. Raise LabError if that fails."""
    path = paths.CACHE / folder / f"{name}.json"
    new = path.with_suffix(f".new{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise _unusable(error) from error


@contextmanager
def locked(folder: str, name: str, wait: Callable[[], None]) -> Iterator[None]:
    """Hold a lock that excludes all other threads and processes on this computer.

    Call wait() first if another thread or process holds the lock. The lock is released when the
    process that holds it ends.
    """
    path = paths.CACHE / "locks" / f"{folder}-{name}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        raise _unusable(error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _unusable(error: OSError) -> LabError:
    return LabError(
        f"the cache cannot be written: {in_one_line(error)}",
        "set XDG_CACHE_HOME to a directory that you can write",
    )
