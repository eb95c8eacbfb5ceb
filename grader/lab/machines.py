# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The machines a module can be loaded on. One file each; the rest does not know which it has.

A machine is a class with what `Machine` below lists. To add one, write its file and name it in
MACHINES; nothing else changes. What is on board, and what is to be loaded, the caller says.
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

# Where each is: a module, and a name in it.
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
    """What a machine has on board besides busybox and the lab's own programs.

    On machine host, files are made known to commands under their names in a guest: modules are to
    lie below /lib, programs in /bin.
    """

    files: Mapping[str, Path] = field(default_factory=dict)  # by path in the machine
    module: str = ""  # the name of the module that will be loaded, as rmmod takes it
    nodes: tuple[str, ...] = ()  # what its user must be allowed to open once it is loaded
    vectors: bool = False  # whether an emulated CPU must have AVX2 and FMA


NOTHING = Contents()


class Running(Protocol):
    """A machine that is up. What can be asked of it goes through its channel."""

    @property
    def folder(self) -> Path:
        """Its files on this computer."""

    @property
    def channel(self) -> GuestChannel:
        """The line to the machine."""

    @property
    def speed_factor(self) -> float:
        """How many times slower it is than the lab machine of the design, at least 1."""

    def console(self) -> str:
        """All that its kernel has said so far."""

    def alive(self) -> bool:
        """Whether it is still up."""

    def killed(self) -> bool:
        """Whether it has ended because somebody on this computer has killed it."""

    def owner_as_made(self, uid: int, gid: int) -> tuple[int, int]:
        """Whose a node was when it was made, given whose it is: machine host gives it away."""

    def stop(self) -> None:
        """End it, at once and for good."""


class Machine(Protocol):
    """A kind of machine."""

    name: str
    metric: str  # "ns", "instructions", or "" where nothing is measured
    debug: bool  # its kernel has checkers of its own, and is many times slower
    cpus: int  # how many CPUs its guest has
    is_host: bool  # it is this computer, where a fault is a real one, and no guest

    def verifier(self) -> Machine:
        """The machine to verify on: this one, or a faster one with the same kernel."""

    def facts(self) -> dict[str, str]:
        """What else the figures depend on, for the report."""

    def kernel(self) -> Kernel:
        """The kernel that modules are built for; set up when it is missing."""

    def boot(self, contents: Contents = NOTHING) -> Running:
        """Start one with these contents; it ends with this process."""

    def boot_to_stay(self, contents: Contents, folder: Path) -> Running:
        """The same, to stay up after this process; its files are in folder."""

    def attach(self, folder: Path) -> Running | None:
        """The machine that stays up in folder, if there is one."""


class CountingMachine(Machine, Protocol):
    """A kind of machine whose instructions its emulator counts: see plugin.py."""

    def boot(self, contents: Contents = NOTHING, digits: int | None = None) -> Running:
        """Start one; digits: count its instructions and record at most that many digits."""

    def cannot_count(self) -> str:
        """Return why instructions cannot be counted there, in one line; "" if they can."""


def counting() -> CountingMachine:
    """Return the machine that counts instructions. Raise LabError if it cannot."""
    from grader.lab import qemu

    machine: CountingMachine = qemu.MACHINE
    machine.kernel()
    reason = machine.cannot_count()
    if reason:
        raise LabError(f"{qemu.QEMU} takes no plugin, so no instructions are counted: {reason}")
    return machine


def get(name: str) -> Machine:
    """The machine of that name."""
    if name not in MACHINES:
        raise LabError(f"there is no machine {name}: choose one of {', '.join(MACHINES)}")
    module, attribute = MACHINES[name].split(":")
    machine: Machine = getattr(importlib.import_module(module), attribute)
    return machine
