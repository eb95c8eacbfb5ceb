# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""unpacker.py ARCHIVE FOLDER: unpack an archive's C files, inside the sandbox.

Print one line of JSON: {"taken": N, "left": [...]} or {"refused": "why"}. Read no more of an
archive than the limits below, and write only regular files in directories with plain names. Import
only the standard library, because the sandbox has nothing else.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import struct
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

# The limits admit a clone of the course with its history, which has a few thousand files and 20 MB.
# A stage alone has ten files.
MEMBERS = 20_000
EXPANDED = 256 << 20
FILES = 1_000
FILE_BYTES = 1 << 20  # This limit must equal the limit in grader/exercise/build/stage_module.py.
TAKEN_BYTES = 16 << 20
DEPTH = 12
# Largest size of a zip's list of members. The list has 46 bytes and a name for each member.
ZIP_LIST = MEMBERS * 200
SKIPPED = {".git", "__MACOSX", "build", "node_modules"}
NO_ARCHIVE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)


class RejectedArchive(Exception):
    """An archive is rejected; the text is for the author of the submission."""

    def __init__(self, problem: str, action: str) -> None:
        super().__init__(problem, action)


class MemberExtractor:
    """The extraction of an archive's C files, with counts and limits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.members = self.taken = self.taken_bytes = 0
        self.left: list[str] = []

    def place(self, name: str) -> Path | None:
        """Return the path to write a member to; None if it is not needed."""
        self.members += 1
        if self.members > MEMBERS:
            raise RejectedArchive(
                f"the archive holds more than {MEMBERS:,} files", "omit .git and build/"
            )
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
        if name.startswith(("/", "\\")) or ".." in parts:
            raise RejectedArchive(
                f"the archive holds {shown(name)}, which leads out of it", "remove that file"
            )
        if not parts or SKIPPED & set(parts) or parts[-1].startswith("."):
            return None
        if not parts[-1].endswith((".c", ".h")):
            return None
        if len(parts) > DEPTH:
            raise RejectedArchive(
                f"the archive holds {shown(name)}, more than {DEPTH} folders deep",
                "move that file up",
            )
        plain = [re.sub(r"[^A-Za-z0-9 _.+-]", "_", part)[:100] for part in parts]
        return self.folder.joinpath(*plain)

    def leave(self, name: str, why: str) -> None:
        """Record a member that is left out."""
        if len(self.left) < 20:
            self.left.append(f"{shown(name)} is left out: {why}")

    def take(self, name: str, place: Path, file: IO[bytes]) -> None:
        """Write a member to its path."""
        content = file.read(FILE_BYTES + 1)
        if len(content) > FILE_BYTES:
            self.leave(name, f"larger than {FILE_BYTES:,} bytes")
            return
        self.taken += 1
        self.taken_bytes += len(content)
        if self.taken > FILES or self.taken_bytes > TAKEN_BYTES:
            raise RejectedArchive(
                f"the archive holds more than {FILES:,} C files or {TAKEN_BYTES:,} bytes of them",
                "send the stage only",
            )
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def shown(name: str) -> str:
    """Return a name for a one-line message, in ASCII and with at most 80 characters."""
    text = ascii(name)
    return text if len(text) <= 80 else f"{text[:77]}..."


class BoundedStream:
    """A stream that raises RejectedArchive when too many bytes have been read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.room = EXPANDED

    def read(self, size: int = -1) -> bytes:
        """Read up to size bytes, like a file; tarfile always passes size."""
        content = self.file.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self.room -= len(content)
        if self.room < 0:
            raise RejectedArchive(
                f"the archive unpacks to more than {EXPANDED:,} bytes", "send the sources only"
            )
        return content


def opened(path: Path) -> Any:
    """Open a tar file, decompressing it if necessary."""
    import bz2
    import gzip

    with path.open("rb") as file:
        begin = file.read(6)
    if begin.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    if begin.startswith(b"BZh"):
        return bz2.open(path)
    if begin.startswith(b"\xfd7zXZ"):
        return lzma.open(path)
    return path.open("rb")  # noqa: SIM115


def take_tar(path: Path, taker: MemberExtractor) -> None:
    """Extract the C files of a tar."""
    with opened(path) as packed:
        stream: Any = BoundedStream(packed)
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            while (member := archive.next()) is not None:
                place = taker.place(member.name)
                file = archive.extractfile(member) if place and member.isreg() else None
                if place and file:
                    taker.take(member.name, place, file)
                elif place:
                    taker.leave(member.name, "not a plain file")


def take_zip(path: Path, taker: MemberExtractor) -> None:
    """Extract the C files of a zip."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 65_557))
        end = file.read()
    at = end.rfind(b"PK\5\6")
    if at >= 0 and len(end) >= at + 16 and struct.unpack_from("<I", end, at + 12)[0] > ZIP_LIST:
        raise RejectedArchive(
            f"the archive holds more than {MEMBERS:,} files", "omit .git and build/"
        )
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            place = taker.place(member.filename)
            if not place or member.is_dir():
                continue
            if member.external_attr >> 28 not in (0, 8):  # Unix file type: 8 regular, 0 unknown
                taker.leave(member.filename, "not a plain file")
            elif member.flag_bits & 1:
                raise RejectedArchive("the archive is encrypted", "send it without a password")
            else:
                with archive.open(member) as file:
                    taker.take(member.filename, place, file)


def answer(path: Path, folder: Path) -> dict[str, Any]:
    """Return the result to print."""
    taker = MemberExtractor(folder)
    try:
        with path.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        (take_zip if is_zip else take_tar)(path, taker)
    except RejectedArchive as rejected:
        return {"refused": rejected.args}
    except NO_ARCHIVE + (ValueError, NotImplementedError, RuntimeError) as error:
        message = str(error).splitlines()[:1]
        reason = shown(message[0] if message else "")
        damaged = RejectedArchive(
            f"the archive is damaged, or no zip or tar ({reason})", "send a zip or a tar"
        )
        return {"refused": damaged.args}
    return {"taken": taker.taken, "left": taker.left}


if __name__ == "__main__":
    print(json.dumps(answer(Path(sys.argv[1]), Path(sys.argv[2]))))
