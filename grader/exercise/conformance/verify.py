# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verify one stage in its own machine: test loading, the ABI and values, and read the log."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from grader.base import scratch
from grader.base.background import Background
from grader.base.errors import MachineError
from grader.base.finding import Code, Failure, Finding, failed
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.conformance import system_calls, test_inputs
from grader.exercise.contract_tests import runner
from grader.exercise.files import device, expected_values
from grader.lab import failure_classification, kernel_log
from grader.lab.machines import Machine, Running
from grader.lab.module import Module

# The time limit for one answer, in seconds. The slowest call takes about 2 s.
CALL_TIMEOUT = 6.0
# The same if the operations are known to be wrong. The user waits for a verdict on the device,
# which is most likely wrong, too.
HURRIED_TIMEOUT = 2.0
# On an emulated machine the serial line takes 10 to 25 us for each character. Therefore the
# requests are in a file in the machine, and from n = KNOWN_FROM on the client computes the residue
# of the digits and compares it with the expected residue.
READS = f"{device.MODULES}/reads.txt"
KNOWN_FROM = 200
# An upper bound of the seconds that the serial line takes for a digit.
SECONDS_A_DIGIT = 50e-6
# The maximum number of failures of one test in the report.
SHOWN = 5
MODULE = f"{device.MODULES}/{device.NAME}.ko"


@dataclass(frozen=True)
class Tally:
    """The numbers of passed and failed tests of one kind."""

    passed: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Verified:
    """The result of a verification: tests by kind, failed tests, and all findings."""

    built: BuiltStage
    tests: Mapping[str, Tally] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()  # the first few failures of each kind of test
    findings: tuple[Finding, ...] = ()
    by_task: Mapping[int, Finding] = field(default_factory=dict)  # a driver's findings by task

    @property
    def ok(self) -> bool:
        """Return whether the verification has no findings."""
        return not self.findings

    @property
    def measurable(self) -> bool:
        """Return whether the stage can be measured: it computes F(n) and has no findings."""
        return self.ok and self.built.stage.manifest.computes

    @property
    def passed(self) -> int:
        """Return the number of tests that passed."""
        return sum(tally.passed for tally in self.tests.values())

    @property
    def failed(self) -> int:
        """Return the number of tests that failed."""
        return sum(tally.failed for tally in self.tests.values())


class _Record:
    """The tests and findings of a verification that is still running."""

    def __init__(self, built: BuiltStage) -> None:
        self.built = built
        self._tests: dict[str, Tally] = {}
        self._failures: list[Failure] = []
        self._findings: list[Finding] = []

    def passes(self, test: str) -> None:
        """Add a passed test to the tally."""
        tally = self._tests.get(test, Tally())
        self._tests[test] = Tally(tally.passed + 1, tally.failed)

    def fails(self, failure: Failure, finding: Finding | None = None) -> None:
        """Add a failed test to the tally. Store the first few failures; the first is a finding."""
        tally = self._tests.get(failure.test, Tally())
        self._tests[failure.test] = Tally(tally.passed, tally.failed + 1)
        if tally.failed < SHOWN:
            self._failures.append(failure)
        if not tally.failed:
            self._findings.append(finding or failed(failure, f"F({failure.n})"))

    def count(self, test: str) -> Tally:
        """Return the tally of a kind of test."""
        return self._tests.get(test, Tally())

    def ends(self, finding: Finding) -> None:
        """Add a finding that does not belong to a test."""
        self._findings.append(finding)

    def take(self, other: _Record) -> None:
        """Add the tests and findings from another machine."""
        for test, tally in other._tests.items():
            own = self._tests.get(test, Tally())
            self._tests[test] = Tally(own.passed + tally.passed, own.failed + tally.failed)
        self._failures += other._failures
        self._findings += other._findings

    def closed(self) -> Verified:
        """Return the result."""
        return Verified(self.built, dict(self._tests), tuple(self._failures), tuple(self._findings))


def _reads(n_list: Sequence[int], modulus: int) -> list[str]:
    """Return requests to read F(n). For large n, the answer to correct digits is "="."""
    plain = ((n, f"pread 0 {n // 4 + 64} {n}") for n in n_list)
    known = (
        r if n < KNOWN_FROM else f"{r} known={expected_values.residue(n, modulus)}/{modulus}"
        for n, r in plain
    )
    return ["open 0 r", *known]


def _read_values(
    guest: Running,
    record: _Record,
    n_list: Sequence[int],
    modulus: int,
    timeout: float,
    show_detail: Callable[[str], None],
    on_board: bool = False,
) -> None:
    reads = _reads(n_list, modulus)
    if on_board:
        answers = device.run_script(guest, READS, len(reads), timeout)
    else:
        answers = device.ask(guest, reads, timeout)
    show_detail("open")
    next(answers)
    for n, request in zip(n_list, reads[1:]):
        show_detail(f"read of F({n})")
        answer = next(answers)
        size = str(expected_values.digit_count(n))
        same = "=" if "known=" in request else expected_values.digits(n)
        if answer.split() == [size, size, same]:
            record.passes("value")
        else:
            want, got = expected_values.digits(n), system_calls.in_words(request, answer)
            record.fails(Failure("value", n, want, got))
    # Wait for the client, which ends after the last answer.
    show_detail("close")
    for _ in answers:
        pass


class _Runs:
    """The runs of consecutive n that are still to be verified, in ascending order.

    Two machines can share them: one takes the smallest n, the other one the largest.
    """

    def __init__(self, runs: Sequence[tuple[int, int]], modulus: int) -> None:
        self.modulus = modulus
        self._left = deque(sorted(runs))

    def take(self, largest: bool) -> Iterator[tuple[int, int]]:
        """Take runs from one end until none is left."""
        with suppress(IndexError):
            while True:
                yield self._left.pop() if largest else self._left.popleft()

    def skip(self) -> None:
        """Leave out the runs that no machine has taken yet."""
        self._left.clear()


def _verify_runs(
    guest: Running,
    record: _Record,
    runs: _Runs,
    timeout: float,
    show_detail: Callable[[str], None],
    largest: bool = False,
) -> None:
    """Verify runs of consecutive n by residues of the digits. If a run is wrong, read each n.

    largest: take the runs with the largest n first.
    """
    modulus = runs.modulus
    asked: list[tuple[int, int, str]] = []

    def requests() -> Iterator[str]:
        yield "open 0 r"
        for first, last in runs.take(largest):
            known = (expected_values.residue(n, modulus) for n in (first, first + 1))
            request = " ".join(map(str, ("verify 0", first, last, modulus, *known)))
            asked.append((first, last, request))
            show_detail(f"F({first}) to F({last})" if first < last else f"F({first})")
            yield request
        show_detail("close")

    show_detail("open")
    # One request at a time, because the other machine may take the next run.
    answers = device.ask(guest, requests(), timeout, ahead=0)
    next(answers)
    wrong = []
    for i, answer in enumerate(answers):
        first, last, request = asked[i]
        if answer.split() == ["0", "0"]:
            for _ in range(first, last + 1):
                record.passes("value")
        else:
            wrong.append((first, last, request, answer))
    for first, last, request, answer in sorted(wrong)[:SHOWN]:
        failed_before = record.count("value").failed
        if first > test_inputs.TEXT_TO and failed_before:
            continue
        more = SECONDS_A_DIGIT * expected_values.digit_count(last) * guest.speed_factor
        _read_values(guest, record, range(first, last + 1), modulus, timeout + more, show_detail)
        if record.count("value").failed == failed_before:
            record.fails(_not_again(first, request, answer))


def _not_again(first: int, request: str, answer: str) -> Failure:
    """Return the failure of a run of n that was wrong once, but right when read again."""
    words = answer.split()
    if len(words) != 2 or not all(word.isdigit() for word in words):
        return Failure("value", first, "0 0", system_calls.in_words(request, answer), request)
    n = int(words[1])
    got = f"digits of another number at first, F({n}) when read again"
    return Failure("value", n, f"F({n}) each time", got)


def _check_abi(
    guest: Running, record: _Record, timeout: float, show_detail: Callable[[str], None]
) -> None:
    cases = system_calls.cases(record.built.stage.manifest)
    answers = device.ask(guest, [c.request for c in cases], timeout)
    for case in cases:
        title = f"{case.title} ({case.request})"
        show_detail(title)
        answer = next(answers)
        if case.request == "stat":
            answer = _as_made(guest, answer)
        if case.holds(answer):
            record.passes("abi")
        else:
            record.fails(
                Failure("abi", None, case.expected_in_words(), case.answer_in_words(answer), title)
            )
    show_detail("the end")
    for _ in answers:
        pass


def _as_made(guest: Running, answer: str) -> str:
    """Return the answer to stat with the device's original owner; machine host changes it."""
    words = answer.split()
    if len(words) == 4 and all(word.isdigit() for word in words):
        owner = guest.owner_as_made(int(words[2]), int(words[3]))
        return " ".join([*words[:2], *map(str, owner)]) + "\n"
    return answer


class _StepRunner:
    """A runner for the steps of a verification, which adds a finding if a step fails."""

    def __init__(self, record: _Record, guest: Running) -> None:
        self.record = record
        self.guest = guest
        self.detail = ""

    def set_detail(self, detail: str) -> None:
        """Set the name of the current part of the step, which findings quote."""
        self.detail = detail

    def run(self, what: str, status: str, step: Callable[[], None]) -> bool:
        """Run a step. Return whether it succeeded; if not, add a finding."""
        self.detail = ""
        try:
            step()
            return True
        except MachineError as error:
            where = f"{what}, {self.detail}" if self.detail else what
            seconds = self.guest.channel.hurried() or CALL_TIMEOUT * self.guest.speed_factor
            late = f"no answer within {seconds:.0f} s, it hangs or loops"
            found = failure_classification.classify(
                error, self.guest, self.record.built.module, status, late
            )
            self.record.ends(found.within(where))
        return False


def verify(
    built: BuiltStage,
    machine: Machine,
    seed: int,
    quick: bool,
    tell: Callable[[str], None],
    at_once: bool = False,
    hurry: Callable[[], bool] = lambda: False,
) -> Verified:
    """Boot a machine for one stage and test the whole ABI.

    quick: test fewer n above 1,000. A debug machine, which is very slow, always does so, and leaves
    out the runs of consecutive n. at_once: run the contract tests in a second machine at the same
    time, because a user is waiting. hurry: returns whether the stage is known to be wrong, and then
    the time limit is HURRIED_TIMEOUT.
    """
    record = _Record(built)
    if not built.ok:
        record.ends(Finding("build-failed", built.cause, built.module.log[-4000:]))
        return record.closed()
    if not built.violations:
        record.passes("contract")
    for violation in built.violations:
        failure = Failure("contract", None, violation.expected, violation.got)
        message = f"{violation.got}; stage.h allows {violation.expected}"
        record.fails(failure, Finding("wrong", message, failure=failure, kind=Code.CONTRACT))
    modules = {device.NAME: built.module.stripped}
    # Run no contract tests on the host, because they could crash this computer, nor in a debug
    # kernel, because it has checkers of its own.
    tried = not (machine.is_host or machine.debug)
    contract_module = runner.link(built, machine.kernel()) if tried else None
    manifest = built.stage.manifest
    numbers, modulus = test_inputs.small_n(manifest.max_n), expected_values.new_modulus()
    few = quick or machine.debug
    compared = () if few else built.compared
    large = [(n, n) for n in test_inputs.large_n(manifest, compared, seed, few)]
    large += [] if machine.debug else test_inputs.chosen_runs(manifest, seed)
    runs = _Runs(large, modulus)
    apart: Background[_Record] | None = None
    if contract_module and at_once:
        apart = Background(
            functools.partial(_apart, built, machine, contract_module, seed, runs, hurry)
        )
    elif contract_module:
        modules[contract_module.name] = contract_module.stripped
    folder = scratch.folder()
    try:
        reads = folder / "reads"
        reads.write_text("\n".join([*_reads(numbers, modulus), ""]))
        guest = machine.boot(device.contents(modules, files={READS: reads}))
        _hurry(guest, hurry)
    finally:
        scratch.remove(folder)
    try:
        if _verify_in(guest, record, numbers, runs, tell):
            # If a test of digits or memory has failed, skip the contract tests, which would find
            # the same fault.
            known = record.count("abi").failed + record.count(
                "value"
            ).failed or kernel_log.first_problem(guest.console(), built.module)
            tell("contract tests")
            if apart and not known:
                record.take(apart.result())
                _read_log(guest, record)
            elif (
                contract_module is None
                or known
                or _contract_tests(guest, record, contract_module, seed)
            ):
                _read_log(guest, record)
    finally:
        runs.skip()  # The other machine need not verify them any more.
        guest.stop()
    return record.closed()


def _verify_in(
    guest: Running,
    record: _Record,
    numbers: Sequence[int],
    runs: _Runs,
    tell: Callable[[str], None],
) -> bool:
    """Run all steps. Return whether they completed, with or without findings."""
    timeout = CALL_TIMEOUT * guest.speed_factor
    steps = _StepRunner(record, guest)
    channel = guest.channel

    def load() -> None:
        channel.check(f"insmod {MODULE}", timeout)
        channel.check(f"test -c {device.NODE}", timeout)

    def unload() -> None:
        channel.check(f"rmmod {device.NAME}", timeout)
        for test, what in device.LEFT_BEHIND.items():
            if channel.run(test, timeout).status == 0:
                raise MachineError(f"{what} is still there after rmmod")

    def busy() -> None:
        result = channel.run(f"exec 3<{device.NODE} && rmmod {device.NAME} 2>&1", timeout)
        if result.status == 0:
            raise MachineError("rmmod succeeded while a file was open")

    tell("load")
    if not steps.run("load", "load-failed", load):
        return False
    tell("unload")
    if not steps.run("unload", "unload-failed", unload):
        return False
    tell("load again")
    if not steps.run("second load", "load-failed", load):
        return False
    tell("the ABI")
    if not steps.run("ABI", "wrong", lambda: _check_abi(guest, record, timeout, steps.set_detail)):
        return False
    tell("values")
    if not steps.run(
        "values",
        "wrong",
        lambda: _read_values(guest, record, numbers, runs.modulus, timeout, steps.set_detail, True),
    ):
        return False
    # After a leak, skip the runs: they would exhaust the memory and hide the cause.
    if kernel_log.first_problem(guest.console(), record.built.module):
        runs.skip()
    if not steps.run(
        "values", "wrong", lambda: _verify_runs(guest, record, runs, timeout, steps.set_detail)
    ):
        return False
    if not steps.run("unload while open", "unload-failed", busy):
        return False
    tell("unload again")
    if not steps.run("second unload", "unload-failed", unload):
        return False
    record.passes("load")
    return True


def _hurry(guest: Running, hurry: Callable[[], bool], answers: int = 1) -> None:
    """Shorten the time limit of this number of answers as soon as hurry() is true."""
    seconds = answers * HURRIED_TIMEOUT * guest.speed_factor
    guest.channel.hurried = lambda: seconds if hurry() else None


def _apart(
    built: BuiltStage,
    machine: Machine,
    contract_module: Module,
    seed: int,
    runs: _Runs,
    hurry: Callable[[], bool],
) -> _Record:
    """Run the contract tests in a separate machine, then help with the runs. Return the record."""
    record = _Record(built)
    modules = {contract_module.name: contract_module, device.NAME: built.module}
    stripped = {name: module.stripped for name, module in modules.items()}
    guest = machine.boot(device.contents(stripped))
    _hurry(guest, hurry, 5)  # all contract tests are one answer, which takes 3 s
    try:
        if _contract_tests(guest, record, contract_module, seed):
            if kernel_log.first_problem(guest.console(), built.module):
                _read_log(guest, record)
            elif not record.count(runner.TEST).failed:
                _help(guest, record, runs)
    finally:
        guest.stop()
    return record


def _help(guest: Running, record: _Record, runs: _Runs) -> None:
    """Verify the largest n that the other machine has not taken yet."""
    steps, timeout = _StepRunner(record, guest), CALL_TIMEOUT * guest.speed_factor

    def values() -> None:
        guest.channel.check(f"insmod {MODULE}", timeout)
        _verify_runs(guest, record, runs, timeout, steps.set_detail, largest=True)
        guest.channel.check(f"rmmod {device.NAME}", timeout)

    if steps.run("values", "wrong", values) and kernel_log.first_problem(
        guest.console(), record.built.module
    ):
        _read_log(guest, record)


def _contract_tests(guest: Running, record: _Record, contract_module: Module, seed: int) -> bool:
    """Run the contract tests. Return whether they completed, with or without findings."""
    timeout = CALL_TIMEOUT * guest.speed_factor
    try:
        failures = runner.run(guest, record.built, seed, timeout)
    except MachineError as error:
        ended = failure_classification.classify(error, guest, contract_module, "wrong")
        fault = runner.last_fault(guest.console())
        if fault:
            fault = replace(fault, then=ended.cause)
        record.ends(replace(ended.within("contract tests"), fault=fault))
        return False
    for failure in failures:
        fault = runner.fault_in(failure)
        record.fails(failure, Finding("wrong", failure.title, failure=failure, fault=fault))
    if not failures:
        record.passes(runner.TEST)
    return True


def _read_log(guest: Running, record: _Record) -> None:
    problem = kernel_log.first_problem(guest.console(), record.built.module)
    if problem:
        failure = Failure("log", None, "a clean kernel log", problem.cause, "kernel log")
        record.fails(failure, replace(problem, failure=failure))
    else:
        record.passes("log")
