# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compute the points of a stage, 100 in all, by the tables of the course.

A task earns points by the unit tests of its function. The device earns points by tests of the
module in a kernel. Speed earns points by the number of instructions relative to par. Points are
rounded down to whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from grader.base.finding import Code, Finding
from grader.exercise.conformance.verify import Verified
from grader.exercise.contract_tests import runner
from grader.exercise.files.tasks import Course, Speed, Task
from grader.exercise.operations.unit_tests import OperationOutcome
from grader.measure.samples import Samples
from grader.scoring import par
from grader.scoring.status import Status

# The fraction of a task's points that correct results for small numbers earn.
SMALL_SHARE = 0.4
DEVICE_FIRST = "is measured when the device is right"

# The test results: an outcome by operation, or a finding if no operation could be tested.
Tried = Mapping[str, OperationOutcome] | Finding
# The kinds of lines in the table of points.
TASK, DEVICE, SPEED = "task", "device", "speed"


@dataclass(frozen=True)
class Line:
    """One line of the table of points: its subject, its points and a remark."""

    name: str
    earned: int
    possible: int
    remark: str
    task: int = 0  # the number of the task; 0 if the line is not for a task
    kind: str = TASK
    code: Code = Code.OK  # The reason why points are missing.
    repeat: str = ""  # The command that repeats a failed call; "" if there is no such call.
    contract_test: bool = False  # A contract test failed; no other command runs these tests.
    function: str = ""  # The wrong function of the task, if it is known.

    @property
    def full(self) -> bool:
        """Return whether the line earns all its points."""
        return self.earned == self.possible


class Lines:
    """The lines of points of one stage and their sums."""

    lines: tuple[Line, ...]

    @property
    def earned(self) -> int:
        """Return the points earned."""
        return sum(line.earned for line in self.lines)

    @property
    def possible(self) -> int:
        """Return the possible points: 100, or less if an operation was not tested."""
        return sum(line.possible for line in self.lines)


def task_lines(course: Course, tried: Tried) -> list[Line]:
    """Return one line for each task, from the unit tests of its function."""
    if isinstance(tried, Finding):
        rest = [Finding("wrong", "not tried", kind=Code.NOT_TRIED)] * len(course.tasks)
        return [task_line(t, why) for t, why in zip(course.tasks, [tried, *rest])]
    return [operation_line(task, tried[task.operation]) for task in course.tasks]


def operation_line(task: Task, outcome: OperationOutcome) -> Line:
    """Return the line of a task whose function was tested in a program."""
    if not outcome.tried:  # this computer cannot run the tests
        return Line(task.name, 0, 0, outcome.fault, task.number, code=outcome.code)
    remark = outcome.fault or f"{outcome.tried} tries, all right"
    earned, code = task.points, outcome.code
    if not outcome.large:
        earned = int(SMALL_SHARE * task.points) if outcome.small else 0
    before = earned
    if before and outcome.idea:
        earned = max(0, earned - outcome.withheld)
        code = Code.SLOW if code is Code.OK and outcome.withheld else code
    if before and not outcome.large:
        remark += _small_remark(outcome.right, before, earned)
    if before and outcome.idea:
        remark += f"{':' if before != earned and not outcome.large else ';'} {outcome.idea}"
    if outcome.place:
        remark += f"; {outcome.place}"
    return Line(task.name, earned, task.points, remark, task.number, code=code,
                function=outcome.function)  # fmt: skip


def _small_remark(right: str, share: int, earned: int) -> str:
    """Return a remark about the points of a task that is right for small numbers only.

    right: what is right. share: the points for it. earned: these points after deductions. If the
    two numbers differ, the reason for the deduction must follow.
    """
    if earned == share:
        return f"; {right} are right, which earns {_points(earned)}"
    rest = f"earn only {_points(earned)}" if earned else "earn no points"
    return f"; {right} are right, but {rest}"


def _points(count: int) -> str:
    return f"{count} point{'' if count == 1 else 's'}"


def task_line(task: Task, wrong: Finding | None) -> Line:
    """Return the line of a task, which earns all its points, or no points if it has a finding."""
    if wrong is None:
        return Line(task.name, task.points, task.points, "all right", task.number)
    return Line(task.name, 0, task.points, wrong.cause, task.number, code=wrong.code)


def limited(course: Course, tried: Tried | None, line: Line) -> Line:
    """Return the line of the device or of speed with at most the share that the tasks earn.

    The device and the speed need the functions of the tasks. So a stage that computes F(n) without
    them, or by the method of the previous stage, earns nothing. Neither does one that breaks the
    bounds on whole calls.
    """
    if tried is None:
        return line
    whole = tried.get(DEVICE) if isinstance(tried, Mapping) else None
    if line.earned and whole and whole.withheld:
        return replace(line, earned=0, remark=whole.idea, code=Code.SLOW)
    tasks = task_lines(course, tried)
    possible = sum(task.possible for task in tasks)
    share = sum(task.earned for task in tasks) / possible if possible else 1.0
    most = int(share * line.possible)
    if line.earned <= most:
        return line
    remark = (
        f"{line.remark}; this earns at most {_points(most)}, because the tasks have earned"
        f" {share:.0%} of their points"
    )
    return replace(line, earned=most, remark=remark, code=Code.WRONG)


def speed_line(possible: int, earned: int, remark: str, code: Code = Code.SLOW) -> Line:
    """Return the line for speed. code is the reason why points are missing."""
    return Line("speed", earned, possible, remark, kind=SPEED,
                code=Code.OK if earned == possible else code)  # fmt: skip


def driver_lines(course: Course, result: Verified) -> list[Line]:
    """Return one line for each task of a driver, from its part of the verification."""
    return [task_line(task, result.by_task.get(task.number)) for task in course.tasks]


def _first_wrong(result: Verified) -> int | None:
    return min(
        (f.n for f in result.failures if f.test == "value" and f.n is not None), default=None
    )


def device_line(course: Course, result: Verified, status: Status) -> Line:
    """Return the line for the module.

    It earns all points if the status is ok, and a share if the only failure is a wrong F(n) for
    large n.
    """
    name, top, points = "device", result.built.stage.manifest.max_n, course.device_points
    if status.name == "ok":
        message = (
            f"loads, unloads, answers all calls, F(0) to F({top:,}) are right, the log is clean"
        )
        return Line(name, points, points, message, kind=DEVICE)
    wrong = _first_wrong(result)
    others = [f for f in result.failures if f.test not in ("value", "abi")]
    if status.name != "wrong" or others or wrong is None:
        message = f"{status.name}: {status.cause}"
        repeat = next((f.repeat for f in result.findings if f.repeat), "")
        contract_test = any(f.test == runner.TEST for f in result.failures)
        return Line(name, 0, points, message, kind=DEVICE, code=status.code, repeat=repeat,
                    contract_test=contract_test)  # fmt: skip
    share = 0.0 if wrong <= 93 else 0.3 if wrong <= 1000 else 0.6
    if top <= 93:
        share = 0.0 if wrong <= 46 else 0.3
    remark = _value_remark(result, wrong)
    if share:
        remark += f"; below that all are right, which earns {_points(int(share * points))}"
    return Line(name, int(share * points), points, remark, kind=DEVICE, code=Code.WRONG)


def _value_remark(result: Verified, n: int) -> str:
    failure = next(f for f in result.failures if f.test == "value" and f.n == n)
    want, got = failure.expected, failure.got
    at = failure.first_difference
    if at is None or len(want) <= 24:
        return f"F({n:,}): expected {want[:48]}, got {got[:48]}"
    begin = max(0, at - 6)
    return (
        f"F({n:,}) has a wrong digit at position {at + 1}:"
        f" expected {want[begin : at + 8]}, got {got[begin : at + 8]}"
    )


def speed_by_instructions(
    number: int, key: str, speed: Speed, counted: Samples, known: par.Counts, status: Status
) -> Line:
    """Return the line for speed, given the counts of a stage and the counts of par (known)."""
    series = counted.get((key, speed.phase, speed.n))
    if status.name != "ok":
        return speed_line(speed.points, 0, DEVICE_FIRST, Code.NOT_TRIED)
    if series is None:
        return speed_line(speed.points, 0, "could not be counted", Code.NOT_TRIED)
    best, worst = (known[one, speed.phase, speed.n] for one in (number, speed.before))
    most = best * par.TOLERANCE
    remark = (
        f"{speed.phase} of F({speed.n:,}), an n drawn by the seed, takes {series.median:,.0f}"
        f" instructions; par is {best:,.0f}, and up to {most:,.0f} earns all points, the"
        f" {worst:,.0f} of stage {speed.before} none"
    )
    share = par.share(series.median, most, worst)
    return speed_line(speed.points, int(share * speed.points), remark)


def speed_by_time(speed: Speed, before_ns: float, own_ns: float) -> Line:
    """Return the line for speed by time against the stage before."""
    ratio = before_ns / own_ns
    remark = (
        f"{speed.phase} of F({speed.n:,}) is {ratio:.3g} times as fast as stage"
        f" {speed.before}'s ({before_ns:,.0f} ns, {own_ns:,.0f} ns); {speed.par:g} times earns all"
        " points, as fast as before none"
    )
    share = min(1.0, max(0.0, (ratio - 1) / (speed.par - 1)))
    return speed_line(speed.points, int(share * speed.points), remark)
