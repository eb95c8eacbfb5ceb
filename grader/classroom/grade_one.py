# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Grade one submission, from its archive to its outcome, and leave no other files.

The submission is unpacked, compiled and tested in the sandbox; its module is loaded in QEMU. An
error of this computer is never counted against the submission: the outcome is then "not graded",
and it is graded again.
"""

from __future__ import annotations

import resource
import time
from dataclasses import replace
from pathlib import Path

from grader.base import scratch, time_limits
from grader.base.errors import HostFault, LabError, MachineError, in_one_line
from grader.classroom import fingerprint, packing, unpack
from grader.classroom.outcome import NOT_GRADED, REFUSED, SubmissionOutcome
from grader.course.check import ExerciseVerdict, judge
from grader.exercise.files.exercises import Exercise
from grader.scoring.points import SPEED, Line

# On a very busy computer a machine may time out although the submission is correct, so a submission
# that timed out is graded a second time. A time-out can only reduce the points, so the better of
# the two verdicts counts.
TRIES_OF_TIMEOUTS = 2


def grade(submission: Path, exercise: Exercise, seed: int) -> SubmissionOutcome:
    """Grade a submission."""
    begin, cpu = time.monotonic(), _cpu_seconds()
    outcome = _outcome(submission, exercise, seed)
    return replace(
        outcome,
        seconds=round(time.monotonic() - begin, 2),
        cpu_seconds=round(_cpu_seconds() - cpu, 2),
    )


def refused(print_of_it: str, exercise: Exercise, why: str) -> SubmissionOutcome:
    """Return the outcome of a submission that cannot be graded: no points."""
    lines = tuple(Line(name, 0, points, "refused") for name, points in exercise.points)
    return SubmissionOutcome(print_of_it, REFUSED, why, lines)


def _outcome(submission: Path, exercise: Exercise, seed: int) -> SubmissionOutcome:
    print_of_it = ""
    folder = None
    try:
        packed = packing.packed(submission)
        print_of_it = fingerprint.of_submission(packed, exercise.name, seed)
        folder = scratch.folder()
        directory, excluded = unpack.directory(packed, exercise, folder)
        verdict = _judged(directory, exercise, seed)
        return _told(verdict, print_of_it, (*excluded, *verdict.excluded), folder)
    except packing.RejectedSubmission as why:
        return refused(
            print_of_it or fingerprint.of_submission(b"", exercise.name, seed), exercise, str(why)
        )
    except (LabError, HostFault, MachineError) as error:
        return SubmissionOutcome(print_of_it, NOT_GRADED, str(error).splitlines()[0])
    except OSError as error:
        return SubmissionOutcome(print_of_it, NOT_GRADED, in_one_line(error))
    except MemoryError:
        return SubmissionOutcome(print_of_it, NOT_GRADED, "this computer has too little memory")
    finally:
        if folder:
            scratch.remove(folder)


def _judged(directory: Path, exercise: Exercise, seed: int) -> ExerciseVerdict:
    best: ExerciseVerdict | None = None
    for _ in range(TRIES_OF_TIMEOUTS):
        before = time_limits.reached()
        verdict = judge(exercise, directory, seed, isolated=True)
        if best is None or verdict.earned > best.earned:
            best = verdict
        if time_limits.reached() == before:
            break
    assert best
    return best


def _told(
    verdict: ExerciseVerdict, print_of_it: str, excluded: tuple[str, ...], folder: Path
) -> SubmissionOutcome:
    """Return the outcome without the path of the folder in which it was graded."""

    def plain(text: str) -> str:
        return text.replace(f"{folder}/", "")

    lines = tuple(replace(line, remark=plain(line.remark)) for line in verdict.lines)
    name, cause = verdict.status, plain(verdict.cause)
    lost = next((line for line in lines if not line.full), None)
    if name == "ok" and lost and lost.kind != SPEED:
        # The device passed its tests, but a separately tested function failed, so name that
        # function.
        name, cause = "wrong", f"{lost.name}: {lost.remark}"
    return SubmissionOutcome(print_of_it, name, cause, lines, excluded)


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
