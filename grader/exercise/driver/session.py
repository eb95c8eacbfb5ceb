# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A machine for a learner's driver: loading it, asking it, and what is wrong as an exception."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from grader.base import test_record
from grader.base.errors import MachineError, MachineTimeout
from grader.base.finding import Failure, Finding, failed
from grader.exercise.driver import call_trace, system_calls
from grader.exercise.driver.call_trace import TracedCall
from grader.exercise.driver.system_calls import DriverCase
from grader.exercise.files import driver_device
from grader.lab import failure_classification, kernel_log
from grader.lab.machines import Machine, Running
from grader.lab.module import Module

# Seconds for an answer, where the machine boots in half a second; calls take none of them.
PATIENCE = 4.0
ABI, LOAD, TOGETHER = "abi", "load", "together"
NOTHING_LEFT = "nothing left behind"  # what is expected of a module that is gone
# What race.c prints.
_PLACE = r"(\w[\w.]*\+0x[0-9a-f]+/0x[0-9a-f]+) \[\w+\]"
_RACE = re.compile(rf"BUG: data race: {_PLACE} (reads|writes) memory that {_PLACE} uses")
LEFT_BEHIND = driver_device.LEFT_BEHIND.items()


class WrongError(Exception):
    """What is wrong with the driver; the machine it was found in is used no more."""

    def __init__(self, finding: Finding, what: str = "") -> None:
        super().__init__(finding.cause)
        self.finding = finding
        self.what = what  # was being done when the machine ended or did not answer


def wrong(test: str, title: str, expected: str, got: str) -> WrongError:
    """The error that a failed test is."""
    return WrongError(failed(Failure(test, None, expected, got, title)))


class DriverSession:
    """One machine, up as long as nothing is wrong in it."""

    def __init__(self, machine: Machine, module: Module, patience: float = PATIENCE) -> None:
        self.machine = machine
        self.module = module
        self.patience = patience
        self.passed = 0
        self._nonce = 0  # of the last load
        self._guest: Running | None = None

    @property
    def guest(self) -> Running:
        """The machine, booted when it is not up."""
        if self._guest is None:
            self._guest = self.machine.boot(driver_device.contents(self.module.stripped))
        return self._guest

    @property
    def seconds(self) -> float:
        """How long an answer may take."""
        return self.patience * self.guest.speed_factor

    def end(self) -> None:
        """Down with it."""
        if self._guest is not None:
            self._guest.stop()
            self._guest = None

    def __enter__(self) -> DriverSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def ask(self, requests: Sequence[str]) -> list[str]:
        """The answers to some requests; what ends the machine is wrong."""
        answers = []
        about = requests[0]
        try:
            for i, answer in enumerate(driver_device.ask(self.guest, requests, self.seconds)):
                answers.append(answer.rstrip("\n"))
                about = requests[min(i + 1, len(requests) - 1)]
        except MachineError as error:
            raise self.ended(error, about) from None
        return answers

    def ended(self, error: MachineError, what: str, before: str = "") -> WrongError:
        """What it means that the machine did not do what was asked, behind another call."""
        lock = (
            f"a lock. Look at the call before, {before}: does it keep the lock?"
            if before
            else "a lock that was never released"
        )
        late = f"no answer within {self.seconds:.0f} s: it loops, or waits for {lock}"
        found = failure_classification.classify(error, self.guest, self.module, late=late)
        return WrongError(found.within(what), what)

    def shell(self, command: str) -> tuple[int, str]:
        """A shell command's status and output."""
        try:
            trace = self.guest.channel.run(command, self.seconds)
        except (MachineError, MachineTimeout) as error:
            raise self.ended(error, command) from None
        return trace.status, trace.output

    def try_cases(self, cases: Sequence[DriverCase], test: str = ABI) -> None:
        """The first of them that is not answered as it must be is wrong."""
        about, before = cases[0].named(), ""
        try:
            answers = driver_device.ask(self.guest, [case.request for case in cases], self.seconds)
            for case in cases:
                about = case.named()
                answer = next(answers)
                before = about
                if not case.holds(answer):
                    want, got = case.expected, answer
                    shown = [system_calls.in_words(case.request, text) for text in (want, got)]
                    raise wrong(test, about, *shown)
                self.passed += 1
            about = "the end"
            for _ in answers:
                pass
        except MachineError as error:
            raise self.ended(error, about, before) from None

    def load(self, *parameters: str) -> int:
        """0, or minus the error."""
        self._nonce = test_record.draw()
        nonce = test_record.line(self._nonce).strip()
        return int(self.ask([" ".join(("load", driver_device.KO, nonce, *parameters))])[0])

    def unload(self) -> int:
        """0, or minus the error."""
        return int(self.ask(["unload"])[0])

    def steps(self, gone: str = "") -> list[TracedCall]:
        """The driver's steps since it was loaded; gone: behind what the module must be gone."""
        text = self.shell(call_trace.COMMAND)[1]
        fault = call_trace.fault(text, self._nonce) if gone else ""
        if fault:
            raise wrong(LOAD, gone, "the record of all steps, from call_trace.c", fault)
        return call_trace.read(text)

    def must_load(self, *parameters: str) -> None:
        """Load it, or it is wrong."""
        error = self.load(*parameters)
        if error:
            said = system_calls.in_words("load", str(error))
            raise wrong(LOAD, "load", "0", said)

    def must_unload(self, moment: str) -> list[TracedCall]:
        """Unload it, and look at what is left; returns all its steps since it was loaded."""
        error = self.unload()
        if error:
            raise wrong(LOAD, f"{moment}, unload", "0", system_calls.in_words("unload", str(error)))
        return self.nothing_left(f"{moment}, unload")

    def nothing_left(self, moment: str, ignored: str = "") -> list[TracedCall]:
        """Raise for what the kernel has logged and what the driver's steps have left behind.

        ignored: the name of steps that may be left behind. Return all steps.
        """
        self.clean(moment)
        trace = self.steps(gone=moment)
        odd = call_trace.never_done(trace)
        if odd:
            done_by = call_trace.UNDOES.get(odd.name, odd.name)
            raise wrong(LOAD, moment, f"a {done_by} for each {odd.name}", "none")
        left = [step for step in call_trace.remaining(trace) if step.name != ignored]
        if left:
            said = call_trace.in_words(left, self._place)
            raise wrong(LOAD, moment, NOTHING_LEFT, said)
        there = self.shell("; ".join(f"{test} && echo '{what}'" for test, what in LEFT_BEHIND))[1]
        if there:
            what = there.splitlines()[0]
            raise wrong(LOAD, moment, NOTHING_LEFT, f"{what} is still there")
        self.passed += 1
        return trace

    def _place(self, caller: str) -> str:
        """Return where in the sources memory was asked for, as " in function (file:line)"."""
        found = re.fullmatch(r"([\w.]+)\+0x([0-9a-f]+)/0x([0-9a-f]+)", caller)
        if not found:
            return ""
        # A return address is behind the call: one byte back is within it.
        function, line = kernel_log.source_line(
            self.module, found[1], int(found[2], 16) - 1, int(found[3], 16)
        )
        return f" in {function} ({Path(line).name})" if line else ""

    def clean(self, moment: str) -> None:
        """Raise for what the kernel, or the race detector, has logged."""
        console = self.guest.console()
        race = _RACE.search(console)
        if race:
            got = _in_one_sentence(race, self.module)
            raise wrong(TOGETHER, moment, "the lock around all that is shared", got)
        dirt = kernel_log.first_problem(console, self.module)
        if dirt:
            raise WrongError(dirt.within(moment))


def _in_one_sentence(race: re.Match[str], module: Module) -> str:
    """Return a data race that race.c has found, with both places in the sources."""
    places = []
    for place in (race[1], race[3]):
        symbol, offset, size = re.split(r"\+0x|/0x", place)
        # A return address is behind the call: one byte back is within it.
        function, line = kernel_log.source_line(module, symbol, int(offset, 16) - 1, int(size, 16))
        places.append(f"{function}, {line}," if line else f"{symbol}")
    return f"a data race: {places[0]} {race[2]} memory that {places[1].rstrip(',')} uses meanwhile"
