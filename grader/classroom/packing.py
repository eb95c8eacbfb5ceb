# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Pack a submission into one archive, which is sent to the host that grades it.

An archive is sent unchanged and unopened. From a directory, only C files that are regular files are
packed. Links are not followed, and no program of the submission is run.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.base.errors import CommandError, in_one_line
from grader.classroom import unpacker
from grader.classroom.submissions import ARCHIVES, archive_suffix

ARCHIVE_BYTES = 64 << 20
# Largest number of directory entries that are examined.
ENTRIES = 50_000


class RejectedSubmission(CommandError):
    """A submission cannot be graded; the text is for its author."""


def packed(path: Path) -> bytes:
    """Return the submission as an archive; equal directories give equal bytes."""
    try:
        with _opened(path, None) as fd:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                return _archive(path.name, fd)
            files, archives = _Files(), []
            for name, found in files.below(fd, ()):
                if len(name) == 1 and archive_suffix(name[0]):
                    archives.append(name[0])
                elif name[-1].endswith((".c", ".h")):
                    files.take(name, found)
            if not files.content and len(archives) == 1:
                # Moodle makes a folder for each student that contains the archive.
                with _opened(archives[0], fd) as inner:
                    return _archive(archives[0], inner)
            if not files.content:
                more = f", but {len(archives)} archives" if archives else ""
                raise RejectedSubmission(
                    f"the submission holds no C file{more}", "send one archive, or the C files"
                )
            return files.archive()
    except OSError as error:
        if path.is_symlink():
            raise RejectedSubmission(
                "the submission is a link, which is not followed", "send the files themselves"
            ) from None
        raise RejectedSubmission(
            f"the submission cannot be read: {in_one_line(error)}", "send it again"
        ) from None


@contextmanager
def _opened(name: str | Path, parent: int | None) -> Iterator[int]:
    # Use O_NONBLOCK, because opening a pipe must not wait for a writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(name, flags, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


def _archive(name: str, fd: int) -> bytes:
    suffix, found = archive_suffix(name), os.fstat(fd)
    if suffix not in ARCHIVES or not stat.S_ISREG(found.st_mode):
        raise RejectedSubmission(
            f"{unpacker.shown(name)} is not a known kind of archive", "send a zip or a tar"
        )
    content = b""
    if found.st_size <= ARCHIVE_BYTES:
        with os.fdopen(os.dup(fd), "rb") as file:
            content = file.read(ARCHIVE_BYTES + 1)
    if not 0 < len(content) <= ARCHIVE_BYTES:
        size = "empty" if not found.st_size else f"larger than {ARCHIVE_BYTES:,} bytes"
        raise RejectedSubmission(f"the archive is {size}", "send the stage's sources")
    return content


class _Files:
    """The C files of a directory, within the same limits as those of an archive."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.seen = 0
        self.bytes = 0

    def below(self, fd: int, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
        """Yield path and descriptor of each regular file that may be needed, in order."""
        with os.scandir(fd) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            self.seen += 1
            if self.seen > ENTRIES:
                raise RejectedSubmission(
                    f"the submission holds more than {ENTRIES:,} files", "send the sources only"
                )
            if name.startswith(".") or name in unpacker.SKIPPED:
                continue
            kind = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
            path = (*above, name)
            if stat.S_ISDIR(kind) and len(path) < unpacker.DEPTH:
                with _opened(name, fd) as folder:
                    yield from self.below(folder, path)
            elif stat.S_ISREG(kind) and name.endswith((".c", ".h", *ARCHIVES)):
                with _opened(name, fd) as file:
                    yield path, file

    def take(self, path: tuple[str, ...], fd: int) -> None:
        """Read one file; the unpacker leaves out a file that is too large, with a message."""
        with os.fdopen(os.dup(fd), "rb") as file:
            content = file.read(unpacker.FILE_BYTES + 1)
        self.bytes += len(content)
        if len(self.content) >= unpacker.FILES or self.bytes > unpacker.TAKEN_BYTES:
            raise RejectedSubmission(
                f"the submission holds more than {unpacker.FILES:,} C files or"
                f" {unpacker.TAKEN_BYTES:,} bytes of them",
                "send the stage only",
            )
        self.content["/".join(path)] = content

    def archive(self) -> bytes:
        """Return an archive of all files; equal files give equal bytes."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, content in sorted(self.content.items()):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return out.getvalue()
