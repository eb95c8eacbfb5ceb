# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What the module must do: programs of tries/ on several machines, and what is left behind them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from electives.fibers import parts
from grader.base import test_record
from grader.base.errors import LabError, MachineError
from grader.base.test_record import Record
from grader.lab import ending, kernel_log, leak_scan, machines
from grader.lab.machines import Machine, Running
from grader.lab.module import Module

# What a kernel says of a program that ends as it should: by a bad address.
SEGFAULT = re.compile(r"^.*fibers-\w+\[\d+\]: segfault at .*\n?", re.MULTILINE)
NO_SEGFAULTS = "f=/proc/sys/debug/exception-trace; [ -e $f ] && echo 0 >$f; true"
EMPTY = 1  # lines of /proc/fibers when there are none: its heading
# Machines of this elective's own: what the lab calls it, or a machine; the variant of the module.
OWN: Mapping[str, tuple[str | Machine, str]] = {
    "wide": (parts.WIDE, ""),
    "poison": (parts.POISON, ""),
    "wander": ("qemu-smp", "wander"),
    "unlike": ("uml", "unlike"),
    "readers": ("qemu-smp", "readers"),
    "used": ("uml-debug", "used"),
    "lost": ("uml-debug", "lost"),
}

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Trial:
    """A program, how it is called, and what it shows."""

    title: str
    command: str  # without fibers- before its name
    # Claims that hold in it with a module that is right, see tries/try.h.
    checks: int
    seconds: float = 60.0
    # How many depends on time or on the module's allocations: checks are the fewest.
    varies: bool = False

    @property
    def program(self) -> str:
        """The file of tries/ without suffix."""
        return self.command.split()[0]


THERE = Trial("convert, create, switch, delete", "basic there-and-back", 2_012)
REGISTERS = Trial("all registers on both sides of a switch", "registers rounds rounding", 12_012)
TIMER = Trial("the same under a timer, four at once", "registers timer four", 60_019, 120)
ERRORS = Trial("each error by its number", "basic errors elsewhere signal", 45)
THREADS_OWN = Trial("TLS, errno and signal mask stay the thread's", "basic thread moves", 35)
VALUES = Trial("fiber-local values, a thousand keys", "storage values", 4_509)
KEYS = Trial("errors of keys", "storage errors", 19)
WINDOWS = Trial("the names that Windows has", "basic windows", 11)
ENDS = Trial("threads and processes that end, fork, exec", "ends", 636)
HAMMER = Trial("8 threads in 1,000 fibers", "hammer 8 1000 2000", 1019, varies=True)
HAMMER_FEW = Trial("2 threads in 3 fibers", "hammer 2 3 3000", 10, varies=True)
KILL = Trial("killed at random moments", "hammer kill 20", 60, 120)
MANY = Trial("10,000 fibers, listed", "many many", 45_015, 120)
FIELDS = Trial("the listing, field by field", "many fields", 41)
MOST = Trial("as many as may be, and one more", "many most", 16_391, 120)
FAILING = Trial("allocations that fail", "failing", 15, 120, varies=True)
MOVED = Trial("all registers, moved between two CPUs in the switch", "registers few", 244, 120)
AVX = Trial("there are wide registers", "registers avx", 4)
UNLIKE = Trial("threads with registers of unlike size", "unlike", 26)
READERS = Trial(
    "threads that have ended are freed behind their readers", "ends thread threads", 416
)
UNLOAD = Trial("the module goes when it may, at once", "unload", 144)
DYING = Trial("threads end while others want their fibers", "dying 4000", 25, varies=True)
MINUTE = Trial("8 threads in 1,000 fibers, a minute", "hammer 8 1000 60000", 1019, 300, varies=True)
LONG_KILL = Trial("killed at random moments, 300 times", "hammer kill 300", 900, 600)
LONG_DYING = Trial("threads end for a minute", "dying 60000", 105, 300, varies=True)

PLAIN = (
    THERE, REGISTERS, ERRORS, THREADS_OWN, VALUES, KEYS, WINDOWS, ENDS, DYING, KILL, MANY, FIELDS,
    MOST, UNLOAD,
)  # fmt: skip
# By machine: what is tried there.
ALL: Mapping[str, tuple[Trial, ...]] = {
    "uml": (*PLAIN, TIMER, HAMMER_FEW),
    "qemu": (THERE, REGISTERS, ERRORS, THREADS_OWN, VALUES, KEYS, WINDOWS, ENDS, TIMER),
    "qemu-smp": (*PLAIN, TIMER, HAMMER, HAMMER_FEW),
    "uml-debug": (*PLAIN, TIMER, HAMMER_FEW, FAILING),
    "wide": (AVX, REGISTERS, TIMER, HAMMER_FEW),
    "poison": (THERE, VALUES, ENDS, DYING, KILL, HAMMER_FEW, UNLOAD),
    "wander": (MOVED, HAMMER_FEW),
    "unlike": (UNLIKE,),
    "readers": (READERS,),
}
# What takes minutes, besides.
LONG: Mapping[str, tuple[Trial, ...]] = {
    "uml": (LONG_KILL,),
    "qemu-smp": (MINUTE, LONG_KILL, LONG_DYING),
    "uml-debug": (LONG_KILL,),
    "wide": (MINUTE,),
    "poison": (MINUTE, LONG_DYING),
}
# A fault that is planted, what finds it, and a word that it is said with.
PLANTED: Mapping[str, tuple[Trial, str]] = {
    "used": (THERE, "use-after-free"),
    "lost": (VALUES, "never given back"),
}


def machine(name: str) -> Machine:
    """A machine of the lab, or one of this elective's own."""
    there = OWN[name][0] if name in OWN else name
    return machines.get(there) if isinstance(there, str) else there


def attempt(
    name: str,
    trials: Sequence[Trial],
    changed: Mapping[str, bytes] | None = None,
    tell: Tell = lambda _: None,
    to_the_end: bool = True,
    hear: Callable[[Trial, str], None] = lambda *_: None,
) -> dict[Trial, str]:
    """What is wrong with each, "" for nothing; where one fails, another machine goes on.

    Not to_the_end: none comes after the first that fails. hear: is told what a program has said.
    LabError when the module does not build.
    """
    where = machine(name)
    made = parts.built(where.kernel(), changed, OWN[name][1] if name in OWN else "")
    found: dict[Trial, str] = {}
    while len(found) < len(trials):
        todo = trials[len(found) :]
        programs = sorted({trial.program for trial in todo})
        with parts.machine_with(where, made, programs) as guest:
            guest.wire.check(NO_SEGFAULTS, parts.PATIENCE)
            for trial in todo:
                tell(f"{name}: {trial.title}")
                found[trial] = _one(guest, made, trial, hear)
                if found[trial]:
                    break  # in a machine that nothing is known of
            else:
                _last(guest, made, found, trials[-1], leaks=where is machines.get("uml-debug"))
        if not to_the_end and any(found.values()):
            break
    return found


def _one(guest: Running, made: Module, trial: Trial, hear: Callable[[Trial, str], None]) -> str:
    """Run one; what is wrong, in a line."""
    try:
        nonce = test_record.draw()
        command = f"echo {test_record.line(nonce).strip()} | TRY_RECORD=1 fibers-{trial.command}"
        done = guest.wire.run(command, trial.seconds)
        text, record = test_record.split(done.output)
        said = text.strip().splitlines()
        if done.status:
            return said[0] if said else f"exit {done.status}"
        unproved = _unproved(trial, record, nonce)
        if unproved:
            return unproved
        hear(trial, said[-1] if said else "")
        left = guest.wire.check("wc -l </proc/fibers", parts.PATIENCE).strip()
    except MachineError as error:
        return ending.of(error, guest, made).cause
    if left != str(EMPTY):
        return f"{int(left) - EMPTY} fibers are left when all programs have ended"
    return _dirt(guest, made)


def _unproved(trial: Trial, record: Record | None, nonce: int) -> str:
    """Return what the record of a program that ended with status 0 does not prove, or nothing."""
    checks = trial.checks
    if record and trial.varies:
        checks = max(checks, record.checks)
    return test_record.fault(record, nonce, test_record.same(checks))


def _dirt(guest: Running, made: Module) -> str:
    dirt = kernel_log.dirt(SEGFAULT.sub("", guest.console()), made)
    return dirt.cause if dirt else ""


def _last(guest: Running, made: Module, found: dict[Trial, str], last: Trial, leaks: bool) -> None:
    """At the end the module goes, and on the debug kernel no memory is lost."""
    try:
        if leaks:
            report = guest.wire.check(leak_scan.COMMAND, 4 * parts.PATIENCE)
            found[last] = found[last] or leak_scan.read(report, made).meaning
        guest.wire.check("rmmod fibers", parts.PATIENCE)
        found[last] = found[last] or _dirt(guest, made)
    except MachineError as error:
        found[last] = found[last] or ending.of(error, guest, made).cause
    except LabError as error:
        found[last] = found[last] or str(error)
