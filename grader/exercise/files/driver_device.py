# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Describe stage 0's device to the lab: its names, its client, and the traces to check for."""

from __future__ import annotations

from pathlib import Path

from grader.base import paths
from grader.base.errors import LabError
from grader.lab import guest_program
from grader.lab.machines import Contents, Machine

NAME = "first"  # the name of the module, its class and its device
NODE = "/dev/first"
CLIENT = "firstctl"
KO = "/lib/first/first.ko"
SOURCES = Path(__file__).resolve().parents[1] / "driver"

# The files that must be gone after unloading, and the lists that must not contain NAME any more.
LEFT_FILES = (NODE, f"/sys/class/{NAME}", f"/sys/class/misc/{NAME}")
LEFT_LISTS = ("/proc/devices", "/proc/misc")


def text(answer: str) -> str:
    """Return the text in the client's answer to the request "text"."""
    return answer.partition(" ")[2].encode().decode("unicode_escape")


def client() -> Path:
    """Return the statically linked client, which makes the system calls."""
    shared = [paths.COMMON / "batch.c", guest_program.GUEST / "fault_injection.c"]
    sources = [*sorted((SOURCES / "client").glob("*.c")), *shared]
    return guest_program.compiled(CLIENT, sources, [paths.COMMON, guest_program.GUEST])


def contents(module: Path) -> Contents:
    """Return the contents of a machine with the module and the client."""
    return Contents({KO: module, f"/bin/{CLIENT}": client()}, NAME, (NODE,))


def refuse_host(machine: Machine) -> None:
    """Raise LabError for machine host, because stage 0's faults may crash this computer."""
    if machine.is_host:
        raise LabError("stage 0 may break the kernel that it runs in", "omit machine=host")
