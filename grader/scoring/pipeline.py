# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The pipeline from a stage's sources to its points, and the steps that each command runs.

                    check_stage  build_subject  counter, clock  stress  judge
grader/run.sh            x             x               x           x      x
make check, a class      x             x            instructions          x
grader/compare.sh        x             x               x
make debug                                                         x

Each step returns an immutable value, which later steps read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from grader.base.background import Background
from grader.base.errors import LabError
from grader.base.finding import Code, Finding
from grader.exercise.build import preprocess, stage_module
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.conformance import verify
from grader.exercise.conformance.verify import Verified
from grader.exercise.driver import stress as driver_stress
from grader.exercise.driver import verify as driver_verify
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import CountedCall, Idea, Task, course
from grader.exercise.operations import ideas, repetition, test_program, unit_tests
from grader.exercise.operations.test_program import NoTestProgramError
from grader.exercise.operations.unit_tests import OperationOutcome
from grader.exercise.stress import debug_kernel
from grader.exercise.stress.debug_kernel import StressPlan, StressResult
from grader.exercise.workload.stage_workload import StageWorkload
from grader.lab import machines
from grader.lab.machines import Machine
from grader.scoring import points, status
from grader.scoring.points import Line, Tried
from grader.scoring.status import ReportedFinding, Status

Tell = Callable[[str], None]
# A function that is called with each line of points as soon as the line is final.
Show = Callable[[Line], None]
# A function that takes the status of all other tests and returns the line for speed, or None if
# speed earns no points.
SpeedLine = Callable[[Status], Line | None]


@dataclass(frozen=True)
class CheckedStage:
    """A stage that was built and verified, and whose operations were tested."""

    verified: Verified
    tried: Tried | None = None  # The outcomes of the operations; None if they were not tested.
    figures: Mapping[str, int] = field(default_factory=dict)  # The counts of the stress test.

    @property
    def stage(self) -> Stage:
        """Return the stage."""
        return self.verified.built.stage


@dataclass(frozen=True)
class JudgedStage(points.Lines):
    """A stage with all its findings, its status and its points."""

    verified: Verified
    found: tuple[ReportedFinding, ...]  # The findings in the order of their discovery.
    status: Status
    lines: tuple[Line, ...] = ()  # The lines of points; empty if the stage earns no points.
    note: str = ""  # The reason why the stage earns no points.

    @property
    def stage(self) -> Stage:
        """Return the stage."""
        return self.verified.built.stage


def try_operations(
    stage: Stage,
    seed: int,
    with_ideas: bool = True,
    show: Show = lambda _line: None,
    all_right: Callable[[], None] = lambda: None,
) -> Tried:
    """Test each operation of a stage's tasks in a program. Return a finding if it cannot be built.

    Then count the instructions of the operations that are right and whose tasks have ideas. Call
    show with the line of each task as soon as the line is final. Call all_right before counting if
    each operation is right.
    """
    try:
        program = test_program.program(stage)
    except NoTestProgramError as error:
        for line in points.task_lines(course(stage.number), error.finding):
            show(line)
        return error.finding
    whole = course(stage.number)
    tasks = whole.tasks
    asked = [task for task in tasks if task.ideas and with_ideas]
    outcomes: dict[str, OperationOutcome] = {}
    waiting: list[Task] = []  # the tasks whose instructions will be counted
    for task in tasks:
        outcome = unit_tests.outcome(stage, program, task.operation, seed)
        if outcome.large:
            outcome = unit_tests.with_broken_function(outcome, stage, task, seed)
        elif outcome.tried and all(o.large for o in outcomes.values()):
            outcome = unit_tests.with_function(outcome, stage, task, seed)
        outcomes[task.operation] = outcome
        if task in asked and (outcome.small or outcome.large):
            waiting.append(task)
        else:
            show(points.operation_line(task, outcome))
    right = all(outcome.large for outcome in outcomes.values())
    if right:
        all_right()
    # A whole call needs the functions of all tasks.
    device = whole.device_ideas if right and with_ideas else ()
    if waiting or device:
        judges = [(task.points, task.ideas) for task in waiting]
        counts = _count(stage, [*judges, (whole.device_points, device)], seed)
        for task in waiting:
            judged = unit_tests.with_ideas(outcomes[task.operation], task.ideas, counts)
            outcomes[task.operation] = judged
            show(points.operation_line(task, judged))
        outcomes[points.DEVICE] = unit_tests.with_ideas(
            OperationOutcome(True, True, 0), device, counts
        )
    return outcomes


def _count(
    stage: Stage, judges: Sequence[tuple[int, Sequence[Idea]]], seed: int
) -> ideas.Counts | LabError:
    """Count the instructions of the ideas' calls. Return an error if counting is impossible.

    judges: the points of each line of points, and its ideas.
    """

    def decided(call: CountedCall, found: ideas.Counts) -> bool:
        """Return whether each line that this call judges has lost all its points."""
        judged = (one for one in judges if any(idea.takes == call for idea in one[1]))
        return all(unit_tests.withheld(asked, found) >= most for most, asked in judged)

    calls = ideas.calls(idea for _, asked in judges for idea in asked)
    try:
        return ideas.counts(machines.counting(), stage, calls, seed, decided)
    except LabError as error:
        # All untrusted stages must be graded in the same way, so do not grade without counts.
        if stage.isolated:
            raise
        return error


class Arithmetic:
    """The steps for a stage that computes F(n), whose operations are also tested separately."""

    examine = staticmethod(debug_kernel.examine)

    @staticmethod
    def verify(
        built: BuiltStage, verifier: Machine, seed: int, quick: bool, tell: Tell
    ) -> Verified:
        """Verify the device."""
        return verify.verify(built, verifier, seed, quick, tell)

    @staticmethod
    def tried(stage: Stage, seed: int, with_ideas: bool, tell: Tell) -> Tried | None:
        """Test the operations of the tasks."""
        tell("try its operations")
        return try_operations(stage, seed, with_ideas)

    @staticmethod
    def lines(checked: CheckedStage, stands: Status) -> list[Line]:
        """Return the lines of the tasks and of the device."""
        asked = course(checked.stage.number)
        lines = points.task_lines(asked, checked.tried) if checked.tried is not None else []
        device = points.device_line(asked, checked.verified, stands)
        return [*lines, points.limited(asked, checked.tried, device)]


class Driver:
    """The steps for the learner's driver. Each task is a part of the driver's verification."""

    examine = staticmethod(driver_stress.examine)

    @staticmethod
    def verify(
        built: BuiltStage, verifier: Machine, seed: int, quick: bool, tell: Tell
    ) -> Verified:
        """Verify the driver task by task."""
        return driver_verify.verify(built, verifier, seed, tell)

    @staticmethod
    def tried(stage: Stage, seed: int, with_ideas: bool, tell: Tell) -> Tried | None:
        """Return None, because a driver has no operations."""
        return None

    @staticmethod
    def lines(checked: CheckedStage, stands: Status) -> list[Line]:
        """Return the lines of the tasks."""
        return points.driver_lines(course(checked.stage.number), checked.verified)


def _kind(stage: Stage) -> type[Arithmetic | Driver]:
    """Return the steps for this kind of stage."""
    return Driver if stage.manifest.driver else Arithmetic


def verify_built(
    built: BuiltStage, machine: Machine, seed: int, tell: Tell, quick: bool = False
) -> Verified:
    """Verify a stage that was built."""
    return _kind(built.stage).verify(built, machine.verifier(), seed, quick, tell)


def check_stage(
    stage: Stage,
    machine: Machine,
    seed: int,
    tell: Tell,
    jobs: int = 2,
    with_ideas: bool = True,
) -> CheckedStage:
    """Build a stage, verify it and test its operations.

    jobs is the number of compilers that run at once. with_ideas: also judge the ideas of its tasks.
    """
    tell("build")
    built = stage_module.build(stage, machine.kernel(), jobs)
    verified = verify_built(built, machine, seed, lambda detail: tell(f"verify: {detail}"))
    if stage.shipped:
        return CheckedStage(verified)
    return CheckedStage(_explained(verified), _kind(stage).tried(stage, seed, with_ideas, tell))


def _explained(verified: Verified) -> Verified:
    """Add the caller of the failed allocation to each finding of fault injection."""
    if not any(finding.fault for finding in verified.findings):
        return verified
    stage = verified.built.stage
    findings = tuple(repetition.explained(stage, finding) for finding in verified.findings)
    return replace(verified, findings=findings)


def check_while_waiting(
    stage: Stage,
    machine: Machine,
    seed: int,
    tell: Tell,
    show: Show,
    say: Tell,
    all_right: Callable[[], None],
) -> CheckedStage:
    """Check a stage like check_stage, but in parallel, and report each result at once.

    Call say with each compiler warning before the first call of show. Call all_right when each
    operation returns right results.
    """
    tell("build, try its operations and verify")
    # The build and the tests both need the preprocessed sources, so make them once.
    preprocess.texts(stage, list(stage_module.sources(stage, [])))
    building = Background(lambda: stage_module.build(stage, machine.kernel()))
    to_count = Background(lambda: _build_to_count(stage, building))

    wrong = threading.Event()

    def verified() -> Verified:
        return verify.verify(
            building.result(), machine, seed, False, lambda _: None, at_once=True,
            hurry=wrong.is_set,
        )  # fmt: skip

    verifying = Background(verified)
    warned = False

    def show_after_warnings(line: Line) -> None:
        nonlocal warned
        if not warned:
            for warning in building.result().module.warnings:
                say(warning)
        warned = True
        if line.code not in (Code.OK, Code.SLOW, Code.NOT_TRIED):
            wrong.set()
        show(line)

    tried = try_operations(stage, seed, show=show_after_warnings, all_right=all_right)
    to_count.result()
    return CheckedStage(_explained(verifying.result()), tried)


def _build_to_count(stage: Stage, first: Background[BuiltStage]) -> None:
    """Build the module whose instructions are counted later, after the module that is verified.

    Counting finds this module built, and reports an error if that is impossible.
    """
    asked = course(stage.number)
    if first.result().ok and (asked.speed or any(task.ideas for task in asked.tasks)):
        with suppress(LabError):
            stage_module.build(stage, machines.counting().kernel())


def build_subject(
    stage: Stage,
    machine: Machine,
    numbers: tuple[int, ...] = (),
    needed: tuple[int, ...] = (),
    whole_read: bool = False,
    jobs: int = 2,
) -> StageWorkload | Finding:
    """Build a stage for the machine that measures it. Return a finding if it cannot be measured.

    `numbers`: the n to measure, by default those of the manifest. `needed`: the n that even a
    quick run measures.
    """
    built = stage_module.build(stage, machine.kernel(), jobs)
    if not built.ok:
        return Finding("build-failed", built.cause, built.module.log[-4000:])
    if built.rejection:  # a build for another machine would be rejected, too
        return Finding("wrong", built.rejection)
    return StageWorkload(built, numbers, whole_read=whole_read, needed=needed)


def stress(stage: Stage, machine: Machine, plan: StressPlan, tell: Tell) -> StressResult:
    """Build a stage for a debug machine, verify it there and run the stress test."""
    tell("build")
    built = stage_module.build(stage, machine.kernel())
    return _kind(stage).examine(built, machine, plan, tell)


def judge(
    checked: CheckedStage, found: tuple[ReportedFinding, ...] = (), speed: SpeedLine | None = None
) -> JudgedStage:
    """Combine all findings into status and points; found adds to the verification's findings."""
    verified, stage = checked.verified, checked.stage
    everything = (*(ReportedFinding("verify", finding) for finding in verified.findings), *found)
    stands = status.decide(everything)
    if stage.shipped:
        reason = "it is here as an object, without its source"
        return JudgedStage(verified, everything, stands, note=reason)
    lines = _kind(stage).lines(checked, stands)
    fast = speed(stands) if speed else None
    if fast:
        fast = points.limited(course(stage.number), checked.tried, fast)
    return JudgedStage(verified, everything, stands, (*lines, *([fast] if fast else [])))
