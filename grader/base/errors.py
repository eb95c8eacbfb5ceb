# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define the exceptions of the lab, and detect a full disk."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from grader.base import time_limits
from grader.base.printable import in_a_line


class LabError(Exception):
    """The command cannot be carried out. The text is one line that says what to do; exit 2."""


class HostFault(Exception):  # noqa: N818 - it is no error of what was being done
    """A fault of this computer. The text is one line that says what to do; exit 2.

    HostFault is no LabError, because code that turns a LabError into a verdict must not do so here.
    """


class MachineKilled(HostFault):
    """The machine was killed, usually because memory was short; the submission is not at fault."""

    def __init__(self) -> None:
        super().__init__(
            "the machine was killed on this computer, for want of memory most often: nothing"
            " can be said of what it ran; close other programs and try again"
        )


class ProgramKilled(HostFault):
    """A program was killed because memory was short; the program's input is not at fault."""

    def __init__(self) -> None:
        super().__init__(
            "a program was killed on this computer, probably because memory is short; close other"
            " programs and try again"
        )


# The text of strerror(ENOSPC).
DISK_FULL = "No space left on device"
# Upper bound of the space for the build of a stage. If less is free, a failure may be due to that.
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

    The tool's messages are no evidence, since a source file can choose them (#error, a file name).
    """
    for place, variable in ((folder, "LAB_BUILD"), (Path(tempfile.gettempdir()), "TMPDIR")):
        if disk_full(place):
            raise full_disk(place, variable)


def full_disk(place: Path, variable: str) -> HostFault:
    """Return the exception for a full disk, whose text names the variable to set."""
    return HostFault(f"{DISK_FULL}: {place}; free some, or set {variable} to a folder elsewhere")


def in_one_line(error: OSError) -> str:
    """Return the text of a system error and its file name, printable and in one line."""
    place = f": {in_a_line(os.fsdecode(error.filename))}" if error.filename else ""
    return f"{error.strerror or error}{place}"


class MachineError(Exception):
    """The machine did not do what was asked of it."""


class MachineDied(MachineError):
    """The machine ended unexpectedly, usually by a kernel panic."""


class MachineTimeout(MachineError):
    """The machine did not answer in time, because something in it hangs or loops."""

    def __init__(self, *words: object) -> None:
        super().__init__(*words)
        time_limits.note()
