# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Folders for the life of this process, and the processes that work in them.

Whatever interrupts a run, and wherever, remove_all at its end leaves nothing of them.
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

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_folders: set[Path] = set()
_staying: set[Path] = set()
_stopped = False
_making = threading.Lock()


def _stop(_number: int, _frame: FrameType | None) -> None:
    global _stopped  # noqa: PLW0603 - a signal has no other place to leave a word
    _stopped = True
    raise KeyboardInterrupt


def _not_raised(unraisable: sys.UnraisableHookArgs) -> None:
    # In a callback of fork, for one. It is not lost: see check_stopped.
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def heed_signals() -> None:
    """Let SIGINT, SIGTERM and SIGHUP end this process by KeyboardInterrupt, cleaned up."""
    sys.unraisablehook = _not_raised
    for number in _SIGNALS:
        signal.signal(number, _stop)


def ignore_signals() -> None:
    """Let none of them interrupt what cleans up and says why."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def check_stopped() -> None:
    """Raise KeyboardInterrupt if a signal has come.

    For loops that wait: where Python was when the signal came, the exception may have been lost.
    """
    if _stopped:
        raise KeyboardInterrupt


def base() -> Path:
    """Where machines keep their files: short, since socket paths are limited to 107 bytes."""
    path = Path(tempfile.gettempdir()) / f"{paths.KIT}-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    if path.stat().st_uid != os.getuid():
        raise LabError(f"{path} belongs to somebody else: set TMPDIR to a folder of yours")
    return path


@contextmanager
def before_removal() -> Iterator[None]:
    """Make a folder or start a process so that remove_all waits for it and then finds it.

    Raise KeyboardInterrupt instead once a signal has come or all are removed for good. Signals are
    blocked meanwhile: a process started here calls let_signals_in before its program.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        with _making:
            check_stopped()
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def let_signals_in() -> None:
    """Unblock, between fork and exec, the signals that before_removal has blocked."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def folder() -> Path:
    """Make a new folder, which remove_all removes."""
    with before_removal():
        path = Path(tempfile.mkdtemp(prefix="m", dir=base()))
        _folders.add(path)
    return path


def remove(path: Path) -> None:
    """Remove a folder; its processes have ended.

    A thread that is just filling it could put a file into it between the removal of the last one
    and its own: under another name it is out of the thread's reach. Where another thread has
    renamed it and is still removing it, it is removed here as well: the process may end before
    the thread does.
    """
    going = path.with_name(f".{path.name}")
    try:
        path.rename(going)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(going, ignore_errors=True)
    _folders.discard(path)


def let_stay(path: Path) -> None:
    """Have remove_all spare the processes that work in this folder: they are to outlive us."""
    _staying.add(path)


def _alive() -> Iterator[tuple[int, int, Path]]:
    """Process, process group and /proc entry of all that runs; zombies do not."""
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
    """The processes with this folder in their command line."""
    return [pid for pid, _, entry in _alive() if _works_in(entry, path)]


def group_runs(group: int) -> bool:
    """Whether any process of a group runs."""
    return any(its_group == group for _, its_group, _ in _alive())


def kill_group(pid: int) -> None:
    """Kill a machine's whole process group, and wait until nothing of it runs."""
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
    """Kill the groups of all that work in a folder, be their first processes gone; not our own."""
    for group in {group for _, group, entry in _alive() if _works_in(entry, path)}:
        if group != os.getpgrp():
            kill_group(group)


def remove_all(for_good: bool = False) -> None:
    """Kill what still works in one of the folders, and remove them all.

    for_good: whatever other threads are at, there are no new ones: the process is about to end.
    """
    global _stopped  # noqa: PLW0603 - as above
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        with _making:
            _stopped = _stopped or for_good
        for path in list(_folders):
            kill_those_in(path)
        # One that has just been forked does not show yet what it is to become.
        for pid, group, entry in list(_alive()):
            stays = any(_works_in(entry, path) for path in _staying)
            if pid == group and _parent(entry) == os.getpid() and not stays:
                kill_group(pid)
        # Only now: user-mode Linux makes its folder again if it starts after the removal.
        for path in list(_folders):
            remove(path)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
