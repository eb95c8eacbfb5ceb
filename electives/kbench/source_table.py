# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make kbench TABLE=1: test which metrics can tell 98, 99 and 100 loops apart.

A good metric detects a difference of one percent, and none between two copies of one program. This
is the table of the article that this elective is based on. The programs are loop.c with different
numbers of loops, each twice; grader/sensitivity.sh orders and judges the runs in the same way.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from electives.kbench import kernel, metrics, native
from electives.kbench.kernel import ProgramTask
from electives.kbench.metrics import CALLGRIND, PINNED, QEMU, UML, USER, Tell
from electives.kbench.native import ProcessRun
from electives.kbench.program import prepare
from electives.kbench.report import KbenchRequest
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import machines
from grader.measure import instructions, sensitivity
from grader.measure.sensitivity import COPIES, LOOPS, Runs, SensitivityVerdict
from grader.measure.stats import ALPHA

LOOP = Path(__file__).with_name("loop.c")
LEAST_RUNS = 10  # minimum number of runs for the statistical test


class _Loops:
    """The three programs, and their measurements by each metric."""

    def __init__(self, request: KbenchRequest, tell: Tell) -> None:
        self.tell = tell
        self.tasks: dict[int, ProgramTask] = {}
        self.before: dict[int, ProcessRun] = {}
        for loops in LOOPS:
            options = replace(request.options, defines=(f"-DOUT_LOOP={loops}",))
            program = prepare(LOOP, options)
            self.before[loops] = native.run(program, b"")
            self.tasks[loops] = ProgramTask.after(program, b"", self.before[loops])

    def _checked(self, loops: int, run: ProcessRun | kernel.KernelRun) -> None:
        if difference := metrics.differs(run, self.before[loops]):
            raise LabError(f"{LOOP.name} with {loops} loops: {difference}", "run the command again")

    def as_process(self, todo: list[tuple[int, str]], prefix: list[str], what: str) -> Runs:
        """Measure runs as processes. Return their durations."""
        found: Runs = {}
        for i, (loops, copy) in enumerate(todo):
            self.tell(what, i, len(todo))
            ran = native.run(self.tasks[loops].program, b"", prefix)
            self._checked(loops, ran)
            found.setdefault((loops, copy), []).append(ran.ns)
        return found

    def in_machine(self, name: str, todo: list[tuple[int, str]], what: str) -> Runs:
        """Measure several runs with the machine's metric in one boot."""
        found: Runs = {}
        machine = machines.get(name)
        with kernel.session(machine, list(self.tasks.values())) as session:
            for i, (loops, copy) in enumerate(todo):
                self.tell(what, i, len(todo))
                run = session.run(self.tasks[loops])
                self._checked(loops, run)
                exact = machine.metric == "instructions"
                value = float(run.cycles if exact else run.ns)
                found.setdefault((loops, copy), []).append(value)
        return found

    def in_two_boots(self, what: str) -> Runs:
        """Count instructions of each copy in its own boot, to compare counts between boots."""
        found: Runs = {}
        for copy in COPIES:
            todo = [(loops, copy) for _ in range(metrics.EXACT_RUNS) for loops in LOOPS]
            found |= self.in_machine("qemu", todo, f"{what}, boot {copy}")
        return found

    def by_callgrind(self) -> Runs:
        """Count instructions with callgrind, without a kernel."""
        found: Runs = {}
        for copy in COPIES:
            tasks, before = list(self.tasks.values()), list(self.before.values())
            measured = metrics.measure(tasks, before, [CALLGRIND], 1, self.tell)
            if measured.notes:
                raise LabError(measured.notes[0], "run the command again")
            for loops, values in zip(LOOPS, measured.values[CALLGRIND]):
                found[loops, copy] = values
        return found


def show(request: KbenchRequest) -> int:
    """Measure the programs, and print the table."""
    if request.rounds < LEAST_RUNS:
        raise LabError(
            f"RUNS={request.rounds}: too few for the test", f"give at least {LEAST_RUNS}"
        )
    progress = Progress()
    todo = sensitivity.order(request.rounds, 1)
    loops = _Loops(request, progress.step)
    user = loops.as_process(todo, [], USER.name)
    pinned = loops.as_process(todo, sensitivity.pinned(), PINNED.name)
    clock = metrics.HOST if request.machine == "host" else UML
    timed = loops.in_machine(clock.key, todo, clock.name)
    counted = loops.in_two_boots(QEMU.name)
    verdicts: list[SensitivityVerdict] = [
        sensitivity.judge_clock(USER.name, user),
        sensitivity.judge_clock(PINNED.name, pinned),
        sensitivity.judge_clock(clock.name, timed),
        sensitivity.judge_exact(QEMU.name, counted),
        sensitivity.judge_exact(CALLGRIND.name, loops.by_callgrind()),
    ]
    progress.clear()
    print(f"98, 99 and 100 times a million steps, twice each; {request.rounds} runs by each clock.")
    print(f"Clocks: the p of the Kolmogorov-Smirnov test, corrected; below {ALPHA}: different.")
    print(f"Instructions: the difference; above {instructions.RESOLUTION:.1%}: different.")
    print("For a program and itself: the largest difference between any two runs, in two boots.")
    print()
    print(sensitivity.table(verdicts))
    print()
    for copy in COPIES:
        counts = sorted({f"{value:,.0f}" for value in counted[100, copy]})
        print(f"100 loops in qemu, boot {copy}: {' and '.join(counts)} instructions")
    exact = verdicts[3]
    return 0 if exact.sees and not exact.wolf else 1
