# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run a command within limits, and in a sandbox when it comes from outside.

    places = Room(read=kernel_places(tree), write=(directory,))
    ended = run(["make", ...], COMPILER, places, together=True)

Without a room a command sees and may do what the caller may; the limits hold all the same. Either
way nothing of it runs when the call has returned, or when the caller is gone.

Started by root it runs as a user that nobody is, a new one each time: the kernel does not bind
root's number of processes.
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
