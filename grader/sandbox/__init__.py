# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run a command within resource limits, and untrusted commands in a sandbox.

    view = SandboxView(read=kernel_build_paths(tree), write=(directory,))
    result = run(["make", ...], COMPILER, view, together=True)

Without a view the command runs with the caller's permissions, but the limits apply as well. In both
cases all processes of the command have ended when the call returns or when the caller has ended.

If the caller is root, a sandboxed command runs as an unused user, a new one for each command,
because the kernel does not limit the number of root's processes.
"""

from __future__ import annotations

from grader.sandbox.availability import require, why_unavailable
from grader.sandbox.limits import ARCHIVE, COMPILER, MACHINE, PROGRAM, CommandResult, ResourceLimits
from grader.sandbox.long_running import (
    ConfinedCommand,
    confined_command,
    opens_by_group,
    wait_status,
)
from grader.sandbox.mounts import SandboxView, kernel_build_paths
from grader.sandbox.running import run
from grader.sandbox.starting import SetUpError

__all__ = [
    "ARCHIVE",
    "COMPILER",
    "MACHINE",
    "PROGRAM",
    "ConfinedCommand",
    "CommandResult",
    "ResourceLimits",
    "SandboxView",
    "SetUpError",
    "confined_command",
    "kernel_build_paths",
    "opens_by_group",
    "why_unavailable",
    "require",
    "run",
    "wait_status",
]
