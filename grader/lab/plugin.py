# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run QEMU with the plugin that counts instructions, and read what the plugin has written."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.base.errors import MachineError
from grader.lab import guest_program

OUTPUT, ADDRESSES = "counts", "addresses"
# The numbers of markers: guest/marker.h has the same.
BEGIN, RETURNED, END = "m16", "m17", "m18"
# Seconds that QEMU may take to load a plugin and to end.
PROBE_SECONDS = 60.0


def program() -> Path:
    """Return the plugin, compiled."""
    return guest_program.counting_plugin()


def output(folder: Path) -> Path:
    """Make the file that the plugin writes to, for whichever user QEMU runs as."""
    path = folder / OUTPUT
    path.touch()
    path.chmod(0o666)  # the folder is its owner's alone
    return path


def options(folder: Path, digits: int) -> list[str]:
    """Return QEMU's options for a machine whose files are in folder.

    digits: how many digits the machine may speak.
    """
    watch(folder, ())
    words = [str(program())]
    words += [f"out={folder / OUTPUT}", f"at={folder / ADDRESSES}", f"digits={digits}"]
    return ["-plugin", ",".join(word.replace(",", ",,") for word in words)]


def watch(folder: Path, addresses: Sequence[int]) -> None:
    """Have the execution of these addresses recorded, from the next marker READY on."""
    (folder / ADDRESSES).write_text("".join(f"{address:x}\n" for address in addresses))


@dataclass(frozen=True)
class Counts:
    """Instructions, by the region of memory that they are in; interrupts of the kernel.

    products: the products of 32-bit words that the module's instructions made.
    """

    user: int
    kernel: int
    module: int
    elsewhere: int
    products: int
    interrupts: int
    interrupted: int  # of the kernel's, those of interrupts

    def __sub__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, k) - getattr(other, k) for k in self.__dataclass_fields__))

    @property
    def work(self) -> int:
        """The instructions of a system call: those of the kernel and its modules."""
        return self.kernel - self.interrupted + self.module + self.elsewhere


@dataclass(frozen=True)
class Event:
    """A marker or an address that was executed: what had been counted by then."""

    name: str  # "m16" for marker 16, "a0" for the first address
    counts: Counts
    digits: str  # spoken since the event before


def events(folder: Path) -> list[Event]:
    """Read the events of a machine. Raise MachineError if the machine made more than fit."""
    found: list[Event] = []
    digits = ""
    try:
        for line in (folder / OUTPUT).read_text().splitlines():
            name, *numbers = line.split()
            if name == "digits":
                digits = numbers[0]
            elif name == "full":
                raise MachineError("the machine makes more events than are recorded")
            else:
                found.append(Event(name, Counts(*map(int, numbers)), digits))
                digits = ""
    except (OSError, ValueError, TypeError) as error:
        raise MachineError(f"the counts of the plugin cannot be read: {error}") from error
    return found


@cache
def why_unavailable(qemu: str) -> str:
    """Return why a QEMU does not take the plugin, in one line; "" if it does."""
    with tempfile.TemporaryDirectory() as folder:
        command: Sequence[str] = [
            qemu, "-machine", "none", "-accel", "tcg", "-nodefaults", "-display", "none",
            "-monitor", "stdio", *options(Path(folder), 0),
        ]  # fmt: skip
        try:
            run = subprocess.run(
                command, input="quit\n", capture_output=True, text=True, timeout=PROBE_SECONDS
            )
        except subprocess.TimeoutExpired:
            return "it does not end"
    said = (run.stderr.strip().splitlines() or [f"status {run.returncode}"])[-1]
    return said if run.returncode else ""
