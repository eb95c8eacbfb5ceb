# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The machines a stage can be loaded on. One file each; the rest does not know which it has.

A machine is a class with what `Machine` below lists. To add one, write its file and name it in
MACHINES; nothing else changes.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol

from grader.base.errors import LabError
from grader.lab.wire import Wire
from grader.stage.build import Kernel

# Where each is: a module, and a name in it.
MACHINES = {
    "uml": "grader.lab.uml:MACHINE",
    "uml-debug": "grader.lab.uml_debug:MACHINE",
    "qemu": "grader.lab.qemu:MACHINE",
    "qemu-smp": "grader.lab.qemu:SMP",
    "qemu-kvm": "grader.lab.qemu:KVM",
    "host": "grader.lab.host:MACHINE",
}


class Running(Protocol):
    """A machine that is up. What can be asked of it goes through its wire."""

    @property
    def wire(self) -> Wire:
        """The line to the machine."""

    @property
    def speed_factor(self) -> float:
        """How many times slower it is than the lab machine of the design, at least 1."""

    def console(self) -> str:
        """All that its kernel has said so far."""

    def alive(self) -> bool:
        """Whether it is still up."""

    def stop(self) -> None:
        """End it, at once and for good."""


class Machine(Protocol):
    """A kind of machine."""

    name: str
    ruler: str

    def verifier(self) -> Machine:
        """The machine to verify on: this one, or a faster one with the same kernel."""

    def facts(self) -> dict[str, str]:
        """What else the figures depend on, for the report."""

    def kernel(self) -> Kernel:
        """The kernel that modules are built for; set up when it is missing."""

    def boot(self, modules: dict[str, Path]) -> Running:
        """Start one with these modules at /lib/fibdrv/NAME.ko; it ends with this process."""

    def boot_to_stay(self, modules: dict[str, Path], folder: Path) -> Running:
        """The same, to stay up after this process; its files are in folder."""

    def attach(self, folder: Path) -> Running | None:
        """The machine that stays up in folder, if there is one."""


def get(name: str) -> Machine:
    """The machine of that name."""
    if name not in MACHINES:
        raise LabError(f"there is no machine {name}: choose one of {', '.join(MACHINES)}")
    module, attribute = MACHINES[name].split(":")
    machine: Machine = getattr(importlib.import_module(module), attribute)
    return machine
