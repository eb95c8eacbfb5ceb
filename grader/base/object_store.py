# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Keep compiled and translated files in the lab's cache, by a digest of all that they depend on.

An entry is one file, which is written atomically and holds a digest of its content. A damaged entry
counts as absent. The store holds no file that was compiled from an untrusted source.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from grader.base import paths

FOLDER = paths.CACHE / "objects"
# The maximum size of all entries together. Beyond this size, the least recently used entries are
# removed. The tests of the kit make more than 300 MB. With so low a limit, each run of the tests
# would remove what the next run needs.
LIMIT_BYTES = 1 << 30
# To look at all entries takes longer than to store one, so only one entry in so many does it.
TRIM_EVERY = 16
_DIGEST_BYTES = hashlib.sha256().digest_size


def key(*parts: object) -> str:
    """Return a digest of the inputs of a program: texts, bytes, numbers and tuples of them."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def compiler_version(compiler: str) -> str:
    """Return the first line of a compiler's --version, or "" if it cannot be started."""
    with suppress(OSError):
        run = subprocess.run([compiler, "--version"], capture_output=True, text=True)
        return run.stdout.partition("\n")[0]
    return ""


def fetch(name: str) -> dict[str, bytes]:
    """Return the files that are stored under a key, or {} if the entry is missing or damaged."""
    path = FOLDER / name
    try:
        data = path.read_bytes()
        os.utime(path)
    except OSError:
        return {}
    digest, content = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() != digest:
        with suppress(OSError):
            path.unlink()
        return {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {member: archive.read(member) for member in archive.namelist()}


def keep(name: str, files: Mapping[str, bytes]) -> None:
    """Store files under a key. Do nothing if the cache cannot be written."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as to:
        for member, data in files.items():
            to.writestr(member, data)
    content = archive.getvalue()
    with suppress(OSError):
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=FOLDER, delete=False) as new:
            new.write(hashlib.sha256(content).digest() + content)
        Path(new.name).replace(FOLDER / name)
        if int(name, 16) % TRIM_EVERY == 0:
            _trim()


def _trim() -> None:
    """Remove old entries until the limit is met. Other processes may remove the same entries."""
    found: list[tuple[float, int, Path]] = []
    for path in FOLDER.iterdir():
        with suppress(FileNotFoundError):
            about = path.stat()
            found.append((about.st_mtime, about.st_size, path))
    too_much = sum(size for _, size, _ in found) - LIMIT_BYTES
    for _, size, path in sorted(found):
        if too_much <= 0:
            return
        path.unlink(missing_ok=True)
        too_much -= size
