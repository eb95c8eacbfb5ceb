# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find out why, and in which function, a program ended its machine."""

from __future__ import annotations

import re

from electives.kbench.program import Program
from grader.base.errors import LabError, MachineDied, MachineError, MachineTimeout
from grader.lab.machines import Running

# Patterns of the kernel log with their meaning; the first pattern that matches counts.
_MEANS = (
    (r"PANIC: double fault|stack guard page was hit|kernel stack overflow",
     "the stack is full: recursion without end, or very large variables"),
    (r"NULL pointer dereference, address: 0*([0-9a-f]+)", "a null pointer is followed"),
    (r"unable to handle page fault for address: ([0-9a-f]+)",
     "a bad pointer is followed (0x{0})"),
    (r"Kernel mode fault at addr 0x0{0,5}[0-9a-f]{1,3},", "a null pointer is followed"),
    (r"Kernel mode fault at addr (0x[0-9a-f]+)", "a bad pointer is followed ({0})"),
    (r"divide error|Kernel mode signal 8", "a division by zero, or a quotient that is too large"),
    (r"general protection fault", "a bad pointer is followed: it is no address at all"),
    (r"invalid opcode|Kernel mode signal 4",
     "an instruction that this processor does not have, or a place that cannot be reached"),
)  # fmt: skip


class ProgramFailure(Exception):
    """A program crashed or hung its machine. The message is one line."""

    def __init__(self, text: str, timeout: bool) -> None:
        super().__init__(text)
        self.timeout = timeout


def classify(error: MachineError, guest: Running, machine: str, program: Program) -> ProgramFailure:
    """Return the failure of the program that caused an error of the machine."""
    console = guest.console()
    if isinstance(error, MachineDied) or not guest.alive():
        if guest.killed():
            raise LabError(
                "the machine was killed on this computer, probably because memory is short",
                "close other programs and run the command again",
            )
        return ProgramFailure(
            f"{meaning(console)}{_inside(console, program)}: it ends machine {machine}", False
        )
    if isinstance(error, MachineTimeout):
        message = meaning(console, "")
        about = f": {message}{_inside(console, program)}" if message else ""
        # On uml, a fault on a stack that the kernel does not know hangs the machine: see the
        # handout.
        where = "; a fault also hangs it, and machine=qemu shows where" if machine == "uml" else ""
        return ProgramFailure(f"machine {machine} does not answer in time{about}{where}", True)
    # The last line of a failed command contains the reason. If the kernel rejects the module, the
    # reason is in the kernel log.
    message = str(error).splitlines()[-1].rsplit(": exit 1: ", 1)[-1]
    refused = re.search(
        r".*(?:relocation|[Uu]nknown symbol|Unknown rela|disagrees about).*", console
    )
    log = f"; the kernel log says: {refused[0].strip()}" if refused else ""
    return ProgramFailure(f"machine {machine}: {message}{log}", False)


def meaning(console: str, otherwise: str = "it printed nothing") -> str:
    """Return the meaning of the first error in a kernel log."""
    for pattern, text in _MEANS:
        if match := re.search(pattern, console):
            return text.format(*match.groups())
    lines = re.findall(r"(?:BUG|Oops|Kernel panic|WARNING).*", console)
    return lines[0].strip() if lines else otherwise


def _inside(console: str, program: Program) -> str:
    """Return " in FUNCTION" for the program's first function in the log, or "".

    The instruction pointer comes before functions on the stack.
    """
    lines = console.splitlines()
    lines = [x for x in lines if "RIP:" in x] + [x for x in lines if "RIP:" not in x]
    for line in lines:
        for symbol in re.findall(r"\b([A-Za-z_$][\w.$]*)\+0x[0-9a-f]+/0x[0-9a-f]+", line):
            name = "main" if symbol == "kbench_main" else symbol
            if name in program.functions:
                return f" in {name}"
    return ""
