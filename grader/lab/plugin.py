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
# Names of marker events; the numbers must agree with guest/marker.h.
BEGIN, RETURNED, END = "m16", "m17", "m18"
# Seconds that QEMU may take to load the plugin and to quit.
PROBE_SECONDS = 60.0


def program() -> Path:
    """Compile the plugin and return its path."""
    return guest_program.counting_plugin()


def output(folder: Path) -> Path:
    """Make the file that the plugin writes to, writable for the user that QEMU runs as."""
    path = folder / OUTPUT
    path.touch()
    path.chmod(0o666)  # World-writable is safe here, because only the owner can enter the folder.
    return path


def options(folder: Path, digits: int) -> list[str]:
    """Return QEMU's options for a machine whose files are in folder.

    digits: the maximum number of digits that the machine may send.
    """
    watch(folder, ())
    words = [str(program())]
    words += [f"out={folder / OUTPUT}", f"at={folder / ADDRESSES}", f"digits={digits}"]
    return ["-plugin", ",".join(word.replace(",", ",,") for word in words)]


def watch(folder: Path, addresses: Sequence[int]) -> None:
    """Make the plugin record each execution of these addresses from the next marker READY on."""
    (folder / ADDRESSES).write_text("".join(f"{address:x}\n" for address in addresses))


@dataclass(frozen=True)
class Counts:
    """The number of interrupts, and of executed instructions in each memory region.

    products: the products of 32-bit words that the module's instructions have computed.
    divisions: the module's division instructions.
    vectors: the module's instructions on vectors of 256 bits.
    accesses: the module's loads and stores.
    assembly: the part of the products whose instructions have the prefix DS.
    """

    user: int
    kernel: int
    module: int
    elsewhere: int
    products: int
    divisions: int
    vectors: int
    accesses: int
    assembly: int
    interrupts: int
    interrupted: int  # The instructions counted in `kernel` that belong to interrupts.

    def __sub__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, k) - getattr(other, k) for k in self.__dataclass_fields__))

    @property
    def work(self) -> int:
        """The instructions of system calls in the kernel and its modules, without interrupts."""
        return self.kernel - self.interrupted + self.module + self.elsewhere


@dataclass(frozen=True)
class Event:
    """The execution of a marker or of a watched address, with the counts at that time."""

    name: str  # "m16" for marker 16, "a0" for the first address.
    counts: Counts
    digits: str  # The digits that were sent since the previous event.


def recorded(folder: Path) -> int:
    """Return the number of bytes of the events that a machine has recorded so far."""
    try:
        return (folder / OUTPUT).stat().st_size
    except OSError as error:
        raise MachineError(f"the counts of the plugin cannot be read: {error}") from error


def events(folder: Path, begin: int = 0) -> list[Event]:
    """Read the events of a machine. Raise MachineError if some could not be recorded.

    begin: a result of recorded(); events before it are left out.
    """
    found: list[Event] = []
    digits = ""
    try:
        for line in (folder / OUTPUT).read_bytes()[begin:].decode().splitlines():
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
    """Return why this QEMU cannot load the plugin, in one line; "" if it can."""
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
            return "QEMU does not end"
    output = (run.stderr.strip().splitlines() or [f"status {run.returncode}"])[-1]
    return output if run.returncode else ""
