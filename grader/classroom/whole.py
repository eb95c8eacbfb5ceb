# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A whole class: find, pack, grade what is not done, and put together what came of it."""

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
from grader.classroom import alike, engine, fingerprint, hosts, one, packing, pages, tables
from grader.classroom.engine import Engine
from grader.classroom.outcome import NOT_GRADED, REFUSED, Outcome, read, write, write_whole
from grader.classroom.submissions import Submission, find
from grader.classroom.tables import Row
from grader.exercise.files.exercises import Exercise
from grader.lab import machines

NO_RESULT = "it ended without a result"


@dataclass(frozen=True)
class Options:
    """What to grade, and how."""

    submissions: Path
    what: Exercise
    seed: int | None
    out: Path
    jobs: str
    hosts: Path | None
    prepare_hosts: bool
    alike: bool


def grade(options: Options) -> int:
    """Grade a class; returns the exit status."""
    progress = Progress()
    found, left = find(options.submissions)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        with _alone(options.out):
            return _grade(options, found, left, progress)
    except OSError as error:
        raise LabError(f"{in_one_line(error)}: name another --out") from error


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    with (out / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(f"another run is at work in {out}: wait for it") from None
        yield


def _seed(options: Options) -> int:
    """One for a class, whatever happens: given, or the one that it was begun with, or drawn."""
    path = options.out / "class.json"
    try:
        kept: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        kept = {}
    of = options.what.name
    if kept.get("of", of) != of:
        raise LabError(f"{options.out} holds a class of {kept['of']}: name another --out")
    if options.seed is None and "seed" in kept:
        chosen = int(kept["seed"])
    else:
        chosen, _ = seed.chosen(options.seed, "--seed ")
    write_whole(path, json.dumps({"of": of, "seed": chosen}) + "\n")
    return chosen


def _grade(
    options: Options, found: Sequence[Submission], left: Sequence[str], progress: Progress
) -> int:
    out, number = options.out, _seed(options)
    shown = ", ".join(map(ascii, left[:3])) + (", ..." if len(left) > 3 else "")
    if left:
        progress.say(f"note: no submissions, and left alone: {shown}")
    sandbox.require()
    machines.get("qemu").kernel()
    work = Engine(out, options.what, number, options.jobs, options.hosts)
    if options.hosts:
        hosts.read(options.hosts)
    if options.prepare_hosts and options.hosts:
        hosts.prepare(options.hosts, work.ssh, options.what.packages, progress)
    prints = dict(_pack(found, out, options.what, number, progress))
    todo = {name: p for name, p in prints.items() if not engine.done(out, name, p)}
    progress.clear()
    said = f"{len(found) - len(todo)} are done, {len(todo)} to do" if todo else "all are done"
    progress.say(f"{len(found)} submissions, {options.what.heading}, seed {number}: {said}")
    engine.run(work, todo, progress)
    shutil.rmtree(out / "packed", ignore_errors=True)
    rows = [Row(s, _outcome(out, s.id, prints[s.id])) for s in found]
    pairs = alike.pairs(found, options.what, progress) if options.alike else None
    _write(options, rows, _facts(options.what, number), pairs)
    return _tell(rows, out)


def _pack(
    found: Sequence[Submission], out: Path, what: Exercise, seed: int, progress: Progress
) -> Iterator[tuple[str, str]]:
    """Ids with what a result must rest on; those that are not done yet lie packed behind it."""
    shutil.rmtree(out / "packed", ignore_errors=True)
    (out / "packed").mkdir()
    for i, submission in enumerate(found):
        progress.step("read the submissions", i, len(found))
        name = submission.id
        try:
            packed = packing.packed(submission.path)
        except packing.Refused as why:
            refused = one.refused(
                fingerprint.of(str(why).encode(), what.name, seed), what, str(why)
            )
            write(out / "results" / f"{name}.json", refused)
            yield name, refused.fingerprint
            continue
        print_of_it = fingerprint.of(packed, what.name, seed)
        if engine.done(out, name, print_of_it) is None:
            (out / "packed" / f"{name}.tar").write_bytes(packed)
        yield name, print_of_it


def _outcome(out: Path, name: str, print_of_it: str) -> Outcome:
    kept = engine.done(out, name, print_of_it)
    if kept:
        return kept
    said = read(out / "results" / f"{name}.json")
    if said and not said.graded and said.cause:
        return said
    last = engine.what_went_wrong(out)
    return Outcome(print_of_it, NOT_GRADED, f"{NO_RESULT}: {last[-1]}" if last else NO_RESULT)


def _facts(what: Exercise, seed: int) -> dict[str, Any]:
    again = what.command("check machine=qemu") + (f" seed={seed}" if what.stage is not None else "")
    return {"title": what.heading, "again": again, "seed": seed, "kit": fingerprint.kit()[:12]}


def _write(
    options: Options, rows: Sequence[Row], facts: dict[str, Any], pairs: list[alike.Pair] | None
) -> None:
    out, names = options.out, [name for name, _ in options.what.points]
    for row in rows:
        folder = out / "students" / row.submission.id
        write_whole(folder / "index.html", pages.student_page(row, facts))
        tables.write_gradescope(folder / "results.json", row.outcome)
    write_whole(out / "class.csv", tables.class_csv(rows, names))
    write_whole(out / "class.html", pages.class_page(rows, names, facts, pairs))


def _tell(rows: Sequence[Row], out: Path) -> int:
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
        print("the same command again goes on with those")
    print(f"{paths.shown(out / 'class.html')}, {paths.shown(out / 'class.csv')}")
    return 2 if undone else 0
