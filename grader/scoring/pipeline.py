# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The pipeline from a stage's sources to its points, as steps that each command selects from.

                    check_stage  build_subject  counter, clock  stress  judge
grader/run.sh            x             x               x           x      x
make check, a class      x             x            instructions          x
grader/compare.sh        x             x               x
make debug                                                         x

Each step returns an immutable value, which later steps read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from grader.base.background import Background
from grader.base.errors import LabError
from grader.base.finding import Finding
from grader.exercise.build import preprocess, stage_module
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.conformance import verify
from grader.exercise.conformance.verify import Verified
from grader.exercise.driver import stress as driver_stress
from grader.exercise.driver import verify as driver_verify
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import Task, course
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
# Called with a line of points as soon as it is final.
Show = Callable[[Line], None]
# Makes the line for speed from the status of all else; None where no points are for speed.
SpeedLine = Callable[[Status], Line | None]


@dataclass(frozen=True)
class CheckedStage:
    """A stage that was built and verified, and whose operations were tried."""

    verified: Verified
    tried: Tried | None = None  # None: they were not tried
    figures: Mapping[str, int] = field(default_factory=dict)  # of its stress test

    @property
    def stage(self) -> Stage:
        """The stage."""
        return self.verified.built.stage


@dataclass(frozen=True)
class JudgedStage(points.Lines):
    """A stage with everything that was found, its status and its points."""

    verified: Verified
    found: tuple[ReportedFinding, ...]  # in the order in which they were found
    status: Status
    lines: tuple[Line, ...] = ()  # none where no points are given
    note: str = ""  # why there are no points

    @property
    def stage(self) -> Stage:
        """The stage."""
        return self.verified.built.stage


def try_operations(
    stage: Stage,
    seed: int,
    with_ideas: bool = True,
    show: Show = lambda _line: None,
    all_right: Callable[[], None] = lambda: None,
) -> Tried:
    """Try each operation of a stage's tasks in a program. Return why, if there is no program.

    Behind that an emulator counts what those take that are right, if their tasks have ideas to be
    judged. show is called with the line of each task, as soon as nothing can change that line any
    more; all_right before anything is counted, if each result is right.
    """
    try:
        program = test_program.program(stage)
    except NoTestProgramError as error:
        for line in points.task_lines(course(stage.number), error.finding):
            show(line)
        return error.finding
    tasks = course(stage.number).tasks
    asked = [task for task in tasks if task.ideas and with_ideas]
    outcomes: dict[str, OperationOutcome] = {}
    waiting: list[Task] = []  # for the counts; a result that earns nothing does not
    for task in tasks:
        outcome = unit_tests.outcome(stage, program, task.operation, seed)
        outcomes[task.operation] = outcome
        if task in asked and (outcome.small or outcome.large):
            waiting.append(task)
        else:
            show(points.operation_line(task, outcome))
    if all(outcome.large for outcome in outcomes.values()):
        all_right()
    if waiting:
        counts = _count(stage, waiting, seed)
        for task in waiting:
            judged = unit_tests.with_ideas(outcomes[task.operation], task, counts)
            outcomes[task.operation] = judged
            show(points.operation_line(task, judged))
    return outcomes


def _count(stage: Stage, tasks: list[Task], seed: int) -> ideas.Counts | LabError:
    """Count what the ideas of some tasks are about. Return why, if nothing counts here."""
    try:
        return ideas.counts(machines.counting(), stage, ideas.calls(tasks), seed)
    except LabError as error:
        # An untrusted stage is graded as the others are, or not yet.
        if stage.isolated:
            raise
        return error


class Arithmetic:
    """What is done with a stage behind the kit's driver: its operations are tried by themselves."""

    examine = staticmethod(debug_kernel.examine)

    @staticmethod
    def verify(
        built: BuiltStage, verifier: Machine, seed: int, quick: bool, tell: Tell
    ) -> Verified:
        """Verify the device. A slow machine gets the short list."""
        return verify.verify(built, verifier, seed, quick or verifier.debug, tell)

    @staticmethod
    def tried(stage: Stage, seed: int, with_ideas: bool, tell: Tell) -> Tried | None:
        """Try the operations of the tasks."""
        tell("try its operations")
        return try_operations(stage, seed, with_ideas)

    @staticmethod
    def lines(checked: CheckedStage, stands: Status) -> list[Line]:
        """Return the lines of the tasks and of the device."""
        asked = course(checked.stage.number)
        lines = points.task_lines(asked, checked.tried) if checked.tried is not None else []
        return [*lines, points.device_line(asked, checked.verified, stands)]


class Driver:
    """What is done with a driver of the learner's own: its tasks are parts of its verification."""

    examine = staticmethod(driver_stress.examine)

    @staticmethod
    def verify(
        built: BuiltStage, verifier: Machine, seed: int, quick: bool, tell: Tell
    ) -> Verified:
        """Verify the driver task by task."""
        return driver_verify.verify(built, verifier, tell)

    @staticmethod
    def tried(stage: Stage, seed: int, with_ideas: bool, tell: Tell) -> Tried | None:
        """Return None: a driver has no operations."""
        return None

    @staticmethod
    def lines(checked: CheckedStage, stands: Status) -> list[Line]:
        """Return the lines of the tasks."""
        return points.driver_lines(course(checked.stage.number), checked.verified)


def _kind(stage: Stage) -> type[Arithmetic | Driver]:
    """Return what is done with a stage of its kind."""
    return Driver if stage.manifest.driver else Arithmetic


def verify_built(
    built: BuiltStage, machine: Machine, seed: int, tell: Tell, quick: bool = False
) -> Verified:
    """Verify what was built."""
    return _kind(built.stage).verify(built, machine.verifier(), seed, quick, tell)


def check_stage(
    stage: Stage,
    machine: Machine,
    seed: int,
    tell: Tell,
    jobs: int = 2,
    with_ideas: bool = True,
) -> CheckedStage:
    """Build a stage, verify it and try its operations.

    jobs: how many compilers run at once; with_ideas: also judge the ideas of its tasks.
    """
    tell("build")
    built = stage_module.build(stage, machine.kernel(), jobs)
    verified = verify_built(built, machine, seed, lambda detail: tell(f"verify: {detail}"))
    if stage.shipped:
        return CheckedStage(verified)
    return CheckedStage(_explained(verified), _kind(stage).tried(stage, seed, with_ideas, tell))


def _explained(verified: Verified) -> Verified:
    """Say of what was found when a call was made to fail who had asked for what failed."""
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
    """Do as check_stage, all at once, for a person who waits: first what is known first.

    say is called with the compiler's warnings, before show is called with any line. all_right is
    called when each operation gives right results.
    """
    tell("build, try its operations and verify")
    # Both sides need the texts: make them once.
    preprocess.texts(stage, list(stage_module.sources(stage, [])))
    building = Background(lambda: stage_module.build(stage, machine.kernel()))

    def verified() -> Verified:
        return verify.verify(
            building.result(), machine, seed, machine.debug, lambda _: None, at_once=True
        )

    verifying = Background(verified)
    warned = False

    def show_after_warnings(line: Line) -> None:
        nonlocal warned
        if not warned:
            for warning in building.result().module.warnings:
                say(warning)
        warned = True
        show(line)

    tried = try_operations(stage, seed, show=show_after_warnings, all_right=all_right)
    return CheckedStage(_explained(verifying.result()), tried)


def build_subject(
    stage: Stage,
    machine: Machine,
    numbers: tuple[int, ...] = (),
    needed: tuple[int, ...] = (),
    whole_read: bool = False,
    jobs: int = 2,
) -> StageWorkload | Finding:
    """Build a stage for the machine that measures it. Return why, if it cannot be measured there.

    numbers: the n to measure at, by default the manifest's; needed: those that even a quick run
    measures.
    """
    built = stage_module.build(stage, machine.kernel(), jobs)
    if not built.ok:
        return Finding("build-failed", built.cause, built.module.log[-4000:])
    if built.rejection:  # the same rules hold in every build
        return Finding("wrong", built.rejection)
    return StageWorkload(built, numbers, whole_read=whole_read, needed=needed)


def stress(stage: Stage, machine: Machine, plan: StressPlan, tell: Tell) -> StressResult:
    """Build a stage for a debug machine, verify it there and put it under stress."""
    tell("build")
    built = stage_module.build(stage, machine.kernel())
    return _kind(stage).examine(built, machine, plan, tell)


def judge(
    checked: CheckedStage, found: tuple[ReportedFinding, ...] = (), speed: SpeedLine | None = None
) -> JudgedStage:
    """Put together what was found; found comes beside the findings of the verification."""
    verified, stage = checked.verified, checked.stage
    everything = (*(ReportedFinding("verify", finding) for finding in verified.findings), *found)
    stands = status.decide(everything)
    if stage.shipped:
        reason = "it is here as an object, without its source"
        return JudgedStage(verified, everything, stands, note=reason)
    lines = _kind(stage).lines(checked, stands)
    fast = speed(stands) if speed else None
    return JudgedStage(verified, everything, stands, (*lines, *([fast] if fast else [])))
