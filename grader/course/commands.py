# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The course as make shows it: start, check with points, status, hint, watch."""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import datetime
import hashlib
import json
import os
import statistics
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.base import command, paths
from grader.base.errors import LabError, MachineError
from grader.base.progress import Progress
from grader.course import bring_over, skeleton
from grader.lab import machines
from grader.rulers import clock, counter
from grader.stage import build, function_tests, stages, tasks, verify
from grader.verdict import par

# What part of an operation's points is for small numbers.
SMALL_SHARE = 0.4
SPEED_ROUNDS = 5
# Editors save in several steps: look when they are through.
SETTLE_SECONDS = 0.1
# From sys/inotify.h.
IN_CLOSE_WRITE = 0x8
IN_MOVED_TO = 0x80


@dataclass(frozen=True)
class Line:
    """One test as check prints it."""

    name: str
    earned: int
    possible: int
    remark: str
    task: int = 0  # the task to go back to, if the test is a task's own

    @property
    def full(self) -> bool:
        """Whether all its points are earned."""
        return self.earned == self.possible


@dataclass(frozen=True)
class Result:
    """A stage's points, and what they are for."""

    stage: int
    directory: str
    lines: tuple[Line, ...]

    @property
    def earned(self) -> int:
        """The points."""
        return sum(line.earned for line in self.lines)

    @property
    def possible(self) -> int:
        """100, or what is left of it where the speed was not measured."""
        return sum(line.possible for line in self.lines)


def _records() -> Path:
    return paths.BUILD / "course"


def _fingerprint(directory: Path) -> str:
    content = [(p.name, p.read_bytes()) for p in sorted(directory.iterdir()) if p.is_file()]
    return hashlib.sha256(repr(content).encode()).hexdigest()


def _task_lines(stage: stages.Stage, course: tasks.Course, seed: int) -> list[Line]:
    """One line a task: its operation tried in a program."""
    try:
        program = function_tests.program(stage)
    except LabError as error:
        said = [str(error)] + ["not tried"] * len(course.tasks)
        return [Line(t.name, 0, t.points, r, t.number) for t, r in zip(course.tasks, said)]
    lines = []
    for task in course.tasks:
        outcome = function_tests.outcome(stage, program, task.operation, seed)
        share = 1.0 if outcome.large else SMALL_SHARE if outcome.small else 0.0
        remark = outcome.fault or f"{outcome.tried} tries, all right"
        if 0 < share < 1:
            remark += f" (small numbers are right: {share * 100:.0f} %)"
        lines.append(Line(task.name, int(share * task.points), task.points, remark, task.number))
    return lines


def _first_wrong(result: verify.Verified) -> int | None:
    return min(
        (f.n for f in result.failures if f.test == "value" and f.n is not None), default=None
    )


def _device_line(result: verify.Verified, points: int) -> Line:
    """The stage as a module: nothing for an unclean one, then by how far its F(n) are right."""
    name, top = "device", result.built.stage.manifest.max_n
    if result.status == "ok":
        said = f"loads, unloads, answers all calls, F(0) to F({top:,}) are right, the log is clean"
        return Line(name, points, points, said)
    wrong = _first_wrong(result)
    others = [f for f in result.failures if f.test not in ("value", "abi")]
    if result.status != "wrong" or others or wrong is None:
        return Line(name, 0, points, f"{result.status}: {result.cause}")
    share = 0.0 if wrong <= 93 else 0.3 if wrong <= 1000 else 0.6
    if top <= 93:
        share = 0.0 if wrong <= 46 else 0.3
    remark = _value_remark(result, wrong)
    if share:
        remark += f" (below that all are right: {share * 100:.0f} %)"
    return Line(name, int(share * points), points, remark)


def _value_remark(result: verify.Verified, n: int) -> str:
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


def _copy_to_measure(stage: stages.Stage, n: int, label: str) -> stages.Stage:
    manifest = dataclasses.replace(stage.manifest, measure=(n,))
    return dataclasses.replace(stage, manifest=manifest, label=label)


def _speed_line(
    built: build.Built, result: verify.Verified, speed: tasks.Speed, seed: int, tell: Progress
) -> Line:
    """By instructions against par; without that ruler by time, against the stage before."""
    name, stage = "speed", built.stage
    if result.status != "ok":
        return Line(name, 0, speed.points, "is measured when the device is right")
    known = _par(stage.number, speed)
    if known is not None:
        share, remark = _by_instructions(stage, speed, known, seed, tell)
    else:
        share, remark = _by_time(stage, speed, seed, tell)
    return Line(name, int(share * speed.points), speed.points, remark)


def _par(number: int, speed: tasks.Speed) -> par.Par | None:
    """The reference's counts, where there is the ruler for them; None where there is not."""
    try:
        known = par.load(machines.get("qemu"))
    except (LabError, MachineError):
        return None
    place = (speed.phase, speed.n)
    if known is None or any(place not in known.counts[k] for k in (speed.before, number)):
        return None
    return known


def _by_instructions(
    stage: stages.Stage, speed: tasks.Speed, known: par.Par, seed: int, tell: Progress
) -> tuple[float, str]:
    machine = machines.get("qemu")
    place = (speed.phase, speed.n)
    built = build.build(_copy_to_measure(stage, speed.n, f"own-{stage.key}"), machine.kernel())
    if not built.ok:
        return 0.0, f"in the kernel that counts: {built.cause}"
    mine = verify.Verified(built)
    samples, _ = counter.measure_exact(machine, [mine], seed, tell.step)
    series = samples.get((mine.built.stage.key, *place))
    if series is None:
        return 0.0, f"in the kernel that counts: {mine.cause}"
    count = statistics.median(series.values)
    best, worst = known.counts[stage.number][place], known.counts[speed.before][place]
    remark = (
        f"{speed.phase} of F({speed.n:,}) takes {count:,.0f} instructions; par is {best:,.0f},"
        f" and up to {best * known.tolerance:,.0f} earns all points, the {worst:,.0f} of stage"
        f" {speed.before} none"
    )
    return par.share(count, best * known.tolerance, worst), remark


def _by_time(
    stage: stages.Stage, speed: tasks.Speed, seed: int, tell: Progress
) -> tuple[float, str]:
    machine = machines.get("uml")
    pair = [
        _copy_to_measure(stages.kit(speed.before), speed.n, "before"),
        _copy_to_measure(stage, speed.n, f"own-{stage.key}"),
    ]
    verified = []
    for one in pair:
        made = build.build(one, machine.kernel())
        if not made.ok:
            return 0.0, f"stage {one.number}: {made.cause}"
        verified.append(verify.Verified(made))
    samples = clock.measure(machine, verified, SPEED_ROUNDS, seed, tell.step)
    series = [samples.get((one.key, speed.phase, speed.n)) for one in pair]
    if any(s is None or not s.values for s in series):
        return 0.0, "could not be measured: make bench says why"
    old, new = (statistics.median(s.values) for s in series if s is not None)
    ratio = old / new
    remark = (
        f"{speed.phase} of F({speed.n:,}) is {ratio:.3g} times as fast as stage"
        f" {speed.before}'s ({old:,.0f} ns, {new:,.0f} ns); {speed.par:g} times earns all points,"
        " as fast as before none"
    )
    return min(1.0, max(0.0, (ratio - 1) / (speed.par - 1))), remark


def check(
    number: int, directory: Path, seed: int, machine_name: str = "uml", speed: bool = True
) -> Result:
    """Grade one copy of a stage: the tasks, the device, the speed. Points come to 100."""
    course = tasks.course(number)
    stage = stages.single(directory, directory.name, number)
    progress = Progress()
    progress.step(f"stage {number}: try the operations")
    lines = _task_lines(stage, course, seed)
    progress.step(f"stage {number}: build the module")
    machine = machines.get(machine_name)
    built = build.build(stage, machine.kernel())
    progress.step(f"stage {number}: verify it in the lab kernel")
    result = verify.verify(built, machine, seed, True, lambda _what: None)
    lines.append(_device_line(result, course.device_points))
    if course.speed and speed:
        lines.append(_speed_line(built, result, course.speed, seed, progress))
    progress.clear()
    return Result(number, paths.shown(directory), tuple(lines))


def earlier(number: int, seed: int, machine_name: str) -> Iterator[str]:
    """Check the learner's copies of the stages before once more, but for speed: a line each."""
    for before in range(1, number):
        directory = skeleton.learner_directory(before)
        if directory is None:
            continue
        result = check(before, directory, seed, machine_name, speed=False)
        said = f"stage {before}, {result.directory}: {result.earned} of {result.possible} points"
        if tasks.course(before).speed:
            said += " without speed"
        wrong = next((line for line in result.lines if not line.full), None)
        yield f"{said}; {wrong.name}: {wrong.remark}" if wrong else said


def table(result: Result) -> str:
    """Each test with its points, as check prints them."""
    wide = max(len(line.name) for line in result.lines)
    return "\n".join(
        textwrap.fill(
            line.remark,
            100,
            initial_indent=f"[{line.earned:3}/{line.possible:3}] {line.name + ':':{wide + 1}} ",
            subsequent_indent=" " * (wide + 12),
            break_long_words=False,
        )
        for line in result.lines
    )


def outcome(result: Result) -> str:
    """The points in all, and what to do now."""
    total = f"stage {result.stage}, {result.directory}: {result.earned} of 100 points"
    return f"{total}\n{next_step(result)}"


def _place(result: Result, task: tasks.Task) -> str:
    """Where a task is in the learner's file: the line to open."""
    part = task.parts[0]
    path = paths.ROOT / result.directory / part.file
    try:
        for i, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if f"{part.function}(" in line and not line.startswith(("\t", " ", "/")):
                return f"{paths.shown(path)}:{i}"
    except OSError:
        pass
    return paths.shown(path)


def next_step(result: Result) -> str:
    """One line that says what to do now."""
    for line in result.lines:
        if line.full:
            continue
        if line.remark.startswith(function_tests.NO_PROGRAM):
            return "next: make it compile"
        missing = bring_over.missing(result.stage, paths.ROOT / result.directory)
        if missing:
            one = missing[0]
            return f"next: bring over {one.function} ({one.file}) from your stage {one.stage}"
        if line.task:
            task = tasks.course(result.stage).tasks[line.task - 1]
            return (
                f"next: task {task.number}, {task.name}, at {_place(result, task)};"
                f" make stage={result.stage} hint"
            )
        if line.name == "speed":
            return "next: faster; the handout says where the time goes"
        return f"next: mend what the device does; make stage={result.stage} load tries it"
    last = max(stages.manifests())
    after = (
        f"make stage={result.stage + 1} start" if result.stage < last else "nothing: all is done"
    )
    return f"done; next: {after}"


def record(result: Result, directory: Path) -> None:
    """Keep the points for status and hint."""
    folder = _records()
    folder.mkdir(parents=True, exist_ok=True)
    row = dataclasses.asdict(result) | {
        "fingerprint": _fingerprint(directory),
        "when": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    (folder / f"{result.stage}.json").write_text(json.dumps(row, indent=1))


def _recorded(number: int) -> tuple[Result, bool] | None:
    """The last points of a stage, and whether the sources are the same still."""
    try:
        row: dict[str, Any] = json.loads((_records() / f"{number}.json").read_text())
        result = Result(number, row["directory"], tuple(Line(**line) for line in row["lines"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    directory = paths.ROOT / result.directory
    fresh = directory.is_dir() and _fingerprint(directory) == row.get("fingerprint")
    return result, fresh


def gradescope(result: Result) -> dict[str, Any]:
    """The points as Gradescope's results.json has them."""
    return {
        "score": result.earned,
        "tests": [
            {"name": line.name, "score": line.earned, "max_score": line.possible,
             "output": line.remark}
            for line in result.lines
        ],
    }  # fmt: skip


def classroom(result: Result) -> dict[str, Any]:
    """The points as GitHub Classroom's reporter takes them, base64-encoded, from a runner."""
    return {
        "version": 1,
        "status": "pass" if all(line.full for line in result.lines) else "fail",
        "max_score": result.possible,
        "tests": [
            {"name": line.name, "status": "pass" if line.full else "fail", "score": line.earned,
             "max_score": line.possible, "message": line.remark}
            for line in result.lines
        ],
    }  # fmt: skip


def ktap(result: Result) -> str:
    """The points as KTAP, the kernel's test output format."""
    lines = ["KTAP version 1", f"1..{len(result.lines)}"]
    for i, line in enumerate(result.lines, 1):
        if not line.full:
            lines.append(f"# {line.remark}")
        word = "ok" if line.full else "not ok"
        lines.append(f"{word} {i} {line.name} # {line.earned} of {line.possible} points")
    return "\n".join(lines)


def start(number: int) -> None:
    """Make work/N-name/; what is there is put aside, if at all, after a question."""
    there = skeleton.learner_directory(number)
    content, said = bring_over.begin(number)
    if there is not None:
        shown = paths.shown(there)
        if skeleton.untouched(number, there, content):
            print(f"{shown} is there, as new: begin with task 1")
            return
        if not sys.stdin.isatty():
            raise LabError(f"{shown} holds your work: move it away, then start again")
        answer = input(f"{shown} holds your work. Put it aside and start anew? [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            print("nothing is changed")
            return
        print(f"your work is in {paths.shown(skeleton.put_aside(there))} now")
    made = skeleton.write(number, skeleton.WORK, files=content)
    course = tasks.course(number)
    print(f"{paths.shown(made)} is yours. Tasks:")
    for task in course.tasks:
        files = ", ".join(dict.fromkeys(part.file for part in task.parts))
        print(f"  {task.number}  {task.name} ({files}), {task.points} points")
    for line in said:
        print(line)
    print(f"Read {_handout(number)}, then try make stage={number} check")


def _handout(number: int) -> str:
    found = sorted((paths.ROOT / "handouts").glob(f"{number}-*.md"))
    return paths.shown(found[0]) if found else "handouts/README.md"


def _own(number: int) -> Path:
    directory = skeleton.learner_directory(number)
    if directory is None:
        raise LabError(f"there is no copy of yours: make stage={number} start makes one")
    return directory


def hint(number: int, seed: int) -> None:
    """The next hint for the first task that is not done."""
    directory = _own(number)
    course = tasks.course(number)
    stage = stages.single(directory, directory.name, number)
    lines = _task_lines(stage, course, seed)
    undone = next((line for line in lines if not line.full), None)
    if undone is None:
        print(f"all tasks are done: make stage={number} check tells the rest")
        return
    if undone.remark.startswith(function_tests.NO_PROGRAM):
        raise LabError(undone.remark)
    task = course.tasks[undone.task - 1]
    path = _records() / "hints.json"
    try:
        given: dict[str, int] = json.loads(path.read_text())
    except (OSError, ValueError):
        given = {}
    key = f"{number}.{task.number}"
    i = min(given.get(key, 0), len(task.hints) - 1)
    print(f"task {task.number}, {task.name}: {undone.remark}")
    print(textwrap.fill(f"hint {i + 1} of {len(task.hints)}: {task.hints[i]}", 100))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(given | {key: i + 1}))


def status() -> None:
    """The whole course: points by stage, and what is next."""
    upcoming = ""
    for number, manifest in sorted(stages.manifests().items()):
        directory, found = skeleton.learner_directory(number), _recorded(number)
        if directory is None:
            said, now = "not begun", f"make stage={number} start"
        elif found is None:
            said, now = "begun, not checked", f"make stage={number} check"
        else:
            result, fresh = found
            changed = "" if fresh else ", changed since"
            said = f"{result.earned:3} of 100{changed}"
            undone = result.earned < 100 or not fresh
            now = f"make stage={number} check" if undone else ""
        print(f"  {number}  {manifest.name:24} {said}")
        upcoming = upcoming or now
    print(f"next: {upcoming}" if upcoming else "all stages are done")


def _changes(directory: Path) -> Iterator[None]:
    """Once at first, then whenever a file in the directory has been written, by inotify."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC)
    # An editor writes the file, or another one that it then moves there.
    wanted = IN_CLOSE_WRITE | IN_MOVED_TO
    if fd < 0 or libc.inotify_add_watch(fd, os.fsencode(directory), wanted) < 0:
        raise LabError(f"cannot watch {directory}: {os.strerror(ctypes.get_errno())}")
    before: dict[str, bytes] = {}
    try:
        while True:
            time.sleep(SETTLE_SECONDS)
            now = {p.name: p.read_bytes() for p in directory.iterdir() if p.suffix in (".c", ".h")}
            if now != before:
                before = now
                yield
            os.read(fd, 65536)
    finally:
        os.close(fd)


def watch(number: int, seed: int) -> None:
    """Check the learner's copy, and again whenever it is saved."""
    directory = _own(number)
    for _ in _changes(directory):
        try:
            print("\n" + _check_and_record(number, directory, seed))
        except LabError as error:
            print(f"\ncourse: {error}")
        print("watching; Ctrl-C ends it", flush=True)


def _write(path: Path, results: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n")
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}; name another file") from error


def _check_and_record(number: int, directory: Path, seed: int) -> str:
    result = check(number, directory, seed)
    record(result, directory)
    return f"{table(result)}\n{outcome(result)}"


def main() -> int:
    """The command line the Makefile uses."""
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("verb", choices=["start", "check", "status", "hint", "watch"])
    parser.add_argument("--stage", default="")
    parser.add_argument("--machine", default="uml")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write Gradescope's results.json there")
    parser.add_argument("--classroom", type=Path, help="also write GitHub Classroom's there")
    parser.add_argument("--only", action="store_true", help="do not check earlier stages again")
    parser.add_argument("--ktap", action="store_true", help="print KTAP instead of points")
    options = parser.parse_args()
    if options.verb == "status":
        status()
        return 0
    numbers = stages.parse_numbers(options.stage) if options.stage else []
    if len(numbers) != 1:
        raise LabError(f"which stage? say one, like make stage=3 {options.verb}")
    number = numbers[0]
    if options.verb == "start":
        start(number)
    elif options.verb == "hint":
        hint(number, options.seed)
    elif options.verb == "watch":
        watch(number, options.seed)
    else:
        directory = _own(number)
        result = check(number, directory, options.seed, options.machine or "uml")
        record(result, directory)
        for path, made in ((options.json, gradescope), (options.classroom, classroom)):
            if path:
                _write(path, made(result))
        if options.ktap:
            print(ktap(result))
            return 0 if result.earned == 100 else 1
        # Flushed: the earlier stages take a while.
        print(table(result), flush=True)
        if not options.only:
            for line in earlier(number, options.seed, options.machine or "uml"):
                print(line, flush=True)
        print(outcome(result))
        return 0 if result.earned == 100 else 1
    return 0


if __name__ == "__main__":
    sys.exit(command.end("course", main))
