# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find the task that is responsible for a fault seen at unload: leaked memory or a data race.

A task's test calls functions of other tasks, too. A leak in open shows in each test that opens a
file; it is the fault of the task that writes open, and the other tasks keep their points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.base.finding import Finding
from grader.exercise.files.tasks import Task

# The names of the function of the task "device" in which the task "memory" allocates; the kernel's
# name for it is init_module.
INIT, MEMORY = {"first_init", "init_module"}, "memory"


@dataclass
class Blame:
    """The tested task, and the faults of other tasks that its test has found."""

    tasks: Sequence[Task] = ()
    current: str = ""  # the task that is tested
    others: Sequence[str] = ()  # tasks that are tested later, or that have failed
    findings: dict[str, Finding] = field(default_factory=dict)  # by the task at fault

    def owner_of_memory(self, functions: Sequence[str]) -> str:
        """Return the task whose function allocates; "" if no task has one of the functions."""
        if INIT.intersection(functions):
            return MEMORY
        return next((task for task in map(self._writer, functions) if task), "")

    def owner_of_race(self, functions: Sequence[str], variable: str) -> str:
        """Return the current task if it writes one of the functions, else the variable's task."""
        if self.current in map(self._writer, functions):
            return self.current
        return next((task.name for task in self.tasks if variable in task.variables), "")

    def takes(self, owner: str, finding: Finding) -> bool:
        """Keep a finding of another task that can still lose points. Return whether it is kept."""
        if owner in ("", self.current) or owner not in self.others:
            return False
        self.findings.setdefault(owner, finding)
        return True

    def _writer(self, function: str) -> str:
        """Return the task that writes a function; "" if there is no such task."""
        parts = ((task.name, part.function) for task in self.tasks for part in task.parts)
        return next((name for name, written in parts if function and written == function), "")
