# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What it means when a machine does not do what was asked: a crash, a time-out, an error."""

from __future__ import annotations

from grader.base.errors import MachineDied, MachineError, MachineKilled, MachineTimeout
from grader.base.finding import Finding
from grader.lab import kernel_log
from grader.lab.machines import Running
from grader.lab.module import Module, large_frame


def classify(
    error: MachineError,
    guest: Running,
    module: Module,
    otherwise: str = "wrong",
    late: str = "",
) -> Finding:
    """The finding that an error of the machine is, given the module that was at work.

    A machine that has ended is a crash, whatever was being waited for: the log says of what. One
    that is up and does not answer is a time-out, with the cause `late` if that is given. All else
    has the status `otherwise`. Raise MachineKilled for a machine that was killed on this computer,
    which says nothing about the module.
    """
    console = guest.console()
    if isinstance(error, MachineDied) or not guest.alive():
        if guest.killed():
            raise MachineKilled
        return kernel_log.crash(console, module)
    dirt = kernel_log.first_problem(console, module)
    frame = large_frame(module)
    extra = f"; the kernel log says: {dirt.cause}" if dirt else f"; {frame}" if frame else ""
    timeout = isinstance(error, MachineTimeout)
    cause = late if timeout and late else str(error)
    status = "timeout" if timeout else otherwise
    return Finding(status, f"{cause}{extra}", kernel_log.excerpt(console, module))
