# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What make elective=fibers can do, and how its tasks are tried."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from electives.fibers import bench, parts, show, trials
from electives.fibers.trials import Trial
from electives.tasks import Elective, Tried
from grader.base import paths
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import machines, qemu, standing
from grader.lab.machines import Contents

PICTURE = paths.BUILD / "fibers" / "switch.svg"
# By task, what it must make work: on a machine, some trials. The first that is not right is told.
TASKS: dict[int, tuple[tuple[str, tuple[Trial, ...]], ...]] = {
    1: (
        ("uml", (trials.THERE, trials.REGISTERS, trials.THREADS_OWN)),
        ("qemu-smp", (trials.THERE, trials.REGISTERS)),
    ),
    2: (("qemu-smp", (trials.THERE, trials.ERRORS, trials.HAMMER_FEW)),),
    3: (("uml", (trials.KEYS, trials.VALUES)),),
    4: (("uml-debug", (trials.ENDS, trials.THERE)), ("uml", (trials.KILL,))),
}
# For a look before anything is measured.
QUICK = (trials.THERE, trials.REGISTERS, trials.VALUES, trials.ENDS)


def tried(elective: Elective) -> list[Tried]:
    """Run the trials of each task, up to the first that is not right."""
    progress = Progress()
    found = [Tried(task, _wrong(task.number, progress)) for task in elective.tasks]
    progress.clear()
    return found


def _wrong(number: int, progress: Progress) -> str:
    for name, todo in TASKS[number]:
        try:
            found = trials.attempt(name, todo, tell=progress.step, to_the_end=False)
        except LabError as error:
            return str(error)
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
        standing.swap(running, made, "fibers", parts.KO)
    print("fibers is loaded: make shell, then fibers-basic, fibers-hammer 4 100 1000, ...")
    return 0


VERBS: dict[str, Callable[[list[str]], int]] = {"run": run, "load": load}
