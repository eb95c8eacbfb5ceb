# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What make elective=fibers can do, and how its tasks are tried."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from electives import source_folder
from electives.fibers import bench, parts, show, trials
from electives.fibers.parts import NotBuiltError
from electives.fibers.trials import Trial
from grader.base import paths
from grader.base.errors import LabError
from grader.base.finding import Finding
from grader.base.progress import Progress
from grader.lab import machines, qemu, standing
from grader.lab.machines import Contents

PICTURE = paths.BUILD / "fibers" / "switch.svg"
# All registers that a CPU has, not only those that every CPU has.
WIDE = ("wide", (trials.AVX, trials.REGISTERS))
# By task, what it must make work: on a machine, some trials. The first that is not right is told.
TASKS: dict[int, tuple[tuple[str, tuple[Trial, ...]], ...]] = {
    1: (
        ("uml", (trials.THERE, trials.REGISTERS, trials.THREADS_OWN)),
        ("qemu-smp", (trials.THERE, trials.REGISTERS, trials.TIMER)),
        ("wander", (trials.MOVED,)),
        WIDE,
    ),
    2: (("qemu-smp", (trials.THERE, trials.ERRORS, trials.HAMMER_FEW)),),
    3: (
        ("uml", (trials.KEYS, trials.VALUES, trials.WINDOWS)),
        ("uml-debug", (trials.FAILING, trials.VALUES)),
    ),
    4: (
        ("uml-debug", (trials.ENDS, trials.THERE)),
        ("uml", (trials.KILL, trials.MANY)),
        ("readers", (trials.READERS,)),
        ("qemu-smp", (trials.DYING, trials.KILL)),
    ),
}
# The same where a module may be loaded in QEMU alone: there, nobody looks for memory that is lost,
# and freed memory is filled.
IN_QEMU: dict[int, tuple[tuple[str, tuple[Trial, ...]], ...]] = {
    1: (
        ("qemu-smp", (trials.THERE, trials.REGISTERS, trials.TIMER, trials.THREADS_OWN)),
        ("wander", (trials.MOVED,)),
        WIDE,
    ),
    2: TASKS[2],
    3: (("qemu-smp", (trials.KEYS, trials.WINDOWS)), ("poison", (trials.VALUES,))),
    4: (
        ("readers", (trials.READERS,)),
        ("qemu-smp", (trials.KILL, trials.MANY)),
        ("poison", (trials.ENDS, trials.THERE, trials.DYING)),
    ),
}
# For a look before anything is measured.
QUICK = (trials.THERE, trials.REGISTERS, trials.VALUES, trials.ENDS)


def judge(machine: str) -> list[Finding | None]:
    """Run the trials of each task. Return what is wrong with each, in order.

    machine: "qemu" to load the module in QEMU only.
    """
    progress = Progress()
    todo = IN_QEMU if machine == "qemu" else TASKS
    found = [_finding(todo[number], progress) for number in sorted(todo)]
    if source_folder.submission():
        parts.forget(machines.get("qemu").kernel())
    progress.clear()
    return found


def _finding(todo: tuple[tuple[str, tuple[Trial, ...]], ...], progress: Progress) -> Finding | None:
    try:
        wrong = _wrong(todo, progress)
    except NotBuiltError as error:
        return Finding("build-failed", str(error))
    except LabError as error:
        if source_folder.submission():
            raise  # a fault of this computer is not the submission's
        wrong = str(error)
    return Finding("wrong", wrong) if wrong else None


def _wrong(of_the_task: tuple[tuple[str, tuple[Trial, ...]], ...], progress: Progress) -> str:
    for name, todo in of_the_task:
        found = trials.attempt(name, todo, tell=progress.step, to_the_end=False)
        for trial, said in found.items():
            if said:
                return f"{trial.title}, on {name}: {said}"
    return ""


def _machine(words: list[str]) -> str:
    parser = argparse.ArgumentParser(prog="make elective=fibers", description=__doc__)
    parser.add_argument("--machine", default="", help="qemu, qemu-kvm or host")
    asked, rest = parser.parse_known_args(words)
    if rest:
        raise LabError(f"elective fibers takes machine= and nothing else, not {rest[0]}")
    return str(asked.machine)


def run(words: list[str]) -> int:
    """Try the module, then measure it against the user-space library."""
    machine = bench.chosen(_machine(words))
    progress = Progress()
    for name in ("uml", "qemu-smp"):
        for trial, said in trials.attempt(name, QUICK, tell=progress.step).items():
            if said:
                raise LabError(f"{trial.title}, on {name}: {said}")
    measured = bench.measure(machine, lambda what: progress.step(f"measure {what}"))
    progress.clear()
    print(f"fibers on uml and qemu-smp: {len(QUICK)} trials each, all right\n")
    print(show.table(measured))
    print(show.spread(measured))
    if machine.ruler == "instructions":
        there = qemu.fastest() is qemu.KVM
        why = "machine=qemu-kvm has it" if there else "no KVM works here: machine=qemu-kvm says why"
        print(f"Instructions are no time. {why[0].upper()}{why[1:]}; machine=host asks first.")
    show.picture(measured, PICTURE)
    print(f"Picture: {paths.shown(PICTURE)}")
    return 0


def load(words: list[str]) -> int:
    """Load the module on the machine that stays up, with the programs that try it."""
    machine = machines.get(_machine(words) or "uml")
    made = parts.built(machine.kernel())
    programs = sorted({trial.program for trial in trials.ALL["uml"]})
    files = {f"/bin/fibers-{name}": parts.program(name) for name in programs}
    with standing.alone(machine.name):
        running = standing.start(machine, Contents(files, "fibers", (parts.DEVICE,)))
        standing.swap(machine.name, running, made, "fibers", parts.KO)
    print("fibers is loaded: make shell, then fibers-basic, fibers-hammer 4 100 1000, ...")
    return 0


def long(words: list[str]) -> int:
    """Everything on every machine, minutes of it; and faults planted, which must be found."""
    if words:
        raise LabError(f"make elective=fibers check long=1 takes nothing else, not {words[0]}")
    progress = Progress()
    said: dict[Trial, str] = {}
    fine = True
    for name, some in trials.ALL.items():
        todo = (*some, *trials.LONG.get(name, ()))
        begin = time.monotonic()
        said.clear()
        wrong = trials.attempt(name, todo, tell=progress.step, hear=said.__setitem__)
        progress.clear()
        bad = [f"{trial.title}: {what}" for trial, what in wrong.items() if what]
        took = f"({time.monotonic() - begin:.0f} s)"
        print(f"{name}: {len(todo) - len(bad)} of {len(todo)} trials are right {took}")
        for line in [*(f"{t.title}: {what}" for t, what in said.items() if what), *bad]:
            print(f"  {line}")
        fine = fine and not bad
    for name, (trial, word) in trials.PLANTED.items():
        found = trials.attempt(name, [trial], tell=progress.step)[trial]
        progress.clear()
        right = word in found
        print(f"planted, variants/{name}.c: {'found' if right else 'NOT found'}: {found}")
        fine = fine and right
    return 0 if fine else 1


VERBS: dict[str, Callable[[list[str]], int]] = {"run": run, "load": load, "long": long}
