# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Grade a class: find and pack submissions, grade unfinished ones, write tables and pages."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import sandbox
from grader.base import paths, seed
from grader.base.errors import LabError, in_one_line
from grader.base.progress import Progress
from grader.classroom import (
    dispatcher,
    fingerprint,
    grade_one,
    hosts,
    packing,
    pages,
    similarity,
    tables,
)
from grader.classroom.dispatcher import Dispatcher
from grader.classroom.outcome import (
    NOT_GRADED,
    REFUSED,
    SubmissionOutcome,
    read,
    write,
    write_whole,
)
from grader.classroom.submissions import Submission, find
from grader.classroom.tables import ClassRow
from grader.exercise.files.exercises import Exercise
from grader.lab import machines

NO_RESULT = "the job ended without a result"


@dataclass(frozen=True)
class ClassOptions:
    """The options of a class's grading."""

    submissions: Path
    exercise: Exercise
    seed: int | None
    output_folder: Path
    jobs: str
    hosts: Path | None
    prepare_hosts: bool
    similarity: bool


def grade(options: ClassOptions) -> int:
    """Grade a class. Return the exit status."""
    progress = Progress()
    found, skipped = find(options.submissions)
    try:
        options.output_folder.mkdir(parents=True, exist_ok=True)
        with _alone(options.output_folder):
            return _grade(options, found, skipped, progress)
    except OSError as error:
        raise LabError(f"{in_one_line(error)}", "give another --out") from error


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    with (out / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(f"another run uses {out}", "wait until it ends") from None
        yield


def _seed(options: ClassOptions) -> int:
    """Return the requested seed, else the seed of the class's first run, else a random one."""
    path = options.output_folder / "class.json"
    try:
        kept: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        kept = {}
    exercise = options.exercise.name
    if kept.get("exercise", exercise) != exercise:
        raise LabError(
            f"{options.output_folder} holds the results of another exercise, {kept['exercise']}",
            "give another --out",
        )
    if options.seed is None and "seed" in kept:
        chosen = int(kept["seed"])
    else:
        chosen, _ = seed.chosen(options.seed, "--seed ")
    write_whole(path, json.dumps({"exercise": exercise, "seed": chosen}) + "\n")
    return chosen


def _grade(
    options: ClassOptions, found: Sequence[Submission], skipped: Sequence[str], progress: Progress
) -> int:
    out, number = options.output_folder, _seed(options)
    shown = ", ".join(map(ascii, skipped[:3])) + (", ..." if len(skipped) > 3 else "")
    if skipped:
        progress.say(f"note: files that are not submissions are ignored: {shown}")
    sandbox.require()
    machines.get("qemu").kernel()
    work = Dispatcher(out, options.exercise, number, options.jobs, options.hosts)
    if options.hosts:
        hosts.read(options.hosts)
    if options.prepare_hosts and options.hosts:
        hosts.prepare(options.hosts, work.ssh, options.exercise.packages, progress)
    prints = dict(_pack(found, out, options.exercise, number, progress))
    todo = {name: p for name, p in prints.items() if not dispatcher.finished_outcome(out, name, p)}
    progress.clear()
    message = f"{len(found) - len(todo)} are done, {len(todo)} to do" if todo else "all are done"
    many = f"{len(found)} submission{'' if len(found) == 1 else 's'}"
    progress.say(f"{many}, {options.exercise.heading}, seed {number}: {message}")
    dispatcher.run(work, todo, progress)
    shutil.rmtree(out / "packed", ignore_errors=True)
    rows = [ClassRow(s, _outcome(out, s.id, prints[s.id])) for s in found]
    pairs = similarity.pairs(found, options.exercise, progress) if options.similarity else None
    _write(options, rows, _facts(options.exercise, number), pairs)
    return _tell(rows, out)


def _pack(
    found: Sequence[Submission], out: Path, exercise: Exercise, seed: int, progress: Progress
) -> Iterator[tuple[str, str]]:
    """Yield each submission's id and expected fingerprint; pack unfinished submissions."""
    shutil.rmtree(out / "packed", ignore_errors=True)
    (out / "packed").mkdir()
    for i, submission in enumerate(found):
        progress.step("read the submissions", i, len(found))
        name = submission.id
        try:
            packed = packing.packed(submission.path)
        except packing.RejectedSubmission as why:
            refused = grade_one.refused(
                fingerprint.of_submission(str(why).encode(), exercise.name, seed),
                exercise,
                str(why),
            )
            write(out / "results" / f"{name}.json", refused)
            yield name, refused.fingerprint
            continue
        print_of_it = fingerprint.of_submission(packed, exercise.name, seed)
        if dispatcher.finished_outcome(out, name, print_of_it) is None:
            (out / "packed" / f"{name}.tar").write_bytes(packed)
        yield name, print_of_it


def _outcome(out: Path, name: str, print_of_it: str) -> SubmissionOutcome:
    kept = dispatcher.finished_outcome(out, name, print_of_it)
    if kept:
        return kept
    answer = read(out / "results" / f"{name}.json")
    if answer and not answer.graded and answer.cause:
        return answer
    last = dispatcher.what_went_wrong(out)
    return SubmissionOutcome(
        print_of_it, NOT_GRADED, f"{NO_RESULT}: {last[-1]}" if last else NO_RESULT
    )


def _facts(exercise: Exercise, seed: int) -> dict[str, Any]:
    again = exercise.command("check machine=qemu") + (
        f" seed={seed}" if exercise.stage is not None else ""
    )
    return {"title": exercise.heading, "again": again, "seed": seed, "kit": fingerprint.kit()[:12]}


def _write(
    options: ClassOptions,
    rows: Sequence[ClassRow],
    facts: dict[str, Any],
    pairs: list[similarity.SimilarPair] | None,
) -> None:
    out, names = options.output_folder, [name for name, _ in options.exercise.points]
    for row in rows:
        folder = out / "students" / row.submission.id
        write_whole(folder / "index.html", pages.student_page(row, facts))
        tables.write_gradescope(folder / "results.json", row.outcome)
    write_whole(out / "class.csv", tables.class_csv(rows, names))
    write_whole(out / "class.html", pages.class_page(rows, names, facts, pairs))


def _tell(rows: Sequence[ClassRow], out: Path) -> int:
    undone = [row for row in rows if not row.outcome.graded]
    refused = sum(row.outcome.status == REFUSED for row in rows)
    full = sum(row.outcome.earned == 100 for row in rows)
    print(
        f"{len(rows) - len(undone)} of {len(rows)} are graded: {full} with 100 points,"
        f" {refused} refused"
    )
    for row in undone[:5]:
        print(f"not graded: {row.student!r}: {row.outcome.cause}")
    if undone:
        print("run the same command again to grade the others")
    print(f"{paths.shown(out / 'class.html')}, {paths.shown(out / 'class.csv')}")
    return 2 if undone else 0
