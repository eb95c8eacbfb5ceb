# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Start a program in the sandbox that runs until its caller ends it, such as an emulator."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox import mounts as rooms
from grader.sandbox.limits import ResourceLimits
from grader.sandbox.mounts import SandboxView
from grader.sandbox.running import WORD
from grader.sandbox.starting import bubblewrap, unused_user


@dataclass(frozen=True)
class ConfinedCommand:
    """A command line that runs a program in a sandbox until its caller ends it."""

    command: list[str]
    fds: list[int]  # Descriptors that the command must inherit.
    environment: dict[str, str]
    supervisor: socket.socket  # This end must stay open while the program runs.


@contextmanager
def confined_command(
    command: Sequence[str], limits: ResourceLimits, view: SandboxView
) -> Iterator[ConfinedCommand]:
    """Yield a command that starts a program in a sandbox.

    The caller must start the command before the context ends, in a process group of its own:
    killing that group kills everything in the sandbox. Of the limits only open_files, file_bytes
    and store_bytes apply.
    """
    uid = unused_user() if not os.geteuid() else None
    # SOCK_SEQPACKET keeps the boundaries of messages.
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    try:
        ours.send(b"g")  # start at once, since no files must be copied first
        with theirs, ExitStack() as handed:
            fds = [theirs.fileno()]
            call = bubblewrap(view, limits, uid, Path("/tmp"), None, fds, handed)
            sizes = {"nofile": limits.open_files, "fsize": limits.file_bytes, "core": 0}
            for name, value in sizes.items():
                call += ["-l", f"{name}={value}"]
            if uid is not None:
                call += ["-u", str(uid), *_let_in(view.shared, uid)]
            call += ["-s", str(theirs.fileno()), "--", *command]
            yield ConfinedCommand(call, fds, rooms.environment({}), ours)
    except BaseException:
        ours.close()
        raise


def _let_in(shared: tuple[Path, ...], uid: int) -> list[str]:
    """Make uid the owner of the FIFOs. Return the supervisor's option for a device's group."""
    options = []
    for path in shared:
        found = path.stat()
        if stat.S_ISFIFO(found.st_mode):
            os.chown(path, uid, uid)
        elif opens_by_group(found):
            options = ["-g", str(found.st_gid)]
    return options


def opens_by_group(device: os.stat_result) -> bool:
    """Return whether the device has a group other than root, whose members may open it."""
    return bool(device.st_gid) and device.st_mode & 0o060 == 0o060


def wait_status(supervisor: socket.socket) -> int | None:
    """Return the wait status of a confined program that has ended; None if it is unknown."""
    supervisor.setblocking(False)
    try:
        while message := supervisor.recv(WORD.size):
            if len(message) == WORD.size:
                return int(WORD.unpack(message)[0])
    except OSError:
        pass
    return None
