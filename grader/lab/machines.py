# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define the interface of machines, on which modules can be loaded, and list all machines.

Each machine has its own file and implements `Machine` below; other code uses only this interface.
To add a machine, write its file and add its name to MACHINES. The caller chooses the files in the
machine and the module to load.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from grader.base.errors import LabError
from grader.lab.guest_channel import GuestChannel
from grader.lab.module import Kernel

# The location of each machine: a Python module, and a name in it.
MACHINES = {
    "uml": "grader.lab.uml:MACHINE",
    "uml-debug": "grader.lab.uml_debug:MACHINE",
    "qemu": "grader.lab.qemu:MACHINE",
    "qemu-smp": "grader.lab.qemu:SMP",
    "qemu-kvm": "grader.lab.qemu:KVM",
    "host": "grader.lab.host:MACHINE",
}


@dataclass(frozen=True)
class Contents:
    """The contents of a machine besides busybox and the lab's own programs.

    Modules must be below /lib and programs in /bin, because machine host translates only these
    paths in commands.
    """

    files: Mapping[str, Path] = field(default_factory=dict)  # Files by their path in the machine.
    module: str = ""  # The name of the module that will be loaded, as rmmod takes it.
    nodes: tuple[str, ...] = ()  # Device nodes that the user must be able to open after the load.
    vectors: bool = False  # True if an emulated CPU must have AVX2 and FMA.


NOTHING = Contents()


class Running(Protocol):
    """A machine that is up. Commands go through its channel."""

    @property
    def folder(self) -> Path:
        """The folder on this computer with the machine's files."""

    @property
    def channel(self) -> GuestChannel:
        """The channel for commands to the machine."""

    @property
    def speed_factor(self) -> float:
        """The slowness relative to the machine for which time-outs were chosen, at least 1."""

    def console(self) -> str:
        """Return all kernel messages so far."""

    def alive(self) -> bool:
        """Return whether the machine is still up."""

    def killed(self) -> bool:
        """Return whether the machine ended because this computer killed it."""

    def owner_as_made(self, uid: int, gid: int) -> tuple[int, int]:
        """Return the original owner of a node, given its current owner.

        The two owners differ only on machine host, which runs chown after insmod.
        """

    def stop(self) -> None:
        """Kill the machine at once and remove its files."""


class Machine(Protocol):
    """A kind of machine, which can be booted."""

    name: str
    metric: str  # "ns", "instructions", or "" if the machine cannot measure.
    debug: bool  # True if the machine's kernel has checkers, which make it many times slower.
    cpus: int  # Number of CPUs of the guest.
    is_host: bool  # True if the machine is this computer and not a guest.

    def verifier(self) -> Machine:
        """Return the machine for verification: this or a faster machine with the same kernel."""

    def facts(self) -> dict[str, str]:
        """Return further facts on which the measurements depend, for the report."""

    def kernel(self) -> Kernel:
        """Return the kernel that modules are built for; set it up if it is missing."""

    def boot(self, contents: Contents = NOTHING) -> Running:
        """Start a machine with these contents; it ends with this process."""

    def boot_to_stay(self, contents: Contents, folder: Path) -> Running:
        """Start a machine that stays up after this process; its files are in folder."""

    def attach(self, folder: Path) -> Running | None:
        """Return the machine that stays up in folder, or None."""


class CountingMachine(Machine, Protocol):
    """A kind of machine whose emulator counts the guest's instructions: see plugin.py."""

    def boot(self, contents: Contents = NOTHING, digits: int | None = None) -> Running:
        """Start a machine. digits: count instructions, and record at most that many digits."""

    def cannot_count(self) -> str:
        """Return why the machine cannot count instructions, in one line; "" if it can."""


def counting() -> CountingMachine:
    """Return the machine that counts instructions. Raise LabError if it cannot."""
    from grader.lab import qemu

    machine: CountingMachine = qemu.MACHINE
    machine.kernel()
    reason = machine.cannot_count()
    if reason:
        raise LabError(
            f"{qemu.QEMU} supports no plugins, so instructions cannot be counted: {reason}",
            "run make doctor",
        )
    return machine


def get(name: str) -> Machine:
    """Return the machine with this name; raise LabError if it does not exist."""
    if name not in MACHINES:
        raise LabError(f"machine {name} does not exist", f"choose one of {', '.join(MACHINES)}")
    module, attribute = MACHINES[name].split(":")
    machine: Machine = getattr(importlib.import_module(module), attribute)
    return machine
