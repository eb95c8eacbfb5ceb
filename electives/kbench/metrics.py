# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure the same programs by each metric."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from electives.kbench import kernel, native, program_failure
from electives.kbench.kernel import KernelRun, ProgramTask
from electives.kbench.native import ProcessRun
from grader.base.errors import LabError
from grader.lab import machines
from grader.lab.machines import Machine
from grader.measure import sensitivity

# Factor by which valgrind slows a program down; it also needs about a second to start.
CALLGRIND_SLOWER = 150
# The number of runs for an exact metric. The second run must give the same count as the first.
EXACT_RUNS = 2

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Metric:
    """A metric, and the names that reports use for it."""

    key: str
    name: str
    unit: str  # "ns" or "instructions"
    worth: str  # its strengths and limits, in a few words

    @property
    def exact(self) -> bool:
        """Return True if the metric counts instructions."""
        return self.unit == "instructions"


USER = Metric("user", "user time", "ns", "the time a user waits; includes the scheduler's noise")
PINNED = Metric("pinned", "user time, one CPU", "ns", "without moves between CPUs")
UML = Metric("uml", "kernel clock, uml", "ns", "no scheduler inside; the computer's noise stays")
HOST = Metric("host", "kernel clock, host", "ns", "bare metal: as quiet as the computer is")
# The module reads the TSC before and after the program, with interrupts off, on a machine whose TSC
# counts instructions. A program could falsify the count, but no points depend on it, because
# learners measure their own programs.
QEMU = Metric("qemu", "instructions, qemu", "instructions", "the same in every run; not a time")
CALLGRIND = Metric(
    "callgrind", "instructions, callgrind", "instructions", "the same without a kernel; not a time"
)
ALL = (USER, PINNED, UML, QEMU, CALLGRIND)


class RunsDiffer(LabError):
    """A run's result differs from the result of the program's first run."""


@dataclass(frozen=True)
class MetricResults:
    """Values by metric and index of the program, and notes on failed metrics."""

    values: dict[Metric, list[list[float]]]
    notes: tuple[str, ...]
    runs: dict[str, list[KernelRun]]  # each program's last run, by machine


def measure(
    tasks: Sequence[ProgramTask],
    natives: Sequence[ProcessRun],
    metrics: Sequence[Metric],
    rounds: int,
    tell: Tell,
) -> MetricResults:
    """Measure the programs by each metric, in rounds of one run each.

    tasks, natives: the programs with their input, and the result of each as a process.
    """
    values: dict[Metric, list[list[float]]] = {}
    notes: list[str] = []
    runs: dict[str, list[KernelRun]] = {}
    for metric in metrics:
        times = EXACT_RUNS if metric.exact else rounds
        try:
            if metric in (USER, PINNED):
                prefix = sensitivity.pinned() if metric is PINNED else []
                values[metric] = _as_process(tasks, natives, prefix, times, metric, tell)
            elif metric is CALLGRIND:
                values[metric] = _callgrind(tasks, natives, tell)
            else:
                machine = machines.get(metric.key)
                values[metric], runs[metric.key] = _in_machine(
                    machine, tasks, natives, times, metric, tell
                )
        except program_failure.ProgramFailure as error:
            notes.append(f"{metric.name}: {error}")
        except RunsDiffer:
            raise
        except LabError as error:
            if len(metrics) == 1:  # the user requested only this metric
                raise
            notes.append(f"without {metric.name}: {error}")
    return MetricResults(values, tuple(notes), runs)


def _as_process(
    tasks: Sequence[ProgramTask],
    natives: Sequence[ProcessRun],
    prefix: Sequence[str],
    times: int,
    metric: Metric,
    tell: Tell,
) -> list[list[float]]:
    found: list[list[float]] = [[] for _ in tasks]
    for i in range(times):
        tell(metric.name, i, times)
        for place, task in enumerate(tasks):
            ran = native.run(task.program, task.program_input, prefix)
            _same(task, ran, natives[place], metric.name)
            found[place].append(ran.ns)
    return found


def _callgrind(
    tasks: Sequence[ProgramTask], natives: Sequence[ProcessRun], tell: Tell
) -> list[list[float]]:
    if shutil.which("valgrind") is None:
        raise LabError("valgrind not found", "run scripts/setup.sh kbench")
    found = []
    for i, (task, before) in enumerate(zip(tasks, natives)):
        tell(CALLGRIND.name, i, len(tasks))
        tool = ["valgrind", "--tool=callgrind", "--toggle-collect=kbench_main"]
        tool.append("--callgrind-out-file=/dev/null")
        seconds = 20 + int(CALLGRIND_SLOWER * before.ns / 1e9)
        ran = native.run(task.program, task.program_input, tool, seconds)
        _same(task, ran, before, CALLGRIND.name)
        if not ran.counted:
            raise LabError(
                "valgrind did not report how many instructions it has counted",
                "run the command again",
            )
        found.append([float(ran.counted)])
    return found


def _in_machine(
    machine: Machine,
    tasks: Sequence[ProgramTask],
    natives: Sequence[ProcessRun],
    times: int,
    metric: Metric,
    tell: Tell,
) -> tuple[list[list[float]], list[KernelRun]]:
    found: list[list[float]] = [[] for _ in tasks]
    last: list[KernelRun] = []
    tell(metric.name, 0, times)
    with kernel.session(machine, tasks) as session:
        for i in range(times):
            tell(metric.name, i, times)
            last = []
            for place, task in enumerate(tasks):
                run = session.run(task)
                _same(task, run, natives[place], metric.name)
                found[place].append(float(run.cycles if metric.exact else run.ns))
                last.append(run)
    return found, last


def _same(task: ProgramTask, run: ProcessRun | KernelRun, before: ProcessRun, where: str) -> None:
    """Raise RunsDiffer unless a run in a kernel has the same result as the process."""
    if difference := differs(run, before):
        raise RunsDiffer(
            f"{task.program.name}: by {where} {difference}",
            "correct the program or the module: every run must have the same result",
        )


def differs(run: ProcessRun | KernelRun, before: ProcessRun) -> str:
    """Return the first difference between a run's result and the process's, or ""."""
    if isinstance(run, ProcessRun) and not run.ok:
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
        why = f" ({run.why})" if isinstance(run, KernelRun) and run.why else ""
        return f"its exit status is {run.status}{why}, that of the process {before.status}"
    return ""
