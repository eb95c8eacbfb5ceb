# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Exactly one submission, from its archive to its outcome; nothing is left but that.

It is unpacked, compiled and tried in the sandbox, its module is loaded in QEMU. What this computer
does wrong is never the submission's: that is "not graded", and somebody tries again.
"""

from __future__ import annotations

import re
import resource
import shutil
import time
from dataclasses import replace
from pathlib import Path

from grader.base import paths, scratch
from grader.base.errors import LabError, MachineError, in_one_line
from grader.base.progress import Progress
from grader.classroom import fingerprint, packing, unpack
from grader.classroom.outcome import NOT_GRADED, REFUSED, Outcome
from grader.course import check
from grader.lab import machines
from grader.stage import function_program, oracle, stages, tasks
from grader.stage.stages import Stage
from grader.verdict.judged import Judged
from grader.verdict.points import Line

# On a computer that is very busy a machine may answer too late, once: a time-out counts when it
# comes again. (It can only take points away, so the better of both is the right one.)
TRIES_OF_TIMEOUTS = 2
_TIMED_OUT = re.compile(r"no answer within|it was not done after")
# What only somebody else's signal does: a kernel that runs out of memory. No submission can send
# one: it has no system calls, see grader/stage/contract.py.
_KILLED = re.compile(r"Killed signal terminated program|it ended with status -9\b")


def grade(submission: Path, number: int, seed: int) -> Outcome:
    """Grade a submission as that stage; LabError for a stage that cannot be graded at all."""
    begin, cpu = time.monotonic(), _cpu_seconds()
    tasks.course(number)  # that there are points for it
    outcome = _outcome(submission, number, seed)
    return replace(
        outcome,
        seconds=round(time.monotonic() - begin, 2),
        cpu_seconds=round(_cpu_seconds() - cpu, 2),
    )


def refused(print_of_it: str, number: int, why: str) -> Outcome:
    """The outcome of what there is nothing to grade in: all its points are missed."""
    course = tasks.course(number)
    names = [(task.name, task.points) for task in course.tasks]
    names.append(("device", course.device_points))
    names += [("speed", course.speed.points)] if course.speed else []
    lines = tuple(Line(name, 0, points, "refused") for name, points in names)
    return Outcome(print_of_it, REFUSED, why, lines)


def _outcome(submission: Path, number: int, seed: int) -> Outcome:
    print_of_it = ""
    folder = None
    try:
        packed = packing.packed(submission)
        print_of_it = fingerprint.of(packed, number, seed)
        folder = scratch.folder()
        name = f"{number}-{stages.manifests()[number].name}"
        directory, left_out = unpack.stage_directory(packed, number, name, folder)
        stage = replace(stages.single(directory, name, number), own_driver=False, isolated=True)
        # All of a class are asked for the same F(n).
        hashes = paths.BUILD / "class" / f"hashes-{fingerprint.kit()[:12]}-{number}-{seed}.json"
        known = oracle.recall(hashes)
        judged = _judged(stage, seed)
        oracle.keep(hashes, known)
        left_out += judged.verified.built.left_out
        return _told(judged, print_of_it, tuple(left_out), folder)
    except packing.Refused as why:
        return refused(print_of_it or fingerprint.of(b"", number, seed), number, str(why))
    except (LabError, MachineError) as error:
        return Outcome(print_of_it, NOT_GRADED, str(error).splitlines()[0])
    except OSError as error:
        return Outcome(print_of_it, NOT_GRADED, in_one_line(error))
    except MemoryError:
        return Outcome(print_of_it, NOT_GRADED, "this computer has too little memory")
    finally:
        if folder:
            scratch.remove(folder)


def _judged(stage: Stage, seed: int) -> Judged:
    best: Judged | None = None
    for _ in range(TRIES_OF_TIMEOUTS):
        machine = machines.get("qemu").verifier()
        judged = check.judge(stage, seed, machine, True, Progress())
        _clean_up(stage, judged)
        said = " ".join([judged.status.cause, *(line.remark for line in judged.lines)])
        if _KILLED.search(said):
            raise LabError("a program was killed, for want of memory most often")
        if best is None or judged.earned > best.earned:
            best = judged
        if not _TIMED_OUT.search(said):
            break
    assert best
    return best


def _clean_up(stage: Stage, judged: Judged) -> None:
    """Remove what was built: nobody will ask for it again."""
    built = judged.verified.built.module.directory
    shutil.rmtree(built, ignore_errors=True)
    built.with_suffix(".lock").unlink(missing_ok=True)
    function_program.remove(stage)


def _told(judged: Judged, print_of_it: str, left_out: tuple[str, ...], folder: Path) -> Outcome:
    """The outcome, with no word of where it was made."""

    def plain(text: str) -> str:
        return text.replace(f"{folder}/", "")

    status = judged.status
    lines = tuple(replace(line, remark=plain(line.remark)) for line in judged.lines)
    name, cause = status.name, plain(status.cause)
    lost = next((line for line in lines if not line.full), None)
    if name == "ok" and lost and lost.name != "speed":
        # The device is right, and a function tried alone is not.
        name, cause = "wrong", f"{lost.name}: {lost.remark}"
    return Outcome(print_of_it, name, cause, lines, left_out)


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
