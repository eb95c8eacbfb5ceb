# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compile static programs for a guest and the plugin for its emulator, if sources have changed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from grader.base import object_store, paths
from grader.base.errors import LabError, check_disk

GUEST = Path(__file__).resolve().parent / "guest"
PLUGIN = GUEST.with_name("plugin")
STATIC = ("-static", "-s", "-lm", "-pthread")
# The plugin may have undefined symbols: weak functions that some versions of QEMU lack.
SHARED = ("-shared", "-fPIC", "-fvisibility=hidden")
_ONE_AT_A_TIME = threading.Lock()


def compiled(name: str, sources: Sequence[Path], include: Sequence[Path] = ()) -> Path:
    """Return a static program of these C files. include: further folders with headers."""
    with _ONE_AT_A_TIME:
        return _compiled(paths.BUILD / "guest" / name, sources, include)


def _compiled(
    output: Path,
    sources: Sequence[Path],
    include: Sequence[Path],
    options: Sequence[str] = STATIC,
) -> Path:
    folders = dict.fromkeys([sources[0].parent, *include])
    headers = [header for folder in folders for header in sorted(folder.glob("*.h"))]
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in [*sources, *headers])).hexdigest()
    stamp = output.with_suffix(".digest")
    if output.is_file() and stamp.is_file() and stamp.read_text() == digest:
        return output
    output.parent.mkdir(parents=True, exist_ok=True)
    new = output.with_suffix(f".new{os.getpid()}")
    flags = ("-std=gnu11", "-O2", "-Wall", "-Wextra")
    stored = object_store.key(object_store.compiler_version("gcc"), flags, options, digest)
    if found := object_store.fetch(stored):
        new.write_bytes(found["program"])
        new.chmod(0o755)
    else:
        gcc = subprocess.run(
            ["gcc", *flags, *(f"-I{folder}" for folder in include), "-o", str(new),
             *map(str, sources), *options],
            capture_output=True,
            text=True,
        )  # fmt: skip
        if gcc.returncode:
            check_disk(output.parent)
            raise LabError(
                f"{output.name} does not compile: {gcc.stderr.strip().splitlines()[-1]}",
                "run make doctor",
            )
        object_store.keep(stored, {"program": new.read_bytes()})
    new.replace(output)
    stamp.write_text(digest)
    return output


def agent() -> Path:
    """Compile the program at the guest's end of the channel: see guest/agent.c."""
    return compiled("agent", [GUEST / "agent.c"])


def cost() -> Path:
    """Compile the program that measures a write to a file: see guest/cost.c."""
    return compiled("cost", [GUEST / "cost.c"])


def file_transfer() -> Path:
    """Compile the program that copies files into a running QEMU: see guest/file_transfer.c."""
    return compiled("file_transfer", [GUEST / "file_transfer.c"])


def counting_plugin() -> Path:
    """Compile QEMU's plugin that counts instructions: see plugin/count.c."""
    with _ONE_AT_A_TIME:
        output = paths.BUILD / "guest" / "count.so"
        return _compiled(output, [PLUGIN / "count.c"], [GUEST], SHARED)
