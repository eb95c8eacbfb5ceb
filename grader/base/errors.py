# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define the exceptions of the lab, and detect a full disk."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from grader.base import time_limits
from grader.base.printable import in_a_line


class CommandError(Exception):
    """The command failed with exit status 2. The message is one line: problem and action."""

    def __init__(self, problem: str, action: str) -> None:
        super().__init__(problem, action)
        self.problem, self.action = problem, action

    def __str__(self) -> str:
        return " ".join(f"{self.problem}; {self.action}".splitlines())


class LabError(CommandError):
    """The command cannot be run, because its arguments are wrong or a program is missing."""


class HostFault(CommandError):
    """A fault of this computer.

    HostFault is not a LabError: some code turns a LabError into a verdict, and a fault of this
    computer must never become a verdict.
    """


class MachineKilled(HostFault):
    """The machine was killed, usually because memory was short, not because of the submission."""

    def __init__(self) -> None:
        super().__init__(
            "the machine was killed on this computer, probably because memory is short",
            "close other programs and run the command again",
        )


class ProgramKilled(HostFault):
    """A program was killed because memory was short, not because its input is wrong."""

    def __init__(self) -> None:
        super().__init__(
            "a program was killed on this computer, probably because memory is short",
            "close other programs and run the command again",
        )


# The text of strerror(ENOSPC).
DISK_FULL = "No space left on device"
# Upper bound of the space that the build of a stage needs. If less is free, the full disk may be
# the cause of a failure.
DISK_BYTES = 16 << 20


def disk_full(folder: Path) -> bool:
    """Return whether a folder lacks the space that a build may need (DISK_BYTES)."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, DISK_BYTES)
    except OSError as error:
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return False


def check_disk(folder: Path) -> None:
    """Raise HostFault if the disk is full. Call this after a tool has failed.

    Do not rely on the tool's messages, because a source file can forge them (#error, a file name).
    """
    for place, variable in ((folder, "LAB_BUILD"), (Path(tempfile.gettempdir()), "TMPDIR")):
        if disk_full(place):
            raise full_disk(place, variable)


def full_disk(place: Path, variable: str) -> HostFault:
    """Return the exception for a full disk; its message tells the user which variable to set."""
    return HostFault(
        f"{place}: {DISK_FULL}", f"free some space, or set {variable} to another folder"
    )


def in_one_line(error: OSError) -> str:
    """Return the file name and the text of a system error, printable and in one line."""
    place = f"{in_a_line(os.fsdecode(error.filename))}: " if error.filename else ""
    return f"{place}{error.strerror or error}"


class MachineError(Exception):
    """The machine did not carry out a request."""


class MachineDied(MachineError):
    """The machine ended unexpectedly, usually by a kernel panic."""


class MachineTimeout(MachineError):
    """The machine did not answer in time, because a program in the machine hangs or loops."""

    def __init__(self, *words: object) -> None:
        super().__init__(*words)
        time_limits.note()
