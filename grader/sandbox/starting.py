# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Prepare the start of a sandbox: the supervisor, bubblewrap's arguments, a user, sealed files."""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from grader.base import paths
from grader.base.errors import LabError, check_disk
from grader.sandbox import mounts as rooms
from grader.sandbox.limits import ResourceLimits
from grader.sandbox.mounts import SandboxView

SOURCE = Path(__file__).with_name("supervisor.c")
_ONE_AT_A_TIME = threading.Lock()
_count = itertools.count()


class SetUpError(LabError):
    """The sandbox could not be set up. The problem is the error message of bubblewrap."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, "run make doctor")


def bubblewrap(
    view: SandboxView,
    limits: ResourceLimits,
    uid: int | None,
    cwd: Path,
    info: int | None,
    fds: list[int],
    handed: ExitStack,
) -> list[str]:
    """Return the command line up to the supervisor's options. Append inherited files to fds."""
    if uid is not None:
        rooms.check_readable(view.needs)
    call = [shutil.which(rooms.BWRAP) or rooms.BWRAP]
    program = rooms.seccomp_program()
    if program is not None:
        fds.append(handed.enter_context(sealed(program)))
        call += ["--seccomp", str(fds[-1])]
    places = rooms.command(view, limits, supervisor(), cwd, info)
    # Pass the arguments in a file, because every process in the sandbox can read the command line.
    fds.append(handed.enter_context(sealed("\0".join(places).encode())))
    return [*call, "--args", str(fds[-1]), "--", rooms.SUPERVISOR]


def unused_user() -> int:
    """Return a user ID that no other user or run has, so that they share no files or limits."""
    number = (os.getpid() << 8 | next(_count) & 0xFF) & 0x3FFF_FFFF
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    first, _, count = max((tuple(map(int, line.split())) for line in lines), key=lambda m: m[2])
    if count > 1 << 31:
        return 0x4000_0000 + number
    if count < 2:
        raise SetUpError("no unused user ID: this root is the only user of its namespace")
    return int(first + 1 + number % (count - 1))


@contextmanager
def sealed(content: bytes) -> Iterator[int]:
    """Yield a descriptor of a file in memory with this content, sealed against changes."""
    fd = os.memfd_create("input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        file.seek(0)
        yield fd


def supervisor() -> Path:
    """Return the supervisor program; compile it if it is missing."""
    with _ONE_AT_A_TIME:
        program = paths.BUILD / "sandbox" / f"supervisor-{_digest()}"
        return program if program.is_file() else _built_supervisor(program)


@cache
def _digest() -> str:
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]


def _built_supervisor(program: Path) -> Path:
    program.parent.mkdir(parents=True, exist_ok=True)
    new = program.with_suffix(f".new{os.getpid()}")
    flags = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-static", "-s")
    gcc = subprocess.run(
        ["gcc", *flags, "-o", str(new), str(SOURCE)], capture_output=True, text=True
    )
    if gcc.returncode:
        check_disk(program.parent)
        raise LabError(
            f"supervisor.c does not compile: {gcc.stderr.strip().splitlines()[-1]}",
            "run make doctor",
        )
    new.replace(program)
    return program
