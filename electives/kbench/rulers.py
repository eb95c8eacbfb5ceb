# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The rulers side by side: the same programs by each, and what each is worth."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from electives.kbench import ends, kernel, native
from electives.kbench.kernel import Run, Task
from electives.kbench.native import Ran
from grader.base.errors import LabError
from grader.lab import machines
from grader.lab.machines import Machine
from grader.rulers import sensitivity

# Valgrind makes a program slower by so much, and begins in about a second.
CALLGRIND_SLOWER = 150
# The exact rulers say the same each time: so many runs to see it.
EXACT_RUNS = 2

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Ruler:
    """One way to measure."""

    key: str
    name: str
    unit: str  # "ns" or "instructions"
    worth: str  # what it sees and what it does not, in a few words

    @property
    def exact(self) -> bool:
        """Whether it counts."""
        return self.unit == "instructions"


USER = Ruler("user", "user time", "ns", "what a user waits; the scheduler's noise is in it")
PINNED = Ruler("pinned", "user time, one CPU", "ns", "without moves between CPUs")
UML = Ruler("uml", "kernel clock, uml", "ns", "no scheduler inside; the computer's noise stays")
HOST = Ruler("host", "kernel clock, host", "ns", "bare metal: as quiet as the computer is")
# Counted by the module around the program, with interrupts off, by the TSC of a machine that counts
# instructions with it: no points depend on a program here, which is its reader's own.
QEMU = Ruler("qemu", "instructions, qemu", "instructions", "the same in every run; is no time")
CALLGRIND = Ruler(
    "callgrind", "instructions, callgrind", "instructions", "the same without a kernel; is no time"
)
ALL = (USER, PINNED, UML, QEMU, CALLGRIND)


class Disagreed(LabError):
    """A run did not do what the run before did."""


@dataclass(frozen=True)
class Measured:
    """Values by ruler and place of the program; what went wrong with a ruler."""

    values: dict[Ruler, list[list[float]]]
    notes: tuple[str, ...]
    runs: dict[str, list[Run]]  # of the machines: the last of each program


def measure(
    tasks: Sequence[Task], natives: Sequence[Ran], rulers: Sequence[Ruler], rounds: int, tell: Tell
) -> Measured:
    """Measure the programs by each ruler, in rounds of one run each.

    tasks, natives: the programs with what they read, and how each ran as a process.
    """
    values: dict[Ruler, list[list[float]]] = {}
    notes: list[str] = []
    runs: dict[str, list[Run]] = {}
    for ruler in rulers:
        times = EXACT_RUNS if ruler.exact else rounds
        try:
            if ruler in (USER, PINNED):
                prefix = sensitivity.pinned() if ruler is PINNED else []
                values[ruler] = _as_process(tasks, natives, prefix, times, ruler, tell)
            elif ruler is CALLGRIND:
                values[ruler] = _callgrind(tasks, natives, tell)
            else:
                machine = machines.get(ruler.key)
                values[ruler], runs[ruler.key] = _in_machine(
                    machine, tasks, natives, times, ruler, tell
                )
        except ends.Ended as error:
            notes.append(f"{ruler.name}: {error}")
        except Disagreed:
            raise
        except LabError as error:
            if len(rulers) == 1:  # it was asked for by name
                raise
            notes.append(f"without {ruler.name}: {error}")
    return Measured(values, tuple(notes), runs)


def _as_process(
    tasks: Sequence[Task],
    natives: Sequence[Ran],
    prefix: Sequence[str],
    times: int,
    ruler: Ruler,
    tell: Tell,
) -> list[list[float]]:
    found: list[list[float]] = [[] for _ in tasks]
    for i in range(times):
        tell(ruler.name, i, times)
        for place, task in enumerate(tasks):
            ran = native.run(task.program, task.given, prefix)
            _same(task, ran, natives[place], ruler.name)
            found[place].append(ran.ns)
    return found


def _callgrind(tasks: Sequence[Task], natives: Sequence[Ran], tell: Tell) -> list[list[float]]:
    if shutil.which("valgrind") is None:
        raise LabError("there is no valgrind: scripts/setup.sh kbench installs it")
    found = []
    for i, (task, before) in enumerate(zip(tasks, natives)):
        tell(CALLGRIND.name, i, len(tasks))
        tool = ["valgrind", "--tool=callgrind", "--toggle-collect=kbench_main"]
        tool.append("--callgrind-out-file=/dev/null")
        seconds = 20 + int(CALLGRIND_SLOWER * before.ns / 1e9)
        ran = native.run(task.program, task.given, tool, seconds)
        _same(task, ran, before, CALLGRIND.name)
        if not ran.counted:
            raise LabError("valgrind did not say how many instructions it has counted")
        found.append([float(ran.counted)])
    return found


def _in_machine(
    machine: Machine,
    tasks: Sequence[Task],
    natives: Sequence[Ran],
    times: int,
    ruler: Ruler,
    tell: Tell,
) -> tuple[list[list[float]], list[Run]]:
    found: list[list[float]] = [[] for _ in tasks]
    last: list[Run] = []
    tell(ruler.name, 0, times)
    with kernel.session(machine, tasks) as session:
        for i in range(times):
            tell(ruler.name, i, times)
            last = []
            for place, task in enumerate(tasks):
                run = session.run(task)
                _same(task, run, natives[place], ruler.name)
                found[place].append(float(run.cycles if ruler.exact else run.ns))
                last.append(run)
    return found, last


def _same(task: Task, run: Ran | Run, before: Ran, where: str) -> None:
    """Raise unless a run did what the program does as a process."""
    if difference := differs(run, before):
        raise Disagreed(f"{task.program.name}: by {where} {difference}")


def differs(run: Ran | Run, before: Ran) -> str:
    """What a run did otherwise than the program does as a process; "" when nothing."""
    if isinstance(run, Ran) and not run.ok:
        return run.fault
    if run.output != before.output:
        mine, theirs = run.output.splitlines(), before.output.splitlines()
        for i, (one, other) in enumerate(zip([*mine, ""], [*theirs, ""])):
            if one != other:
                return (
                    f"its output is not that of the process: line {i + 1} is {one[:60]!r},"
                    f" not {other[:60]!r}"
                )
        return f"its output is not that of the process: {len(mine)} lines, not {len(theirs)}"
    if run.status != before.status:
        why = f" ({run.why})" if isinstance(run, Run) and run.why else ""
        return f"its exit status is {run.status}{why}, that of the process {before.status}"
    return ""
