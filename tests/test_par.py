# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the points for performance, and the verdicts on exact counts."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import paths
from grader.base.errors import LabError
from grader.exercise.build import stage_module
from grader.exercise.files import stages
from grader.exercise.files.tasks import Speed, course
from grader.exercise.workload.stage_workload import StageWorkload, contents
from grader.lab import machines
from grader.measure import instructions
from grader.measure.samples import Samples, Series
from grader.scoring import par, points, speed_inputs, speedups
from grader.scoring.status import Status

PAR = {(4, "compute", 10000): 90000.0, (5, "compute", 10000): 9000.0}
SPEED = Speed(20, 4, 10000, "compute", 30.0)
OK = Status("ok")


def speed(count: float, key: str = "5-x", stands: Status = OK) -> int:
    """Return the points for the speed of a stage 5 that takes `count` instructions."""
    counted: Samples = {("5-x", "compute", 10000): Series([count])}
    line = points.speed_by_instructions(5, key, SPEED, counted, PAR, stands)
    assert line.possible == SPEED.points
    return line.earned


def test_the_reference_earns_all() -> None:
    assert speed(9000) == 20


def test_a_little_above_par_earns_all() -> None:
    assert speed(9800) == 20


def test_the_stage_before_unchanged_earns_nothing() -> None:
    assert speed(90000) == 0


def test_half_way_earns_something() -> None:
    assert 4 < speed(30000) < 16


def test_nothing_measured_earns_nothing() -> None:
    assert speed(9000, "5-y") == 0


def test_what_is_wrong_earns_nothing_for_being_fast() -> None:
    assert speed(1.0, stands=Status("wrong", "F(7)")) == 0


def test_par_is_asked_for_the_stage_and_the_one_before() -> None:
    assert par.benchmark_sizes(5, SPEED) == set(PAR)


def test_expected_has_par_for_every_stage_and_n() -> None:
    record = json.loads(par.FILE.read_text())["records"][0]
    for stage in stages.find(paths.STAGES):
        counts = record["stages"][str(stage.number)]["compute"]
        wanted = {*stage.manifest.measure, *speed_inputs.counted(stage.number)}
        assert set(counts) <= {str(n) for n in wanted}
        assert len(counts) >= len(wanted) - 1


@pytest.mark.skipif(stages.exported(), reason="the scripts that draw figures are not exported")
def test_handouts_state_the_counts_of_expected() -> None:
    from handouts.figures import par_numbers

    stated = {path.name: par_numbers.numbers(path) for path in par_numbers.handouts()}
    assert sum(map(bool, stated.values())) >= 5
    for name, numbers in stated.items():
        assert all(old == new for old, new in numbers.items()), name


def test_a_damaged_file_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "par.json"
    broken.write_text('{"records": [')
    monkeypatch.setattr(par, "FILE", broken)
    with pytest.raises(LabError, match="git checkout expected"):
        par._records()


def _counted(
    values: dict[tuple[int, int], float],
) -> tuple[list[stages.Stage], speedups.MachineSamples]:
    found = stages.find(paths.STAGES, [5, 6])
    keys = {stage.number: stage.key for stage in found}
    series = {(keys[s], "compute", n): Series([v]) for (s, n), v in values.items()}
    return found, speedups.MachineSamples("qemu", "instructions", series)


@pytest.mark.parametrize(
    ("after", "verdict"),
    [(1000.0, "~"), (1000.9, "~"), (998.0, "faster"), (1002.0, "slower")],
)
def test_counts_are_compared_by_their_resolution(after: float, verdict: str) -> None:
    found, measured = _counted({(5, 1000): 1000.0, (6, 1000): after})
    rows, gaps = speedups.speedups(found, measured, 1)
    assert [row["verdict"] for row in rows] == [verdict]
    assert rows[0]["p"] is None
    assert gaps == []


def test_neighbours_without_a_shared_n_leave_a_gap() -> None:
    found, measured = _counted({(5, 1000): 1000.0, (6, 10000): 1.0})
    rows, gaps = speedups.speedups(found, measured, 1)
    assert rows == []
    assert gaps == [{"from": 5, "to": 6, "reason": "the two share no n at which both are measured"}]


def test_an_object_in_place_of_a_stage_is_not_called_wrong() -> None:
    """A reference without source files has no exact count, but is not reported as wrong."""
    found, measured = _counted({(6, 1000): 1000.0})
    _, gaps = speedups.speedups(found, measured, 1)
    assert gaps[0]["reason"] == "stage 5 was not measured: it is not ok"
    shipped = [replace(found[0], shipped=Path("reference")), found[1]]
    _, gaps = speedups.speedups(shipped, measured, 1)
    said = "qemu has no instructions of stage 5, which is here without its source"
    assert [gap["reason"] for gap in gaps] == [said]


def test_disagreements_of_the_metrics_are_named() -> None:
    row = {"phase": "compute", "n": 1000, "from": 5, "to": 6}
    rows = [
        {**row, "metric": "ns", "verdict": "slower"},
        {**row, "metric": "instructions", "verdict": "faster"},
    ]
    found = speedups.disagreements(rows)
    assert len(found) == 1
    assert "fewer instructions" in found[0]["why"]
    rows[0]["verdict"] = "~"
    assert speedups.disagreements(rows) == []


TWICE = {
    "\tfor (int i = top;": (
        "\tfor (int again = 0; again < 2; again++) {\n\ta = 0;\n\tb = 1;\n"
        '\tasm("" : "+r"(a), "+r"(b));\n\tfor (int i = top;'
    ),
    "\tf->word = a;": '\tasm volatile("" : : "r"(a));\n\t}\n\tf->word = a;',
}


@pytest.mark.machine
@pytest.mark.skipif(stages.exported(), reason="an export has no source of the reference")
def test_all_the_work_done_twice_costs_points(tmp_path: Path) -> None:
    """A stage that does all work twice passes but loses points; the reference earns all points."""
    machine = machines.counting()
    reference = stages.kit(2)
    copy = tmp_path / "2-all-twice"
    shutil.copytree(reference.directory, copy)
    text = (copy / "fib.c").read_text()
    for old, new in TWICE.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    (copy / "fib.c").write_text(text)
    asked = course(2).speed
    assert asked
    both = [reference, stages.single(copy, copy.name)]
    subjects = []
    for stage in both:
        built = stage_module.build(stage, machine.kernel())
        assert not built.rejection, built.rejection
        subjects.append(StageWorkload(built, (asked.n,)))
    counted = instructions.count(machine, subjects, contents, lambda *_: None, len(subjects))
    assert not counted.findings
    known = par.counts(machine, par.benchmark_sizes(2, asked))
    right, twice = (
        points.speed_by_instructions(2, stage.key, asked, counted.samples, known, OK).earned
        for stage in both
    )
    assert right == asked.points
    assert 0 < twice < 0.8 * asked.points
