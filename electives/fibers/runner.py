# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run the test programs on several machines, and check that they leak nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from electives.fibers import build
from grader.base import test_record
from grader.base.errors import LabError, MachineError
from grader.base.test_record import Record
from grader.lab import failure_classification, kernel_log, leak_scan, machines
from grader.lab.machines import Machine, Running
from grader.lab.module import Module

# Expected kernel messages, because programs that test bad addresses end by SIGSEGV.
SEGFAULT = re.compile(r"^.*fibers-\w+\[\d+\]: segfault at .*\n?", re.MULTILINE)
# A message about leaks of any object. The scan at the end reports those that count.
KMEMLEAK = re.compile(r"^.*kmemleak: \d+ new suspected memory leaks.*\n?", re.MULTILINE)
NO_SEGFAULTS = "f=/proc/sys/debug/exception-trace; [ -e $f ] && echo 0 >$f; true"
EMPTY = 1  # lines of /proc/fibers if there are no fibers
# The machines of this elective. An entry contains a machine, or the name of a lab machine, and the
# variant of the module.
OWN: Mapping[str, tuple[str | Machine, str]] = {
    "wide": (build.WIDE, ""),
    "poison": (build.POISON, ""),
    "migration": ("qemu-smp", "migration"),
    "mixed-fpu": ("qemu-smp", "mixed_fpu_state"),
    "readers": ("qemu-smp", "readers"),
    "interleaved": ("qemu-smp", "interleaved"),
    "use_after_free": ("uml-debug", "use_after_free"),
    "leak": ("uml-debug", "leak"),
}

Tell = Callable[[str], None]


@dataclass(frozen=True)
class FiberTest:
    """A test program with its arguments, and the number of checks it must make."""

    title: str
    command: str  # without the prefix fibers-
    # Number of checks with a correct module, see test_programs/test_program.h.
    checks: int
    seconds: float = 60.0
    # True if the number of checks depends on time or on the module's allocations; then `checks` is
    # the minimum.
    varies: bool = False

    @property
    def program(self) -> str:
        """Return the name of the source in test_programs/, without suffix."""
        return self.command.split()[0]


THERE = FiberTest("convert, create, switch, delete", "basic there-and-back", 2_012)
REGISTERS = FiberTest(
    "all registers on both sides of a switch", "registers rounds rounding", 12_094
)
TIMER = FiberTest("the same under a timer, four at once", "registers timer four", 60_404, 120)
ERRORS = FiberTest("each error by its number", "basic errors elsewhere signal stacks", 1_404)
THREADS_OWN = FiberTest(
    "TLS, errno, signal mask and flags stay with the thread", "basic thread moves", 38
)
VALUES = FiberTest("fiber-local values, a thousand keys", "storage values", 26_489)
FREED = FiberTest("a key that is freed, in all fibers", "storage most", 114_689, 120)
KEYS = FiberTest("errors of keys", "storage errors", 208)
WINDOWS = FiberTest("the function names of Windows", "basic windows", 11)
EXIT_PATHS = FiberTest("threads and processes that end, fork, exec", "exit_paths", 761, varies=True)
STRESS = FiberTest("8 threads in 1,000 fibers", "stress 8 1000 2000", 1019, varies=True)
STRESS_FEW = FiberTest("2 threads in 3 fibers", "stress 2 3 3000", 10, varies=True)
KILL = FiberTest("killed at random moments", "stress kill 20", 60, 120)
MANY = FiberTest("16,383 fibers, listed", "many many", 73_743, 120)
FIELDS = FiberTest("the listing, field by field", "many fields", 41)
MOST = FiberTest("the maximum number, and one more", "many most", 16_391, 120)
ENDED = FiberTest("threads end while few more fibers fit", "many ended", 16_396, 120)
NUMBER = FiberTest("a thread has the number of one that has ended", "many number", 200, varies=True)
ALLOCATION_FAILURE = FiberTest("allocations that fail", "allocation_failure", 17, 30, varies=True)
MOVED = FiberTest("all registers, moved between two CPUs in the switch", "registers few", 337, 120)
AVX = FiberTest("there are wide registers", "registers avx", 4)
MIXED_FPU = FiberTest("threads with registers of different sizes", "mixed_fpu_state", 26)
READERS = FiberTest(
    "ended threads are freed after their readers have finished", "exit_paths thread threads", 416
)
INTERLEAVED = FiberTest("two switches, the one within the other", "interleaved", 433)
KEPT = FiberTest("the memory of ended threads is freed at once", "kept", 406, 120)
UNLOAD = FiberTest("the module can be unloaded once it is not open", "unload", 144)
DYING = FiberTest("threads end while others switch to their fibers", "dying 4000", 25, varies=True)
MINUTE = FiberTest(
    "8 threads in 1,000 fibers, a minute", "stress 8 1000 60000", 1019, 300, varies=True
)
LONG_KILL = FiberTest("killed at random moments, 300 times", "stress kill 300", 900, 600)
LONG_DYING = FiberTest("threads end for a minute", "dying 60000", 105, 300, varies=True)

PLAIN = (
    THERE, REGISTERS, ERRORS, THREADS_OWN, VALUES, KEYS, WINDOWS, EXIT_PATHS, DYING, KILL, MANY,
    FIELDS, MOST, ENDED, NUMBER, UNLOAD,
)  # fmt: skip
# The tests of each machine.
ALL: Mapping[str, tuple[FiberTest, ...]] = {
    "uml": (*PLAIN, TIMER, STRESS_FEW, FREED),
    "qemu": (THERE, REGISTERS, ERRORS, THREADS_OWN, VALUES, KEYS, WINDOWS, EXIT_PATHS, TIMER),
    "qemu-smp": (*PLAIN, TIMER, STRESS, STRESS_FEW, FREED),
    "uml-debug": (*PLAIN, TIMER, STRESS_FEW, ALLOCATION_FAILURE),
    "wide": (AVX, REGISTERS, TIMER, STRESS_FEW),
    "poison": (THERE, VALUES, EXIT_PATHS, KEPT, DYING, KILL, STRESS_FEW, UNLOAD),
    "migration": (MOVED, STRESS_FEW),
    "mixed-fpu": (MIXED_FPU,),
    "readers": (READERS,),
    "interleaved": (INTERLEAVED,),
}
# Additional tests that take minutes.
LONG: Mapping[str, tuple[FiberTest, ...]] = {
    "uml": (LONG_KILL,),
    "qemu-smp": (MINUTE, LONG_KILL, LONG_DYING),
    "uml-debug": (LONG_KILL,),
    "wide": (MINUTE,),
    "poison": (MINUTE, LONG_DYING),
}
# Planted faults: the test that must find each, and a word that its message must contain.
PLANTED: Mapping[str, tuple[FiberTest, str]] = {
    "use_after_free": (THERE, "use-after-free"),
    "leak": (VALUES, "never freed"),
}


def machine(name: str) -> Machine:
    """Return a machine of the lab or of this elective."""
    there = OWN[name][0] if name in OWN else name
    return machines.get(there) if isinstance(there, str) else there


def attempt(
    name: str,
    tests: Sequence[FiberTest],
    changed: Mapping[str, bytes] | None = None,
    tell: Tell = lambda _: None,
    to_the_end: bool = True,
    hear: Callable[[FiberTest, str], None] = lambda *_: None,
    own: tuple[str, ...] = build.TASK_FILES,
) -> dict[FiberTest, str]:
    """Run tests on a machine. Return each test's problem, or "".

    After a failure, the next tests run in a new machine; without to_the_end, none of them run. hear
    is called with each test and its program's last line. own: the files that are taken from the
    learner's copy. Raise LabError when the module does not build.
    """
    where = machine(name)
    made = build.built(where.kernel(), changed, OWN[name][1] if name in OWN else "", own)
    found: dict[FiberTest, str] = {}
    while len(found) < len(tests):
        todo = tests[len(found) :]
        programs = sorted({test.program for test in todo})
        with build.machine_with(where, made, programs) as guest:
            guest.channel.check(NO_SEGFAULTS, build.PATIENCE)
            for test in todo:
                tell(f"{name}: {test.title}")
                found[test] = _one(guest, made, test, hear)
                if found[test]:
                    break  # the state of this machine is unknown now
            else:
                _last(guest, made, found, tests[-1], where)
        if not to_the_end and any(found.values()):
            break
    return found


def _one(
    guest: Running, made: Module, test: FiberTest, hear: Callable[[FiberTest, str], None]
) -> str:
    """Run one test. Return the reason of its failure in one line, or ""."""
    try:
        nonce = test_record.draw()
        command = (
            f"echo {test_record.line(nonce).strip()} | FIBER_TEST_RECORD=1 fibers-{test.command}"
        )
        result = guest.channel.run(command, test.seconds)
        text, record = test_record.split(result.output)
        output_lines = text.strip().splitlines()
        if result.status:
            ended = output_lines[0] if output_lines else f"exit {result.status}"
            return _dirt(guest, made) or ended
        unproved = _unproved(test, record, nonce)
        if unproved:
            return unproved
        hear(test, output_lines[-1] if output_lines else "")
        left = guest.channel.check("wc -l </proc/fibers", build.PATIENCE).strip()
    except MachineError as error:
        return failure_classification.classify(error, guest, made).cause
    if left != str(EMPTY):
        return f"{int(left) - EMPTY} fibers are left when all programs have ended"
    return _dirt(guest, made)


def _unproved(test: FiberTest, record: Record | None, nonce: int) -> str:
    """Return the reason if a record does not prove that all checks of a test passed, else ""."""
    checks = test.checks
    if record and test.varies:
        checks = max(checks, record.checks)
    return test_record.fault(record, nonce, test_record.unvalued(checks))


def _dirt(guest: Running, made: Module) -> str:
    log = KMEMLEAK.sub("", SEGFAULT.sub("", guest.console()))
    dirt = kernel_log.first_problem(log, made)
    return dirt.cause if dirt else ""


def _last(
    guest: Running, made: Module, found: dict[FiberTest, str], last: FiberTest, where: Machine
) -> None:
    """Unload the module at the end. On machines that can find leaks, first search for leaks."""
    try:
        if where is build.POISON:
            report = guest.channel.check(leak_scan.held_command(made.name), 4 * build.PATIENCE)
            found[last] = found[last] or leak_scan.held(report, made.name)
        if where is machines.get("uml-debug"):
            report = guest.channel.check(leak_scan.COMMAND, 4 * build.PATIENCE)
            found[last] = found[last] or leak_scan.read(report, made).meaning
        guest.channel.check("rmmod fibers", build.PATIENCE)
        found[last] = found[last] or _dirt(guest, made)
    except MachineError as error:
        found[last] = found[last] or failure_classification.classify(error, guest, made).cause
    except LabError as error:
        found[last] = found[last] or error.problem
