# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find the task that is responsible for a fault seen at unload: leaked memory or a data race.

The test of a task also calls functions of other tasks. For example, each test that opens a file
detects a leak in the function open. Only the task that implements open loses points for this leak.

A name is no proof: the learner's functions and variables can have any name. So a fault moves only
to a task that costs as much, or for which there is evidence: init allocated the block, or opening
and closing a file is enough to leak it, or the variable is the one that the driver shows as its
counter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from grader.base.finding import Finding
from grader.exercise.files.tasks import Task

# The task that memory belongs to that init allocates.
MEMORY = "memory"
# The function that allocates small blocks, and its task.
OPEN_FUNCTION, OPEN = "first_open", "open"


@dataclass
class Blame:
    """The tested task, and the faults of other tasks that its test has found."""

    tasks: Sequence[Task] = ()
    current: str = ""  # The task that is tested.
    others: Sequence[str] = ()  # The tasks that will be tested later or have failed.
    findings: dict[str, Finding] = field(default_factory=dict)  # Findings by the task at fault.

    def owner_of_memory(
        self, functions: Sequence[str], by_init: bool, open_leaks: Callable[[], bool]
    ) -> str:
        """Return the task that a block belongs to; "" if it belongs to none or a cheaper one.

        functions: those that allocated the block. by_init: whether init called them. open_leaks
        returns whether a file that is only opened and closed leaks memory.
        """
        if by_init:
            return MEMORY
        if OPEN_FUNCTION in functions and self.current != OPEN and open_leaks():
            return OPEN
        owner = next((task for task in map(self._writer, functions) if task), "")
        points = {task.name: task.points for task in self.tasks}
        return owner if points.get(owner, 0) >= points.get(self.current, 0) else ""

    def owner_of_race(self, functions: Sequence[str], variable: str) -> str:
        """Return the current task if it has one of the functions, else the variable's task."""
        if self.current in map(self._writer, functions):
            return self.current
        return next((task.name for task in self.tasks if variable in task.variables), "")

    def takes(self, owner: str, finding: Finding) -> bool:
        """Return whether a finding is about another task that can lose points; if so, store it."""
        if owner in ("", self.current) or owner not in self.others:
            return False
        self.findings.setdefault(owner, finding)
        return True

    def _writer(self, function: str) -> str:
        """Return the task in which the learner writes a function, or ""."""
        parts = ((task.name, part.function) for task in self.tasks for part in task.parts)
        return next((name for name, written in parts if function and written == function), "")
