# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run a learner's driver in a machine, and raise an exception for its first fault."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from grader.base import test_record
from grader.base.errors import MachineError, MachineTimeout
from grader.base.finding import Code, Failure, Finding, failed
from grader.exercise.driver import call_trace, system_calls
from grader.exercise.driver.blame import Blame
from grader.exercise.driver.call_trace import TracedCall
from grader.exercise.driver.system_calls import DriverCase
from grader.exercise.files import driver_device
from grader.lab import failure_classification, kernel_log
from grader.lab.guest_channel import AHEAD_BYTES, GuestCommandResult
from grader.lab.machines import Machine, Running
from grader.lab.module import Module

# The time limit for an answer, in seconds, on a machine that boots in half a second.
PATIENCE = 4.0
ABI, LOAD, TOGETHER = "abi", "load", "together"
_BATCH = f"{driver_device.CLIENT} batch"
NOTHING_LEFT = "nothing left behind"  # The expected result after unloading.
# The message by which race.c reports a data race.
_PLACE = r"(\w[\w.]*\+0x[0-9a-f]+/0x[0-9a-f]+) \[\w+\]"
_RACE = re.compile(
    rf"BUG: data race: {_PLACE} (reads|writes) memory that {_PLACE} uses, (-?\d+) from watches"
)
LOCK = "the lock around all that is shared"
# The remedy for a data race on a variable, by the task that defines the variable; the remedy of the
# other tasks is LOCK. {} stands for the name of the variable. The variable of COUNTER
# needs no lock if it is an atomic64_t.
COUNTER = "counter"
REMEDY = {COUNTER: "an atomic64_t, or the lock around it, for {}"}
# The requests for what an unloaded driver has left behind. A shell command that starts two programs
# takes three times as long.
_LEFT = (*(f"exists {path}" for path in driver_device.LEFT_FILES), call_trace.STEPS)
# These requests come last, because the lists may have no end if a device is left behind.
_LISTS = tuple(f"text {path}" for path in driver_device.LEFT_LISTS)


class WrongError(Exception):
    """The driver has a fault. The machine that showed the fault must not be used any more."""

    def __init__(self, finding: Finding, what: str = "") -> None:
        super().__init__(finding.cause)
        self.finding = finding
        self.what = what  # the action during which the machine ended or did not answer


def wrong(test: str, title: str, expected: str, got: str) -> WrongError:
    """Return the error for a failed test."""
    return WrongError(failed(Failure(test, None, expected, got, title)))


class DriverSession:
    """A machine with a learner's driver, used until the first fault."""

    def __init__(
        self,
        machine: Machine,
        module: Module,
        patience: float = PATIENCE,
        blame: Blame | None = None,
    ) -> None:
        self.machine = machine
        self.module = module
        self.patience = patience
        self.blame = blame or Blame()
        self._read = 0  # the length of the console text whose data races are already attributed
        self.passed = 0
        self._nonce = 0  # the nonce of the last load
        self._before: list[str] = []  # the kernel's lists before the first load
        self._guest: Running | None = None
        self._client = ""  # the name of the running client, see GuestChannel.begin_client()

    @property
    def guest(self) -> Running:
        """Return the machine; boot it if it is not running."""
        if self._guest is None:
            self._guest = self.machine.boot(driver_device.contents(self.module.stripped))
        return self._guest

    @property
    def seconds(self) -> float:
        """Return the time limit for an answer, in seconds."""
        return self.patience * self.guest.speed_factor

    def stop_machine(self) -> None:
        """Stop the machine while another thread uses the session, whose calls then fail."""
        if self._guest is not None:
            self._guest.stop()

    def end(self) -> None:
        """Stop the machine."""
        if self._guest is not None:
            self._guest.stop()
            self._guest = None
            self._client = ""
        self._read, self._before = 0, []

    def __enter__(self) -> DriverSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _answers(self, requests: Sequence[str], ahead: int = AHEAD_BYTES) -> Iterator[str]:
        """Yield an answer for each request to the client's batch mode, see client/firstctl.h.

        Then close all files. The client goes on, because to start a program takes a hundred times
        as long as a request.
        """
        channel = self.guest.channel
        if not self._client:
            self._client = channel.begin_client(f"exec {_BATCH}", self.seconds)
        answers = channel.answers(_BATCH, [*requests, "close-all"], self.seconds, ahead)
        yield from itertools.islice(answers, len(requests))
        for _ in answers:
            pass

    def command(self, command: str, timeout: float) -> GuestCommandResult:
        """Run a shell command in the machine within timeout seconds."""
        if self._client:
            self.guest.channel.end_client(_BATCH, self._client, self.seconds)
            self._client = ""
        return self.guest.channel.run(command, timeout)

    def ask(self, requests: Sequence[str], title: str = "") -> list[str]:
        """Return the answers to requests. Raise WrongError if the machine ends.

        title: what the requests test, for this error; by default, the request without an answer.
        """
        answers = []
        about = title or requests[0]
        try:
            for i, answer in enumerate(self._answers(requests)):
                answers.append(answer.rstrip("\n"))
                about = title or requests[min(i + 1, len(requests) - 1)]
        except MachineError as error:
            raise self.ended(error, about) from None
        return answers

    def ended(self, error: MachineError, what: str, before: str = "") -> WrongError:
        """Return the error for a machine that ended or did not answer.

        `what` is the action at that time; `before` is the call before this action.
        """
        lock = (
            f"a lock. Look at the call before, {before}: does it keep the lock?"
            if before
            else "a lock that was never released"
        )
        late = f"no answer within {self.seconds:.0f} s: it loops, or waits for {lock}"
        found = failure_classification.classify(error, self.guest, self.module, late=late)
        return WrongError(found.within(what), what)

    def shell(self, command: str) -> tuple[int, str]:
        """Run a shell command. Return its status and output."""
        try:
            trace = self.command(command, self.seconds)
        except (MachineError, MachineTimeout) as error:
            raise self.ended(error, command) from None
        return trace.status, trace.output

    def try_cases(self, cases: Sequence[DriverCase], test: str = ABI) -> None:
        """Raise WrongError for the first case with a wrong answer."""
        about, before = cases[0].named(), ""
        case = cases[0]
        try:
            answers = self._answers([case.request for case in cases])
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
            ended = self.ended(error, about, before)
            if ended.finding.code != Code.CRASHED or about != case.named():
                raise ended from None
            want = system_calls.in_words(case.request, case.expected)
            happened = ended.finding.cause.removeprefix(f"{about}: ")
            message = f"{about}: expected {want}, but {happened}"
            raise WrongError(replace(ended.finding, cause=message), about) from None

    def at_its_call(self, cases: Sequence[DriverCase], error: WrongError) -> WrongError:
        """Make the calls one by one. Return the error for the call that caused the log message."""
        if error.finding.code != Code.DIRTY_LOG:
            return error
        self.end()
        try:
            self.must_load()
            requests = [case.request for case in cases]
            answers = self._answers(requests, ahead=0)
            for case, _ in zip(cases, answers):
                problem = kernel_log.first_problem(self.guest.console(), self.module)
                if problem:
                    return WrongError(problem.within(case.named()))
        except (MachineError, WrongError):
            pass
        return error

    def load(self, *parameters: str, title: str = "load") -> int:
        """Load the driver. Return 0 or minus errno. title: what this tests, as in ask."""
        if not self._before:
            self._before = self._lists(title)
        self._nonce = test_record.draw()
        nonce = test_record.line(self._nonce).strip()
        request = " ".join(("load", driver_device.KO, nonce, *parameters))
        return int(self.ask([request], title)[0])

    def _lists(self, moment: str) -> list[str]:
        """Return the lines of the kernel's lists of device numbers."""
        return "".join(map(driver_device.text, self.ask(_LISTS, moment))).splitlines()

    def unload(self) -> int:
        """Unload the driver. Return 0 or minus errno."""
        return int(self.ask(["unload"])[0])

    def steps(self) -> list[TracedCall]:
        """Return the steps of a loaded driver."""
        return call_trace.read(call_trace.steps(self.ask(call_trace.REQUESTS)[-1]))

    def must_load(self, *parameters: str) -> None:
        """Load the driver. Raise WrongError if that fails."""
        error = self.load(*parameters)
        if error:
            message = system_calls.in_words("load", str(error))
            raise wrong(LOAD, "load", "0", message)

    def must_unload(self, moment: str) -> list[TracedCall]:
        """Unload the driver; raise WrongError for a leak. Return the steps since load."""
        error, *left = self.ask(["unload", *_LEFT])
        if int(error):
            raise wrong(LOAD, f"{moment}, unload", "0", system_calls.in_words("unload", error))
        return self._check_left(left, f"{moment}, unload")

    def nothing_left(self, moment: str, ignored: str = "") -> list[TracedCall]:
        """Raise WrongError for problems in the kernel log and for steps that were not undone.

        ignored is the function whose steps need not be undone. Return all steps.
        """
        return self._check_left(self.ask(_LEFT, moment), moment, ignored)

    def _check_left(
        self, answers: Sequence[str], moment: str, ignored: str = ""
    ) -> list[TracedCall]:
        """Do what nothing_left() does, from the answers to _LEFT."""
        self.clean(moment)
        there = [path for path, it in zip(driver_device.LEFT_FILES, answers) if it == "0"]
        text = call_trace.steps(answers[-1])
        fault = call_trace.fault(text, self._nonce)
        if fault:
            raise wrong(LOAD, moment, "the record of all steps, from call_trace.c", fault)
        trace = call_trace.read(text)
        odd = call_trace.never_done(trace)
        if odd:
            done_by = call_trace.UNDOES.get(odd.name, odd.name)
            raise wrong(LOAD, moment, f"a {done_by} for each {odd.name}", "none")
        self._check_blocks(trace, moment)
        left = [step for step in call_trace.remaining(trace) if step.name != ignored]
        self._blame_for(left, call_trace.in_init(trace), moment)
        if not there:
            more = [line for line in self._lists(moment) if line not in self._before]
            there += [f"the device number {line.strip()} in /proc" for line in more]
        if there:
            raise wrong(LOAD, moment, NOTHING_LEFT, f"{there[0]} is still there")
        self.passed += 1
        return trace

    def _check_blocks(self, trace: Sequence[TracedCall], moment: str) -> None:
        """Raise WrongError for a write behind a block, or if a table of the interposer was full."""
        for address in call_trace.told(trace, "overrun"):
            block = next(i for i, s in enumerate(trace) if (s.kind, s.about) == ("+", address))
            size, place = trace[block + 1].about, self._place(trace[block].caller)
            raise wrong(LOAD, moment, f"no write behind the {size} bytes of kmalloc{place}",
                        "another byte there, behind the end of the block")  # fmt: skip
        for name, things in call_trace.FULL.items():
            for most in call_trace.told(trace, name):
                want = f"at most {most} {things}, which check can follow"
                raise wrong(LOAD, moment, want, "more")

    def _blame_for(
        self, left: Sequence[TracedCall], init: Sequence[TracedCall], moment: str
    ) -> None:
        """Raise WrongError if the driver leaked anything except memory of another task.

        init: the steps of init.
        """
        memory = call_trace.UNDOES["kfree"]
        owners: dict[str, list[TracedCall]] = {}
        for step in left:
            functions = [self._source(step.caller)[0], step.caller.split("+")[0]]
            owner = ""
            if step.name == memory:
                by_init = any(step is done for done in init)
                owner = self.blame.owner_of_memory(functions, by_init, self._open_leaks)
            owners.setdefault(owner, []).append(step)
        for owner, steps in owners.items():
            message = call_trace.in_words(steps, self._place)
            if moment.endswith("unload") and any(step.name != memory for step in steps):
                message += ": first_exit must undo that"
            error = wrong(LOAD, moment, NOTHING_LEFT, message)
            if not self.blame.takes(owner, error.finding):
                raise error

    def _source(self, place: str) -> tuple[str, str]:
        """Return the function and file:line of an address in the driver; "" if not known."""
        found = re.fullmatch(r"([\w.]+)\+0x([0-9a-f]+)/0x([0-9a-f]+)", place)
        if not found:
            return "", ""
        # A return address is after the call, so the byte before it belongs to the call.
        return kernel_log.source_line(
            self.module, found[1], int(found[2], 16) - 1, int(found[3], 16)
        )

    def _place(self, caller: str) -> str:
        """Return the source position of an allocation, as " in function (file:line)"."""
        function, line = self._source(caller)
        return f" in {function} ({Path(line).name})" if line else ""

    def clean(self, moment: str) -> None:
        """Raise WrongError for a message of the kernel or the race detector in the log."""
        whole = self.guest.console()
        for race in _RACE.finditer(whole, self._read):
            self._no_problem(whole[self._read : race.start()], moment)
            self._blame_for_race(race, moment)
            self._read = race.end()
        self._no_problem(whole[self._read :], moment)

    def _no_problem(self, log: str, moment: str) -> None:
        if problem := kernel_log.first_problem(log, self.module):
            raise WrongError(problem.within(moment))

    def _blame_for_race(self, race: re.Match[str], moment: str) -> None:
        """Raise WrongError for a data race from race.c, unless it is on another task's variable."""
        functions, places = [], []
        for place in (race[1], race[3]):
            symbol = place.split("+")[0]
            function, line = self._source(place)
            functions += [function, symbol]
            places.append(f"{function}, {line}," if line else symbol)
        variable = _static_variable(self.module, int(race[4]))
        owner = self.blame.owner_of_race(functions, variable)
        if owner == COUNTER and not self._is_counter(int(race[4])):
            owner = ""
        want = REMEDY.get(owner, LOCK).format(variable)
        uses = f"{race[2]} memory that {places[1].rstrip(',')} uses meanwhile"
        # The race was found while the callers ran; only its report is read after the unload.
        ran = moment.removesuffix(", unload")
        error = wrong(TOGETHER, ran, want, f"a data race: {places[0]} {uses}")
        if not self.blame.takes(owner, error.finding):
            raise error

    def _open_leaks(self) -> bool:
        """Return whether a file that is only opened and closed leaks memory."""
        with DriverSession(self.machine, self.module, self.patience) as other:
            try:
                other.must_load()
                other.ask(["open 0 rw", "close 0"])
                done = call_trace.read(call_trace.steps(other.ask(call_trace.REQUESTS)[-1]))
            except WrongError:
                return False
        init = len(call_trace.remaining(call_trace.in_init(done)))
        return len(call_trace.remaining(done)) > init

    def _is_counter(self, distance: int) -> bool:
        """Return whether a variable is the counter that the file calls shows.

        distance: from the array watches of race.c.
        """
        name, most, often = system_calls.COUNTERS[COUNTER]
        with DriverSession(self.machine, self.module, self.patience) as other:
            try:
                other.must_load()
                requests = ["open 0 rw", f"count 0 {name} 1 {most} {often}"]
                right = other.ask(requests)[1] == "right"
                _, words = other.shell(f"cat /sys/module/{driver_device.NAME}/parameters/counter")
            except WrongError:
                return False
        return right and str(distance) in words.split()


def _static_variable(module: Module, distance: int) -> str:
    """Return the name of the variable that lies this far from the array watches of race.c."""
    symbols = subprocess.run(["objdump", "-t", str(module.path)], capture_output=True, text=True)
    pattern = r"^([0-9a-f]+) .{5} O \.bss\t([0-9a-f]+) (?:\.\w+ )?(\S+)$"
    found = re.findall(pattern, symbols.stdout, re.MULTILINE)
    places = {name: (int(value, 16), int(size, 16)) for value, size, name in found}
    if "watches" not in places:
        return ""
    address = places["watches"][0] + distance
    return next((n for n, (begin, size) in places.items() if begin <= address < begin + size), "")
