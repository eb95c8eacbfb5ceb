# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Copy the writable directories of a sandbox into memory before a run, and back after it.

A directory in memory is identified by its descriptor, which outlives the sandbox. Symbolic links
are not followed: only regular files and directories are copied back.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# kbuild needs three levels. The limit keeps paths short enough for all programs.
MAX_DEPTH = 32


class OutputTooLarge(Exception):
    """The files to copy back exceed the limits."""


def used(stores: list[int]) -> tuple[int, int]:
    """Return the number of bytes and of files in the directories."""
    size = files = 0
    for store in stores:
        found = os.fstatvfs(store)
        size += (found.f_blocks - found.f_bfree) * found.f_frsize
        # Do not count the directory itself.
        files += max(0, found.f_files - found.f_ffree - 1)
    return size, files


def bring_in(source: Path, store: int, uid: int | None) -> None:
    """Copy the regular files of a directory to the sandbox, where user uid owns them."""
    with _opened(str(source), None) as folder:
        _copy(folder, store, uid, [1 << 62, 1 << 62], MAX_DEPTH)


def bring_home(store: int, target: Path, size: int, files: int) -> None:
    """Copy new and changed files back to target; never remove files there.

    size, files: limits in bytes and in files; raise OutputTooLarge if one is exceeded.
    """
    target.mkdir(parents=True, exist_ok=True)
    with _opened(str(target), None) as folder:
        _copy(store, folder, None, [size, files], MAX_DEPTH)


@contextmanager
def _opened(name: str, parent: int | None) -> Iterator[int]:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    # An entry of a sandbox's directory may be a malicious link; our own paths may contain links.
    folder = os.open(name, flags | (os.O_NOFOLLOW if parent is not None else 0), dir_fd=parent)
    try:
        yield folder
    finally:
        os.close(folder)


def _readable(name: str, folder: int, found: os.stat_result) -> None:
    # This is safe, because all processes of the sandbox have ended, so no link can replace the
    # file.
    wanted = stat.S_IRUSR | (stat.S_IXUSR if stat.S_ISDIR(found.st_mode) else 0)
    if found.st_mode & wanted != wanted and found.st_uid == os.geteuid():
        os.chmod(name, stat.S_IMODE(found.st_mode) | wanted, dir_fd=folder)


def _copy(source: int, target: int, uid: int | None, view: list[int], depth: int) -> None:
    if uid is not None:
        os.fchown(target, uid, uid)
    with os.scandir(source) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        found = os.stat(name, dir_fd=source, follow_symlinks=False)
        view[1] -= 1
        if view[1] < 0 or not depth:
            raise OutputTooLarge
        if stat.S_ISDIR(found.st_mode):
            _readable(name, source, found)
            _make_directory(name, target)
            with _opened(name, source) as below, _opened(name, target) as made:
                _copy(below, made, uid, view, depth - 1)
        elif stat.S_ISREG(found.st_mode) and not _same(name, target, found):
            # Count the size, not the blocks, because the copy of a sparse file has no holes.
            view[0] -= found.st_size
            if view[0] < 0:
                raise OutputTooLarge
            _readable(name, source, found)
            _copy_file(name, source, target, found, uid)


def _make_directory(name: str, target: int) -> None:
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=target, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=target)
            os.mkdir(name, 0o755, dir_fd=target)
    except FileNotFoundError:
        os.mkdir(name, 0o755, dir_fd=target)


def _same(name: str, target: int, found: os.stat_result) -> bool:
    """Return whether target has the file already, by size and modification time."""
    try:
        there = os.stat(name, dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (
        stat.S_ISREG(there.st_mode)
        and there.st_size == found.st_size
        and there.st_mtime_ns == found.st_mtime_ns
    )


def _copy_file(name: str, source: int, target: int, found: os.stat_result, uid: int | None) -> None:
    try:
        os.unlink(name, dir_fd=target)
    except FileNotFoundError:
        pass
    except IsADirectoryError:
        # This is a directory of an earlier build, which may be removed because the kit owns the
        # target.
        shutil.rmtree(f"/proc/self/fd/{target}/{name}")
    mode = 0o755 if found.st_mode & stat.S_IXUSR else 0o644
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    reading = os.open(name, flags | os.O_RDONLY | os.O_NONBLOCK, dir_fd=source)
    with os.fdopen(reading, "rb") as old:
        writing = os.open(name, flags | os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=target)
        with os.fdopen(writing, "wb") as new:
            shutil.copyfileobj(old, new, 1 << 20)
            if uid is not None:
                os.fchown(writing, uid, uid)
            new.flush()
            os.utime(writing, ns=(found.st_atime_ns, found.st_mtime_ns))
