# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How things go wrong."""

from __future__ import annotations

from pathlib import Path


class LabError(Exception):
    """The run itself cannot be done. The text is one line that says what to do; exit 2."""


class MachineKilled(LabError):
    """Somebody has killed the machine, for want of memory most often: no fault of what it ran."""

    def __init__(self) -> None:
        super().__init__(
            "the machine was killed on this computer, for want of memory most often: nothing"
            " can be said of what it ran; close other programs and try again"
        )


# What strerror says of a full disk; the tools are run in the C locale.
DISK_FULL = "No space left on device"


def check_disk(output: str, where: Path) -> None:
    """Raise LabError when a tool has found the disk full: that is no fault of the stage."""
    # The second is what kbuild's fixdep says of it.
    if DISK_FULL in output or "not all data was written" in output:
        raise LabError(f"{DISK_FULL}: {where}; free some, or set LAB_BUILD to a folder elsewhere")


def in_one_line(error: OSError) -> str:
    """An error of the system that nobody has expected, and where."""
    place = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{place}"


class MachineError(Exception):
    """The machine did not do what was asked of it."""


class MachineDied(MachineError):
    """The machine ended: a panic, most often."""


class MachineTimeout(MachineError):
    """No answer in time: something inside hangs or loops."""
