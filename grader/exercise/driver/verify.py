# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verify a learner's driver task by task.

If a task crashes its machine or leaks a resource, the other tasks run in a new machine, so they
lose no points.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.base.background import WorkerPool
from grader.base.errors import LabError
from grader.base.finding import Code, Failure, Finding
from grader.exercise.build import stage_module
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.conformance.verify import Tally, Verified
from grader.exercise.driver import (
    call_trace,
    concurrency,
    init_and_exit,
    locks,
    notebook,
    system_calls,
)
from grader.exercise.driver.blame import Blame
from grader.exercise.driver.call_trace import TracedCall
from grader.exercise.driver.session import (
    ABI,
    NOTHING_LEFT,
    PATIENCE,
    DriverSession,
    WrongError,
    wrong,
)
from grader.exercise.driver.system_calls import DriverCase
from grader.exercise.files import driver_device
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import course
from grader.exercise.operations import test_program
from grader.lab.machines import Machine
from grader.lab.qemu import EMULATED_ARGUMENTS, GUARDED_CPU, Qemu

# The machine for two callers, if the machine of the other tests has one CPU. Callers run on each of
# the four CPUs, because a driver could choose its lock by the number of its CPU.
FOUR_CPUS = Qemu(
    "qemu-smp with four CPUs", "", ("-accel", "tcg"), 4, EMULATED_ARGUMENTS, GUARDED_CPU
)
# The number of words of a struct first_file that blocks.c reports.
REPORTED = 32
NOT_TRIED = Finding("wrong", "not tried", kind=Code.NOT_TRIED)
NOT_LOADED = replace(
    NOT_TRIED, cause=f"{NOT_TRIED.cause}: task 1 comes first, there is no {driver_device.NODE}"
)

# A call that hangs takes the full time limit, in each task that makes it. After the first such task
# the time limit is shorter, and after MOST_HANGS the remaining tasks are not tested.
MOST_HANGS = 2
PATIENCE_LEFT = PATIENCE / 4

Tell = Callable[[str], None]
Show = Callable[[int, Finding | None], None]


@dataclass(frozen=True)
class VerifiedTasks:
    """The findings of each task and of all tasks."""

    by_task: Mapping[int, Finding] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    passed: int = 0


def verify(
    built: BuiltStage,
    machine: Machine,
    seed: int,
    tell: Tell,
    all_tasks: bool = True,
    only: Sequence[int] = (),
    show: Show = lambda _task, _finding: None,
) -> Verified:
    """Test all tasks, or the tasks in only. Without all_tasks, stop after the first finding.

    seed selects the random calls. show is called with the number of each task that was tested, and
    its finding or None.
    """
    driver_device.refuse_host(machine)
    tasks = only or [task.number for task in course(built.stage.number).tasks]
    if not built.ok:
        finding = Finding("build-failed", built.cause, built.module.log[-4000:])
        return Verified(built, findings=(finding,), by_task=_first_says(tasks, _untried(finding)))
    if built.violations:
        findings = tuple(
            Finding("wrong", f"{violation.got}; {built.rules} allows {violation.expected}",
                    failure=Failure("contract", None, violation.expected, violation.got),
                    kind=Code.CONTRACT)
            for violation in built.violations
        )  # fmt: skip
        by_task = _first_says(tasks, _untried(findings[0]))
        failures = tuple(f.failure for f in findings if f.failure)
        tests = {"contract": Tally(0, len(failures))}
        return Verified(built, tests, failures, findings, by_task)
    tried = _try_tasks(built, machine, seed, tasks, tell, all_tasks, show)
    failures = tuple(f.failure for f in tried.findings if f.failure)
    tests = {"abi": Tally(tried.passed, len(tried.findings))}
    return Verified(built, tests, failures, tried.findings, tried.by_task)


def _untried(finding: Finding) -> Finding:
    """Return a finding with the reason why no task was tested."""
    return finding.within(test_program.UNTRIED[finding.code])


def _first_says(tasks: Sequence[int], why: Finding) -> dict[int, Finding]:
    """Return findings for all tasks: the reason for the first one, NOT_TRIED for the others."""
    return {task: NOT_TRIED if i else why for i, task in enumerate(tasks)}


def _try_tasks(
    built: BuiltStage,
    machine: Machine,
    seed: int,
    tasks: Sequence[int],
    tell: Tell,
    all_tasks: bool,
    show: Show,
) -> VerifiedTasks:
    found: dict[int, Finding] = {}
    hung: list[int] = []
    rest: Sequence[int] = ()
    why = NOT_TRIED
    asked = course(built.stage.number).tasks
    names = {task.number: task.name for task in asked}
    blame = Blame(asked)
    with (
        DriverSession(machine, built.module, blame=blame) as session,
        _ConcurrencyMachine(built, machine, blame, seed) as together,
    ):
        together.run_ahead([names[task] for task in tasks])
        for task in tasks:
            name = names[task]
            tell(f"task {task}, {name}")
            later = tasks[tasks.index(task) + 1 :]
            blame.current, blame.others = name, [names[other] for other in (*found, *later)]
            cases = _cases(name, blame, seed)
            try:
                _test_task(name, cases, session, together)
                if name in blame.findings:
                    raise WrongError(blame.findings[name])
                show(task, None)
            except WrongError as error:
                finding = error.finding
                # Ask lockdep about the first hang only; later hangs mostly have the same cause.
                if all(other.status != "timeout" for other in found.values()):
                    finding = locks.named(
                        error, built, machine, functools.partial(_test_alone, name, cases)
                    )
                found[task] = _once(finding, found, names)
                show(task, found[task])
                session.end()
                together.end()
                if error.finding.code == Code.TIMEOUT:
                    hung.append(task)
                    session.patience = together.patience = PATIENCE_LEFT
                if task == 1 and all_tasks and (hung or not _loads(session)):
                    why, all_tasks = NOT_LOADED, False
                elif len(hung) == MOST_HANGS:
                    why, all_tasks = _not_tried_behind(hung), False
                if not all_tasks:
                    rest = tasks[tasks.index(task) + 1 :]
                    break
        passed = session.passed + together.passed
    return VerifiedTasks({**found, **dict.fromkeys(rest, why)}, tuple(found.values()), passed)


def _once(finding: Finding, found: Mapping[int, Finding], names: Mapping[int, str]) -> Finding:
    """Return a finding. If an earlier task leaked the same resources, refer to that task."""
    failure = finding.failure
    if failure is None or failure.expected != NOTHING_LEFT:
        return finding
    for task, other in found.items():
        if other.failure and (other.failure.expected, other.failure.got) == (
            failure.expected,
            failure.got,
        ):
            message = f"{failure.title}: the same leftovers as in {names[task]}, see there"
            return replace(finding, cause=message)
    return finding


def _not_tried_behind(hung: Sequence[int]) -> Finding:
    """Return why the tasks after those that hang are not tested."""
    named = " and ".join(f"task {task}" for task in hung)
    cause = f"{NOT_TRIED.cause}: {named} hang, and each test waits for that; correct them first"
    return replace(NOT_TRIED, cause=cause)


def _loads(session: DriverSession) -> bool:
    """Return whether the driver loads and creates its device."""
    try:
        session.must_load()
        there = session.shell(f"test -c {driver_device.NODE}")[0] == 0
    except WrongError:
        there = False
    session.end()
    return there


def _cases(task: str, blame: Blame, seed: int) -> list[Sequence[DriverCase]]:
    """Return the lists of cases of a task, with random calls of this and earlier correct tasks."""
    cases = list(system_calls.CASES.get(task, ()))
    if task in notebook.KINDS:
        before = _right_tasks(task, blame)
        cases.append(notebook.drawn(before, seed))
        if task in system_calls.COUNTERS and (task != "sysfs" or "write" in before):
            cases.append(system_calls.counting(task, seed))
    return cases


def _right_tasks(task: str, blame: Blame) -> list[str]:
    """Return the tasks before this one that are right, and this one."""
    names = [other.name for other in blame.tasks]
    return [name for name in names[: names.index(task) + 1] if name not in blame.others]


def _test_task(
    task: str,
    lists: Sequence[Sequence[DriverCase]],
    session: DriverSession,
    together: _ConcurrencyMachine,
) -> None:
    """Test a task by its name. Raise WrongError for the first fault."""
    _test_by_one_caller(task, lists, session)
    if task in concurrency.TESTS:
        together.test(task)


def _test_by_one_caller(
    task: str, lists: Sequence[Sequence[DriverCase]], session: DriverSession
) -> None:
    if task in init_and_exit.TESTS:
        init_and_exit.TESTS[task](session)
    for cases in lists:
        session.must_load()
        session.try_cases(cases)
        try:
            done = session.must_unload("when all files are closed")
        except WrongError as error:
            raise session.at_its_call(cases, error) from None
        if task == "open":
            _check_memory_of_files(done)
        blocks = call_trace.told(done, "blocks")
        if blocks[:1] < blocks[-1:]:
            got = f"{blocks[-1] - blocks[0]} more"
            title = "close the files that were opened"
            raise wrong(ABI, title, "as many blocks of memory as before", got)


def _check_memory_of_files(done: Sequence[TracedCall]) -> None:
    """Raise WrongError unless each open file has initialised memory of its own, which close frees.

    The reports are those of the cases of the task: two files, before and after a write to the first
    one, which must change the memory of this file only, and after writes to another file and to the
    first one; and a file before and after a line that does not fit.
    """
    private = call_trace.told(done, "private")
    if 0 in private:
        raise wrong(ABI, "open", "the address of memory from kzalloc in file->private_data",
                    "another value")  # fmt: skip
    if len(set(private[:2])) < len(private[:2]):
        raise wrong(ABI, "open", "a struct first_file for each open file", "one for two files")
    if call_trace.told(done, "unset"):
        got = "memory as kmalloc returns it, with anything in it"
        raise wrong(ABI, "open", "a struct first_file that is all zero, as by kzalloc", got)
    contents = call_trace.told(done, "content")
    changed = [old != new for old, new in zip(contents[:2], contents[2:])]
    if changed not in ([], [True, False]):
        got = "none" if not any(changed) else "another one"
        raise wrong(
            ABI, "write to the first of two files", "a change in its struct first_file", got
        )
    words = call_trace.told(done, "word")
    first = [words[i * REPORTED : (i + 1) * REPORTED] for i in (0, 2, 4)]
    if contents[4:] and not any((b - a, c - b) == (1, 1) for a, b, c in zip(*first)):
        expected = "a number in struct first_file that grows by 1 with each line of this file"
        raise wrong(ABI, "write to the file again", expected, "none")
    if contents[5:6] != contents[6:7]:
        expected = "a struct first_file that is as before"
        raise wrong(ABI, "write a line that does not fit", expected, "another number in it")


def _test_alone(task: str, lists: Sequence[Sequence[DriverCase]], session: DriverSession) -> None:
    """Test a task with one caller, on one CPU. Raise WrongError for the first fault."""
    _test_by_one_caller(task, lists, session)
    if task in concurrency.TESTS:
        concurrency.test_alone(task, session)


@dataclass(frozen=True)
class _Outcome:
    """The result of a test with two callers that ran ahead."""

    error: WrongError | None
    blamed: Mapping[str, Finding]  # Findings about other tasks.
    passed: int


def _with_two_cpus(machine: Machine) -> Machine:
    """Return the machine for two callers: this machine, if it has two CPUs."""
    return FOUR_CPUS if machine.cpus < 2 else machine


def build_raced(stage: Stage, machine: Machine) -> BuiltStage:
    """Build the driver for two callers, unless nothing has changed since the last build.

    machine is the machine for one caller. Raise LabError if there is no machine with two CPUs.
    """
    return stage_module.build_driver(stage, _with_two_cpus(machine).kernel(), raced=True)


class _ConcurrencyMachine:
    """The machine and the driver for two callers.

    run_ahead() starts all tests with two callers in a thread, while the tests with one caller run.
    They assume that all other tests pass. Their outcomes are therefore used up to the first failed
    test of either kind. After it, each test runs when its task is tested.
    """

    def __init__(self, built: BuiltStage, machine: Machine, blame: Blame, seed: int) -> None:
        self.built = built
        self.machine = machine
        self.blame = blame
        self.seed = seed
        self.patience = PATIENCE
        self._session: DriverSession | None = None
        self._ahead: list[str] = []  # The tasks whose outcomes from the thread can be used.
        self._outcomes: WorkerPool[_Outcome | None] | None = None
        self._passed_ahead = 0
        self._own: _ConcurrencyMachine | None = None  # The machine of the thread.
        self.failed = False

    @property
    def passed(self) -> int:
        """Return the number of tests that passed."""
        return self._passed_ahead + (self._session.passed if self._session else 0)

    def run_ahead(self, tasks: Sequence[str]) -> None:
        """Start the tests of these tasks in a thread, which has a machine of its own."""
        self._ahead = [task for task in tasks if task in concurrency.TESTS]
        if not self._ahead:
            return
        blame = Blame(self.blame.tasks)
        self._own = own = _ConcurrencyMachine(self.built, self.machine, blame, self.seed)
        works = [
            functools.partial(self._test_ahead, own, task, tasks[tasks.index(task) + 1 :])
            for task in self._ahead
        ]
        # All works run in one thread, because a machine ends with the thread that has started it.
        self._outcomes = WorkerPool([*works, own.end], 1)

    def _test_ahead(
        self, own: _ConcurrencyMachine, task: str, later: Sequence[str]
    ) -> _Outcome | None:
        """Test a task in the thread. Return None after a failed test."""
        if own.failed or task not in self._ahead:
            return None
        own.blame.current, own.blame.others = task, later
        before, error = own.passed, None
        try:
            own._test_now(task)
        except WrongError as caught:
            error = caught
        own.failed = bool(error or own.blame.findings)
        return _Outcome(error, own.blame.findings, own.passed - before)

    def test(self, task: str) -> None:
        """Test a task. Raise WrongError for the first fault."""
        if not self._outcomes or task not in self._ahead:
            self._test_now(task)
            return
        outcome = self._outcomes.result(self._ahead.index(task))
        if outcome is None:
            self._ahead = []
            self.test(task)
            return
        self._passed_ahead += outcome.passed
        self.blame.findings.update(outcome.blamed)
        if outcome.error:
            raise outcome.error

    def _test_now(self, task: str) -> None:
        concurrency.test(task, self.session(), _right_tasks(task, self.blame), self.seed)

    def session(self) -> DriverSession:
        """Return the session. Raise WrongError if the machine is missing or the build failed."""
        if self._session is None:
            try:
                machine = _with_two_cpus(self.machine)
                built = build_raced(self.built.stage, self.machine)
            except LabError as error:
                message = f"not tried, because it needs two CPUs: {error}"
                raise WrongError(Finding("wrong", message)) from None
            if not built.ok:
                raise WrongError(Finding("build-failed", f"for {machine.name}: {built.cause}"))
            self._session = DriverSession(machine, built.module, blame=self.blame)
        self._session.patience = self.patience
        return self._session

    def end(self) -> None:
        """Stop the machine, and use no more outcomes of the thread."""
        if self._ahead and self._own and self._own._session:
            self._own._session.stop_machine()
        self._ahead = []
        if self._session:
            self._session.end()

    def __enter__(self) -> _ConcurrencyMachine:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        if self._outcomes:
            self._outcomes.wait()  # The thread may have begun to boot a machine.
