# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Par: how many instructions the reference takes, and what part of the points coming near it earns.

expected/par.json keeps the counts of the reference stages, with what they depend on: kernel,
compiler, emulator: at the n of each manifest, and where speed may be judged (see speed_n.py). Where
those are others, a calibration module says how many instructions they make of the same work, and
par is scaled by that, with more tolerance.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.base import command, paths
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import machines
from grader.lab.machines import Machine
from grader.rulers import counter
from grader.rulers.samples import Samples
from grader.stage import build, oracle, stages
from grader.stage.measured import WHOLE_READ_FROM, DriverWork, StageSubject, contents
from grader.stage.tasks import Speed
from grader.verdict import speed_n

FILE = paths.EXPECTED / "par.json"
CALIBRATION = Path(__file__).resolve().parent / "par_scale"
CALIBRATION_N = 93
# Repetitions of it, so many that what a call takes once does not matter, and no block is taken.
NOTHING_REPEAT, CALIBRATION_REPEAT = 512, 8

# Up to this much above par earns all; the second where par had to be scaled.
TOLERANCE = 1.1
SCALED_TOLERANCE = 1.25

Counts = dict[tuple[str, int], float]  # by phase and n


@dataclass(frozen=True)
class Par:
    """The reference's counts for this machine."""

    counts: dict[int, Counts]  # by stage number
    scale: float  # 1 where expected/ has this very machine
    tolerance: float


def _key(machine: Machine) -> dict[str, str]:
    return {"compiler": machine.kernel().compiler, **machine.facts()}


def _records() -> list[dict[str, Any]]:
    if not FILE.is_file():
        return []
    try:
        records: list[dict[str, Any]] = json.loads(FILE.read_text())["records"]
        return records
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(
            f"{paths.shown(FILE)} is damaged ({error}): git checkout expected"
        ) from error


def _counts(record: dict[str, Any], scale: float) -> dict[int, Counts]:
    return {
        int(number): {
            (phase, int(n)): count * scale
            for phase, by_n in phases.items()
            for n, count in by_n.items()
        }
        for number, phases in record["stages"].items()
    }


def load(machine: Machine) -> Par | None:
    """Par for a machine that counts instructions; None when expected/ has none at all."""
    records = _records()
    for record in records:
        if record["key"] == _key(machine):
            return Par(_counts(record, 1.0), 1.0, TOLERANCE)
    if not records:
        return None
    record = records[-1]
    scale = _calibrate(machine, driver_work(machine)) / record["calibration"]
    return Par(_counts(record, scale), scale, SCALED_TOLERANCE)


def _calibration_stage() -> stages.Stage:
    manifest = stages.Manifest(0, "calibration", "", "", CALIBRATION_N, (CALIBRATION_N,))
    return stages.Stage(CALIBRATION, manifest)


def _calibrate(machine: Machine, driver: DriverWork) -> float:
    """Instructions of the calibration module's fixed work on this machine."""
    built = build.build(_calibration_stage(), machine.kernel())
    if built.objection:
        raise LabError(f"the calibration module: {built.objection}")
    subject = StageSubject(built, driver=driver)
    samples = _count(machine, [subject], lambda *_: None)
    return samples[subject.key, "compute", CALIBRATION_N].median


# By machine: counted once a run.
_driver_works: dict[str, DriverWork] = {}


def driver_work(machine: Machine) -> DriverWork:
    """Instructions of the driver around the work on this machine, known or counted."""
    for record in _records():
        if record["key"] == _key(machine) and "driver" in record:
            return DriverWork(**record["driver"])
    if machine.name not in _driver_works:
        _driver_works[machine.name] = _driver_work(machine)
    return _driver_works[machine.name]


def _driver_work(machine: Machine) -> DriverWork:
    """What is around nothing at all, F(0), and around 20 digits."""
    built = build.build(_calibration_stage(), machine.kernel())
    if built.objection:
        raise LabError(f"the calibration module: {built.objection}")
    subject = StageSubject(built, driver=DriverWork(0, 0, 0))
    (nothing,) = counter.around(machine, subject, contents, (0,), NOTHING_REPEAT)
    (some,) = counter.around(machine, subject, contents, (CALIBRATION_N,), CALIBRATION_REPEAT)
    digit = (some.repetition - nothing.repetition) / (len(oracle.digits(CALIBRATION_N)) - 1)
    return DriverWork(round(nothing.repetition - digit, 2), round(digit, 2), round(nothing.lone, 2))


def _count(machine: Machine, subjects: list[StageSubject], tell: counter.Tell) -> Samples:
    measured = counter.count(machine, subjects, subjects, contents, 1, tell)
    for key, finding in measured.findings.items():
        raise LabError(f"{key}: {finding.cause}")
    return measured.samples


def knows(known: Par, number: int, speed: Speed) -> bool:
    """Whether there is a count of the reference for what a stage's speed is judged by."""
    place = (speed.phase, speed.n)
    return all(place in known.counts.get(stage, {}) for stage in (speed.before, number))


def share(count: float, best: float, worst: float) -> float:
    """1 at best or below, 0 at worst or above, by the logarithm in between."""
    if worst <= best:
        return float(count <= best)
    return max(0.0, min(1.0, math.log(worst / count) / math.log(worst / best)))


def make(tell: Callable[[str, int, int], None]) -> Path:
    """Measure the reference stages and put their counts into expected/par.json."""
    machine = machines.get("qemu")
    driver = _driver_work(machine)
    subjects = []
    for stage in stages.find(paths.STAGES):
        built = build.build(stage, machine.kernel())
        if built.objection:
            raise LabError(f"stage {stage.number}: {built.objection}")
        whole = stage.number >= WHOLE_READ_FROM - 1
        numbers = {*stage.manifest.measure, *speed_n.counted(stage.number)}
        subjects.append(
            StageSubject(built, tuple(sorted(numbers)), whole_read=whole, driver=driver)
        )
    samples = _count(machine, subjects, tell)
    table: dict[str, dict[str, dict[str, float]]] = {}
    for subject in subjects:
        number = str(subject.built.stage.number)
        for (key, phase, n), series in samples.items():
            if key == subject.key:
                by_n = table.setdefault(number, {}).setdefault(phase, {})
                by_n[str(n)] = round(series.median, 2)
    record = {
        "key": _key(machine),
        "calibration": _calibrate(machine, driver),
        "driver": dataclasses.asdict(driver),
        "stages": table,
    }
    kept = [r for r in _records() if r["key"] != record["key"]]
    new = FILE.with_suffix(f".new{os.getpid()}")
    new.write_text(json.dumps({"records": [*kept, record]}, indent=1) + "\n")
    new.replace(FILE)
    return FILE


def main() -> int:
    """make par."""
    argparse.ArgumentParser(prog="make par").parse_args()
    progress = Progress()
    path = make(progress.step)
    progress.clear()
    print(f"{paths.shown(path)} is up to date for this kernel, compiler and emulator")
    return 0


if __name__ == "__main__":
    sys.exit(command.end("par", main, "expected/par.json is as it was"))
