# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Manage temporary folders of this process, and the processes that work in them.

Every command calls remove_all at its end, even if the command was interrupted.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from grader.base import paths
from grader.base.errors import LabError

# The maximum number of passes to remove a folder.
REMOVALS = 5
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_folders: set[Path] = set()
_staying: set[Path] = set()
_stopped = False
_making = threading.Lock()


def _stop(_number: int, _frame: FrameType | None) -> None:
    global _stopped  # noqa: PLW0603 - a signal handler can only set a global
    _stopped = True
    raise KeyboardInterrupt


def _not_raised(unraisable: sys.UnraisableHookArgs) -> None:
    # Python discards this exception, for example, in a callback of fork. So check_stopped raises it
    # again.
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def heed_signals() -> None:
    """Make SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt, so that the process cleans up."""
    sys.unraisablehook = _not_raised
    for number in _SIGNALS:
        signal.signal(number, _stop)


def ignore_signals() -> None:
    """Ignore SIGINT, SIGTERM and SIGHUP from now on, while the process cleans up."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def check_stopped() -> None:
    """Raise KeyboardInterrupt if a signal has arrived.

    Every loop that waits must call this, because Python discards an exception that a signal handler
    raises in some places, such as a callback of fork.
    """
    if _stopped:
        raise KeyboardInterrupt


def base() -> Path:
    """Return the folder for machines. Its path is short, because socket paths are limited."""
    path = Path(tempfile.gettempdir()) / f"{paths.KIT}-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    if path.stat().st_uid != os.getuid():
        raise LabError(f"{path} belongs to another user", "set TMPDIR to a folder that you own")
    return path


@contextmanager
def before_removal() -> Iterator[None]:
    """Guard the creation of a folder or process, so that remove_all waits for it and finds it.

    Raise KeyboardInterrupt if a signal has arrived or remove_all(for_good=True) has run. Signals
    are blocked in the body, so a process started there must call let_signals_in before exec.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        with _making:
            check_stopped()
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def let_signals_in() -> None:
    """Unblock the signals that before_removal has blocked. Call this between fork and exec."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def folder() -> Path:
    """Make and return a new folder, which remove_all will remove."""
    with before_removal():
        path = Path(tempfile.mkdtemp(prefix="m", dir=base()))
        _folders.add(path)
    return path


def remove(path: Path) -> None:
    """Remove a folder whose processes have ended.

    The folder is renamed first, so that a thread that still writes to the old path cannot add a
    file during the removal. If another thread has already renamed the folder, it is removed here
    as well, because the process may end before that thread does.
    """
    going = path.with_name(f".{path.name}")
    try:
        path.rename(going)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
    # If the other thread removes files at the same time, a pass can miss some of them.
    for _ in range(REMOVALS):
        shutil.rmtree(going, ignore_errors=True)
        if not going.exists():
            break
    _folders.discard(path)


def let_stay(path: Path) -> None:
    """Let the processes in this folder outlive this process: remove_all does not kill them."""
    _staying.add(path)


def _alive() -> Iterator[tuple[int, int, Path]]:
    """Yield the process, process group and /proc entry of every process, except zombies."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, group, *_ = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError, ValueError):
            continue
        if state not in "ZX":
            yield int(entry.name), int(group), entry


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return 0


def _works_in(entry: Path, path: Path) -> bool:
    try:
        return os.fsencode(str(path)) in (entry / "cmdline").read_bytes()
    except OSError:
        return False


def processes_in(path: Path) -> list[int]:
    """Return the processes with this folder in their command line."""
    return [pid for pid, _, entry in _alive() if _works_in(entry, path)]


def group_members(group: int) -> Iterator[Path]:
    """Yield the /proc entry of every process of a group."""
    return (entry for _, its_group, entry in _alive() if its_group == group)


def group_runs(group: int) -> bool:
    """Return whether any process of a group runs."""
    return any(True for _ in group_members(group))


def kill_group(pid: int) -> None:
    """Kill a process group and wait, for about 2 s at most, until its processes have ended."""
    for _ in range(200):
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass
        if not group_runs(pid):
            return
        time.sleep(0.01)


def kill_those_in(path: Path) -> None:
    """Kill the process groups of all processes that work in a folder, except the caller's group."""
    for group in {group for _, group, entry in _alive() if _works_in(entry, path)}:
        if group != os.getpgrp():
            kill_group(group)


def remove_all(for_good: bool = False) -> None:
    """Kill all processes that work in one of the folders, and remove all folders.

    for_good: the process is about to end, so other threads can no longer make new folders.
    """
    global _stopped  # noqa: PLW0603 - see _stop
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        with _making:
            _stopped = _stopped or for_good
        for path in list(_folders):
            kill_those_in(path)
        # Also kill our own children, because a child between fork and exec does not have its new
        # command line yet, so the search for that command line misses it.
        for pid, group, entry in list(_alive()):
            stays = any(_works_in(entry, path) for path in _staying)
            if pid == group and _parent(entry) == os.getpid() and not stays:
                kill_group(pid)
        # Remove the folders last, because user-mode Linux makes its folder again if it starts after
        # the removal.
        for path in list(_folders):
            remove(path)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
