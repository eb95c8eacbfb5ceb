# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Classify a MachineError as a crash, a time-out or another failure."""

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
    """Return the finding for an error of a machine in which a module was running.

    If the machine has ended, the finding is a crash, and its cause comes from the kernel log. If
    the machine is up but does not answer, the finding is a time-out with the cause `late`, if that
    is given. Every other error has the status `otherwise`. Raise MachineKilled if this computer
    killed the machine, because that is no evidence against the module.
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
