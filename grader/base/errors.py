# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How things go wrong."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from grader.base import time_limits
from grader.base.printable import in_a_line


class LabError(Exception):
    """The run itself cannot be done. The text is one line that says what to do; exit 2."""


class HostFault(Exception):  # noqa: N818 - it is no error of what was being done
    """This computer is at fault. The text is one line that says what to do; exit 2.

    No LabError: who makes a verdict of one of those must not make one of this.
    """


class MachineKilled(HostFault):
    """Somebody has killed the machine, for want of memory most often: no fault of what it ran."""

    def __init__(self) -> None:
        super().__init__(
            "the machine was killed on this computer, for want of memory most often: nothing"
            " can be said of what it ran; close other programs and try again"
        )


class ProgramKilled(HostFault):
    """The system has killed a program because memory was short: no fault of what it was given."""

    def __init__(self) -> None:
        super().__init__(
            "a program was killed on this computer, probably because memory is short; close other"
            " programs and try again"
        )


# What strerror says of a full disk.
DISK_FULL = "No space left on device"
# What the build of a stage may take: with less, whoever fails may have failed by that.
DISK_BYTES = 16 << 20


def disk_full(folder: Path) -> bool:
    """Return whether the system refuses the space that a build takes in a folder."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, DISK_BYTES)
    except OSError as error:
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return False


def check_disk(folder: Path) -> None:
    """Raise HostFault where a tool has failed and the disk is full: no fault of the stage.

    The tool's own words are not asked, since a source chooses them: #error, a file's name.
    """
    for place, variable in ((folder, "LAB_BUILD"), (Path(tempfile.gettempdir()), "TMPDIR")):
        if disk_full(place):
            raise full_disk(place, variable)


def full_disk(place: Path, variable: str) -> HostFault:
    """Return the exception that says what to do about a full disk."""
    return HostFault(f"{DISK_FULL}: {place}; free some, or set {variable} to a folder elsewhere")


def in_one_line(error: OSError) -> str:
    """Describe an unexpected error of the system, and where it was; printable."""
    place = f": {in_a_line(os.fsdecode(error.filename))}" if error.filename else ""
    return f"{error.strerror or error}{place}"


class MachineError(Exception):
    """The machine did not do what was asked of it."""


class MachineDied(MachineError):
    """The machine ended: a panic, most often."""


class MachineTimeout(MachineError):
    """No answer in time: something inside hangs or loops."""

    def __init__(self, *words: object) -> None:
        super().__init__(*words)
        time_limits.note()
