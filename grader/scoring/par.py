# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Par: the instruction counts of the kit's own stages, against which speed earns points.

A count depends on the kernel, the compiler and the emulator. expected/par.json has the counts for
one exact set of the three, at the n of each manifest and at the n of speed_inputs.py. With any
other set, the reference's instructions are counted on this computer, at the requested n. The counts
are cached under a digest of everything that they depend on.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from grader.base import cache, command, paths
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.exercise.build import stage_module
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.files import stages, tasks
from grader.exercise.files.tasks import CountedCall, Speed
from grader.exercise.operations import ideas
from grader.exercise.workload.stage_workload import StageWorkload, contents
from grader.lab import machines
from grader.lab.machines import CountingMachine, Machine
from grader.measure import instructions
from grader.scoring import speed_inputs

FILE = paths.EXPECTED / "par.json"
KEPT = "par"  # a folder of the cache with a file for each stage and digest

# A count up to this factor above par earns all points.
TOLERANCE = 1.1

BenchmarkSize = tuple[int, str, int]  # stage number, phase, n
Counts = Mapping[BenchmarkSize, float]


class NoReference(LabError):
    """The reference's instructions cannot be counted, because the stage is missing here."""


def benchmark_sizes(number: int, speed: Speed) -> set[BenchmarkSize]:
    """Return the stage, phase and n of each count that speed needs, also of the stage before."""
    return {(one, speed.phase, speed.n) for one in (number, speed.before)}


def counts(
    machine: CountingMachine,
    wanted: Collection[BenchmarkSize],
    tell: instructions.Tell = lambda *_: None,
) -> Counts:
    """Return the instructions that the reference takes on this machine at the wanted sizes.

    The counts come from expected/par.json if it has a record of this exact machine, else from the
    cache, else the instructions are counted now. A lock lets only one process on this computer
    count at a time, so that processes that need the same count do not repeat it. Raise NoReference
    if the reference is missing for this machine.
    """
    found = _recorded(machine)
    found.update(_kept(machine, [place for place in wanted if place not in found]))
    missing = [place for place in wanted if place not in found]
    if missing:
        with _counting(machine, tell):
            found.update(_kept(machine, missing))
            missing = [place for place in missing if place not in found]
            if missing:
                found.update(_count_now(machine, missing, tell))
    return {place: found[place] for place in wanted}


def _records() -> list[dict[str, Any]]:
    if not FILE.is_file():
        return []
    try:
        records: list[dict[str, Any]] = json.loads(FILE.read_text())["records"]
        return records
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(
            f"{paths.shown(FILE)} is damaged ({error})", "run git checkout expected"
        ) from error


def _recorded(machine: Machine) -> dict[BenchmarkSize, float]:
    """Return the counts that expected/par.json has for this exact machine."""
    for record in _records():
        if record["key"] == instructions.machine_key(machine):
            return of_record(record)
    return {}


def of_record(record: Mapping[str, Any]) -> dict[BenchmarkSize, float]:
    """Return the counts of a record of expected/par.json."""
    return {
        (int(number), phase, int(n)): count
        for number, phases in record["stages"].items()
        for phase, by_n in phases.items()
        for n, count in by_n.items()
    }


def _digest(machine: Machine, number: int) -> str:
    """Return a digest of everything that the counts of a reference stage depend on.

    These are the machine, the counting method, and the inputs of the module: the stage's sources
    or object, the driver, the contract. If any of them changes, cached counts are not found.
    """
    module = stage_module.digest(_here(machine, number), machine.kernel())
    made_of = json.dumps(
        [instructions.machine_key(machine), instructions.method(), module], sort_keys=True
    )
    return hashlib.sha256(made_of.encode()).hexdigest()[:32]


def _here(machine: Machine, number: int) -> stages.Stage:
    """Return a reference stage. Raise NoReference if it is missing for this machine."""
    stage = stages.kit(number)
    if not stage.fits(machine.kernel().arch):
        raise NoReference(
            f"reference/ has no object of stage {number} that machine {machine.name} can measure",
            "choose another machine",
        )
    return stage


def _kept(machine: Machine, wanted: Iterable[BenchmarkSize]) -> dict[BenchmarkSize, float]:
    """Return the wanted counts that are in the cache."""
    found: dict[BenchmarkSize, float] = {}
    wanted = set(wanted)
    for number in sorted({place[0] for place in wanted}):
        kept = cache.read(KEPT, _digest(machine, number)).get("counts")
        found.update(_understood(number, kept))
    return {place: count for place, count in found.items() if place in wanted}


def _understood(number: int, kept: Any) -> dict[BenchmarkSize, float]:
    """Return the counts of a cache file, or an empty dict if the file is damaged."""
    try:
        found = {
            (number, str(phase), int(n)): float(count)
            for phase, by_n in kept.items()
            for n, count in by_n.items()
        }
    except (AttributeError, TypeError, ValueError):
        return {}
    return found if all(0 < count < math.inf for count in found.values()) else {}


def _counting(machine: Machine, tell: instructions.Tell) -> Any:
    """Return a context manager that holds the lock for counting on this machine."""
    name = hashlib.sha256(
        json.dumps(instructions.machine_key(machine), sort_keys=True).encode()
    ).hexdigest()[:12]
    waiting = "wait for another run, which counts the reference"
    return cache.locked(KEPT, name, lambda: tell(waiting, 0, 0))


def _count_now(
    machine: CountingMachine, wanted: Iterable[BenchmarkSize], tell: instructions.Tell
) -> dict[BenchmarkSize, float]:
    """Count the instructions of all phases of the reference at the wanted n. Cache the counts."""
    by_stage: dict[int, set[int]] = {}
    for number, _, n in wanted:
        by_stage.setdefault(number, set()).add(n)
    named = "; ".join(
        f"stage {number} at {', '.join(f'{n:,}' for n in sorted(numbers))}"
        for number, numbers in sorted(by_stage.items())
    )
    what = f"count the reference, once for this kernel, compiler and emulator: {named}"
    tell(what, 0, 0)
    subjects = [
        _subject(_built(machine, number), sorted(by_stage[number]), True)
        for number in sorted(by_stage)
    ]
    table = _count(machine, subjects, lambda _, done, total: tell(what, done, total))
    for number in by_stage:
        name = _digest(machine, number)
        before = _understood(number, cache.read(KEPT, name).get("counts"))
        phases: dict[str, dict[str, float]] = {}
        for (_, phase, n), count in {**before, **_of(table, number)}.items():
            phases.setdefault(phase, {})[str(n)] = count
        value = {"key": instructions.machine_key(machine), "stage": number, "counts": phases}
        cache.write(KEPT, name, value)
    for place in wanted:
        if place not in table:
            raise LabError(
                f"par of stage {place[0]} is missing at n = {place[2]:,}",
                "run make par",
            )
    return table


def _of(table: Counts, number: int) -> dict[BenchmarkSize, float]:
    return {place: count for place, count in table.items() if place[0] == number}


def _built(machine: Machine, number: int) -> BuiltStage:
    """Return a reference stage, built for the machine."""
    built = stage_module.build(_here(machine, number), machine.kernel())
    if built.rejection:
        raise LabError(f"the reference's stage {number}: {built.rejection}", "correct its source")
    return built


def _subject(built: BuiltStage, numbers: Iterable[int], whole: bool) -> StageWorkload:
    # `needed` is set so that the instructions are counted at each n, even if this takes minutes.
    at = tuple(numbers)
    label = f"reference-{built.stage.number}"
    return StageWorkload(built, at, label, whole_read=whole, needed=at)


def _count(
    machine: CountingMachine, subjects: list[StageWorkload], tell: instructions.Tell
) -> dict[BenchmarkSize, float]:
    counted = instructions.count(machine, subjects, contents, tell, len(subjects))
    for key, finding in counted.findings.items():
        raise LabError(f"{key}: {finding.cause}", "run the command again")
    numbers = {subject.key: subject.built.stage.number for subject in subjects}
    return {
        (numbers[key], phase, n): round(series.median, 2)
        for (key, phase, n), series in counted.samples.items()
    }


def share(count: float, best: float, worst: float) -> float:
    """Return 1 if count <= best, 0 if count >= worst.

    In between, return a share that decreases with the logarithm of the count: each factor costs the
    same share, wherever it lies.
    """
    if worst <= best:
        return float(count <= best)
    return max(0.0, min(1.0, math.log(worst / count) / math.log(worst / best)))


def make(tell: Callable[[str, int, int], None]) -> Path:
    """Measure the reference stages and write their counts to expected/par.json. Return its path."""
    machine = machines.counting()
    subjects = []
    ordered = stages.find(paths.STAGES)
    for stage, following in zip(ordered, [*ordered[1:], ordered[-1]]):
        numbers = {*stage.manifest.measure, *speed_inputs.counted(stage.number)}
        # The first stage with decimal limbs and the stage before it are compared by the sum of both
        # phases.
        whole = stage.traits.decimal or following.traits.decimal
        built = _built(machine, stage.number)
        subject = _subject(built, sorted(numbers), whole)
        # The empty `needed` skips each n at which counting takes minutes.
        subjects.append(dataclasses.replace(subject, needed=()))
    table: dict[str, dict[str, dict[str, float]]] = {}
    for (number, phase, n), count in _count(machine, subjects, tell).items():
        table.setdefault(str(number), {}).setdefault(phase, {})[str(n)] = count
    record = {
        "key": instructions.machine_key(machine),
        "stages": table,
    }
    kept = [r for r in _records() if r["key"] != record["key"]]
    new = FILE.with_suffix(f".new{os.getpid()}")
    new.write_text(json.dumps({"records": [*kept, record]}, indent=1) + "\n")
    new.replace(FILE)
    return FILE


def ambiguous_ideas(
    machine: CountingMachine, tell: Callable[[str], None], numbers: Iterable[int]
) -> list[str]:
    """Count the instructions of the ideas' calls, with the kit's and with the plain method.

    Return a message for each idea whose bound does not separate the two methods.
    """
    ideas_of = {
        number: [
            *(idea for task in tasks.course(number).tasks for idea in task.ideas),
            *tasks.course(number).device_ideas,
        ]
        for number in numbers
    }
    wanted: dict[int, set[CountedCall]] = {}
    for number, own in ideas_of.items():
        for idea in own:
            wanted.setdefault(number, set()).add(idea.takes)
            if idea.plain:
                wanted.setdefault(idea.plain.stage, set()).add(idea.plain.takes)
    found: dict[int, ideas.Counts] = {}
    for number in sorted(wanted):
        tell(f"count the operations of stage {number}")
        found[number] = ideas.counts(machine, _here(machine, number), wanted[number], None)
    return [
        f"stage {number}, {message}"
        for number, own in ideas_of.items()
        for idea in own
        if (
            message := ideas.inconsistent(
                idea,
                found[number][idea.takes],
                found[idea.plain.stage][idea.plain.takes] if idea.plain else None,
            )
        )
    ]


def main() -> int:
    """Run `make par`: check the bounds of the ideas, then count the reference's instructions."""
    argparse.ArgumentParser(prog="make par").parse_args()
    progress = Progress()
    ambiguous = ambiguous_ideas(machines.counting(), progress.step, stages.manifests())
    if ambiguous:
        raise LabError("; ".join(ambiguous), "change the bounds in tasks.toml")
    path = make(progress.step)
    progress.clear()
    print(f"{paths.shown(path)} is up to date for this kernel, compiler and emulator")
    return 0


if __name__ == "__main__":
    sys.exit(command.end("par", main, "expected/par.json is as it was"))
