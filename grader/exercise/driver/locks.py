# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find out with lockdep, in the debug kernel, which lock a call waits for.

A call that hangs is most often correct itself. It waits for a lock that this call or an earlier one
has taken, and only lockdep records where the lock was taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from grader.base import paths
from grader.base.errors import LabError
from grader.base.finding import Finding
from grader.exercise.build import stage_module
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.driver.session import DriverSession, WrongError
from grader.exercise.files.stages import Stage
from grader.lab import kernel_log, log_diagnostics, uml_debug
from grader.lab.machines import Machine

# The time limit for an answer, in seconds. It is short because lockdep reports at once, and no
# verdict depends on the answer.
PATIENCE = 1.0


def named(
    error: WrongError, built: BuiltStage, machine: Machine, test: Callable[[DriverSession], None]
) -> Finding:
    """Return the finding of an error. If a call hangs, the finding names the lock and its owner.

    test runs the task on a machine and raises the error. If the cache has no debug kernel, the
    finding names the command that builds and uses one. An untrusted driver is not loaded there,
    because that kernel runs as a process of this computer, which is no security boundary.
    """
    finding, stage = error.finding, built.stage
    if finding.status != "timeout" or stage.isolated or machine.debug:
        return finding
    if not uml_debug.MACHINE.is_built():
        command = paths.make(f"stage={stage.number} debug")
        return replace(finding, cause=f"{finding.cause} {command} names the lines that take a lock")
    meaning, excerpt = _lockdep(stage, test)
    if not meaning:
        return finding
    message = f"{error.what}: no answer: {meaning} (so says lockdep, in the debug kernel)"
    return replace(finding, cause=message, excerpt=excerpt)


def _lockdep(stage: Stage, test: Callable[[DriverSession], None]) -> tuple[str, str]:
    """Test a task in the debug kernel. Return lockdep's report as a sentence and as an excerpt."""
    machine = uml_debug.UNTRACKED
    built = stage_module.build(stage, machine.kernel())
    if not built.ok:
        return "", ""
    with DriverSession(machine, built.module, PATIENCE) as session:
        try:
            test(session)
        except (WrongError, LabError):
            pass
        console = session.guest.console()
    if not log_diagnostics.LOCKDEP.search(console):
        return "", ""
    about = kernel_log.log_context(built.module)
    return log_diagnostics.sentence(console, about), kernel_log.excerpt(console, built.module)
