# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Commands of make elective=fibers, and the tests of its tasks."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from electives import source_folder
from electives.fibers import bench, build, runner, show
from electives.fibers.build import ModuleNotBuiltError
from electives.fibers.runner import FiberTest
from grader.base import paths
from grader.base.errors import LabError
from grader.base.finding import Finding
from grader.base.progress import Progress
from grader.lab import machines, persistent_machine, qemu
from grader.lab.machines import Contents

PICTURE = paths.BUILD / "fibers" / "switch.svg"
# These tests run on an emulated machine with AVX, because not every CPU has wide registers.
WIDE = ("wide", (runner.AVX, runner.REGISTERS))
# The tests of each task, by machine. The first test that fails is reported.
TASKS: dict[int, tuple[tuple[str, tuple[FiberTest, ...]], ...]] = {
    1: (
        ("uml", (runner.THERE, runner.REGISTERS, runner.THREADS_OWN)),
        ("qemu-smp", (runner.THERE, runner.REGISTERS, runner.THREADS_OWN, runner.TIMER)),
        ("migration", (runner.MOVED,)),
        WIDE,
    ),
    2: (
        ("qemu-smp", (runner.THERE, runner.ERRORS, runner.STRESS_FEW, runner.FIELDS)),
        ("mixed-fpu", (runner.MIXED_FPU,)),
        ("interleaved", (runner.INTERLEAVED,)),
    ),
    3: (
        ("uml", (runner.KEYS, runner.VALUES, runner.WINDOWS, runner.FREED)),
        ("uml-debug", (runner.ALLOCATION_FAILURE, runner.VALUES)),
    ),
    4: (
        ("uml-debug", (runner.EXIT_PATHS, runner.THERE, runner.VALUES)),
        ("uml", (runner.KILL, runner.MANY, runner.ENDED, runner.NUMBER)),
        ("readers", (runner.READERS,)),
        ("qemu-smp", (runner.DYING, runner.KILL)),
        ("poison", (runner.KEPT,)),
    ),
}
# The tests of each task if a module may be loaded only in QEMU. Machine poison finds memory that is
# not freed, or that is used after it is freed.
IN_QEMU: dict[int, tuple[tuple[str, tuple[FiberTest, ...]], ...]] = {
    1: (
        ("qemu-smp", (runner.THERE, runner.REGISTERS, runner.TIMER, runner.THREADS_OWN)),
        ("migration", (runner.MOVED,)),
        WIDE,
    ),
    2: TASKS[2],
    3: (("qemu-smp", (runner.KEYS, runner.WINDOWS, runner.FREED)), ("poison", (runner.VALUES,))),
    4: (
        ("readers", (runner.READERS,)),
        ("qemu-smp", (runner.KILL, runner.MANY, runner.ENDED, runner.NUMBER)),
        ("poison", (runner.EXIT_PATHS, runner.KEPT, runner.THERE, runner.VALUES, runner.DYING)),
    ),
}
CLAIM = 2  # the number of the task whose atomic operation must order later accesses
# The tests that must pass before the measurement.
QUICK = (runner.THERE, runner.REGISTERS, runner.VALUES, runner.EXIT_PATHS)


def judge(machine: str, seed: int) -> list[Finding | None]:
    """Run the tests of each task. Return the problem of each task, or None, in order.

    machine: "qemu" to load the module in QEMU only. `seed` is not used, because the tests are
    the same in each run.
    """
    progress = Progress()
    todo = IN_QEMU if machine == "qemu" else TASKS
    found = {number: _finding(number, todo[number], progress) for number in sorted(todo)}
    fiber = source_folder.folder("fibers", build.SOURCES) / "fiber.c"
    if not found[CLAIM] and fiber.is_file():
        text, shown = fiber.read_text(encoding="utf-8", errors="replace"), paths.shown(fiber)
        made = build.built(machines.get("qemu-smp").kernel(), own=build.FILES_OF_TASKS[CLAIM])
        message = build.unordered(text, shown) or build.waiting(made, shown)
        found[CLAIM] = Finding("wrong", message) if message else None
    if source_folder.submission():
        build.forget(machines.get("qemu").kernel())
    progress.clear()
    return list(found.values())


def excluded() -> list[str]:
    """Return a message for each of the learner's sources that is not used."""
    return build.excluded()


def _finding(
    number: int, todo: tuple[tuple[str, tuple[FiberTest, ...]], ...], progress: Progress
) -> Finding | None:
    try:
        wrong = _wrong(todo, progress, build.FILES_OF_TASKS[number])
    except ModuleNotBuiltError as error:
        return Finding("build-failed", error.problem)
    except LabError as error:
        if source_folder.submission():
            raise  # an error of this computer, not of the submission
        wrong = error.problem
    return Finding("wrong", wrong) if wrong else None


def _wrong(
    of_the_task: tuple[tuple[str, tuple[FiberTest, ...]], ...],
    progress: Progress,
    own: tuple[str, ...],
) -> str:
    for name, todo in of_the_task:
        found = runner.attempt(name, todo, tell=progress.step, to_the_end=False, own=own)
        for test, message in found.items():
            if message:
                return f"{test.title}, on {name}: {message}"
    return ""


def _say_excluded(progress: Progress) -> None:
    for note in excluded():
        progress.say(note)


def _machine(words: list[str]) -> str:
    parser = argparse.ArgumentParser(prog="make elective=fibers", description=__doc__)
    parser.add_argument("--machine", default="", help="qemu, qemu-kvm or host")
    arguments, rest = parser.parse_known_args(words)
    if rest:
        raise LabError(f"elective fibers does not accept {rest[0]}", "give machine= only")
    return str(arguments.machine)


def run(words: list[str]) -> int:
    """Test the module, then measure it against the user-space library."""
    machine = bench.chosen(_machine(words))
    progress = Progress()
    _say_excluded(progress)
    for name in ("uml", "qemu-smp"):
        for test, message in runner.attempt(name, QUICK, tell=progress.step).items():
            if message:
                raise LabError(
                    f"{test.title}, on {name}: {message}", "run make elective=fibers check"
                )
    measured = bench.measure(machine, lambda what: progress.step(f"measure {what}"))
    progress.clear()
    print(f"fibers on uml and qemu-smp: all {len(QUICK)} tests pass on each\n")
    print(show.table(measured))
    print(show.spread(measured))
    if machine.metric == "instructions":
        there = qemu.fastest() is qemu.KVM
        why = "machine=qemu-kvm has it" if there else "no KVM works here: machine=qemu-kvm says why"
        print(f"Instructions are not time. {why[0].upper()}{why[1:]}; machine=host asks first.")
    show.picture(measured, PICTURE)
    print(f"Picture: {paths.shown(PICTURE)}")
    return 0


def load(words: list[str]) -> int:
    """Load the module on the persistent machine, with the programs that test it."""
    machine = machines.get(_machine(words) or "uml")
    _say_excluded(Progress())
    made = build.built(machine.kernel())
    programs = sorted({test.program for test in runner.ALL["uml"]})
    files = {f"/bin/fibers-{name}": build.program(name) for name in programs}
    with persistent_machine.alone(machine.name):
        running = persistent_machine.start(machine, Contents(files, "fibers", (build.DEVICE,)))
        persistent_machine.swap(machine.name, running, made, "fibers", build.KO)
    print("fibers is loaded: make shell, then fibers-basic, fibers-stress 4 100 1000, ...")
    return 0


def long(words: list[str]) -> int:
    """Run every test on every machine, and check that planted faults are found."""
    if words:
        raise LabError(f"make elective=fibers check long=1 does not accept {words[0]}", "omit it")
    progress = Progress()
    _say_excluded(progress)
    message: dict[FiberTest, str] = {}
    fine = True
    for name, some in runner.ALL.items():
        todo = (*some, *runner.LONG.get(name, ()))
        begin = time.monotonic()
        message.clear()
        wrong = runner.attempt(name, todo, tell=progress.step, hear=message.__setitem__)
        progress.clear()
        bad = [f"{test.title}: {what}" for test, what in wrong.items() if what]
        took = f"({time.monotonic() - begin:.0f} s)"
        print(f"{name}: {len(todo) - len(bad)} of {len(todo)} tests pass {took}")
        for line in [*(f"{t.title}: {what}" for t, what in message.items() if what), *bad]:
            print(f"  {line}")
        fine = fine and not bad
    for name, (test, word) in runner.PLANTED.items():
        found = runner.attempt(name, [test], tell=progress.step)[test]
        progress.clear()
        right = word in found
        print(f"planted, variants/{name}.c: {'found' if right else 'NOT found'}: {found}")
        fine = fine and right
    return 0 if fine else 1


VERBS: dict[str, Callable[[list[str]], int]] = {"run": run, "load": load, "long": long}
