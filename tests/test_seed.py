# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the unpredictable choices: the seed, and the n at which speed is judged."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from grader.base import paths, seed
from grader.base.errors import LabError
from grader.course import commands, records
from grader.exercise.files import exercises, stages, tasks
from grader.exercise.files.tasks import course
from grader.lab import machines
from grader.measure.samples import Samples, Series
from grader.scoring import par, speed_inputs, speedups

NUMBERS = sorted(stages.manifests())
FAST = [number for number in NUMBERS if course(number).speed]


def test_a_seed_is_given_or_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_SEED", "5")
    assert seed.chosen(7, "--seed ") == (7, "")
    assert seed.chosen(None, "--seed ") == (5, "")
    monkeypatch.setenv("LAB_SEED", "five")
    with pytest.raises(LabError, match="which is not a number; set it"):
        seed.chosen(None, "")
    monkeypatch.delenv("LAB_SEED")
    found = {seed.chosen(None, "--seed ") for _ in range(20)}
    assert len(found) > 15
    assert all(f"--seed {number} asks for the same" in said for number, said in found)


@pytest.mark.parametrize("number", FAST)
def test_speed_is_judged_at_any_n_of_the_upper_half(number: int) -> None:
    speed = course(number).speed
    assert speed
    assert tasks.drawn(speed, 1).n == speed.n
    drawn = [tasks.drawn(speed, s).n for s in range(1, 1001)]
    assert speed.n / 2 <= min(drawn) and max(drawn) <= speed.n
    # The drawn n include most of a small range, and many values of a large one.
    assert len(set(drawn)) > min(0.8 * speed.n / 2, 600)
    assert [tasks.drawn(speed, s).n for s in range(1, 1001)] == drawn


@pytest.mark.parametrize("number", FAST)
def test_for_a_learner_or_without_the_reference_it_is_one_of_those_in_expected(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    speed = course(number).speed
    assert speed
    machine = machines.get("qemu")
    stage = stages.kit(number)
    for here, isolated in product((True, False), repeat=2):
        monkeypatch.setattr(stages.Stage, "fits", lambda *_, here=here: here)
        asked = replace(stage, isolated=isolated)
        judged = {s: speed_inputs.judged_at(machine, asked, s) for s in range(1, 9)}
        rule = tasks.drawn if here and isolated else tasks.listed
        assert judged == {s: rule(speed, s) for s in range(1, 9)}
    drawn = [tasks.listed(speed, s).n for s in range(1, 9)]
    assert drawn[0] == speed.n
    assert len(set(drawn)) == 8
    assert speed.n / 2 <= min(drawn) <= 1.1 * speed.n / 2
    assert max(drawn) == speed.n
    for one in (number, speed.before):
        assert speed.n <= stages.manifests()[one].max_n
        assert set(drawn) <= set(speed_inputs.counted(one))


@pytest.mark.parametrize("number", FAST)
def test_par_is_known_for_each_of_them(number: int) -> None:
    record = json.loads(par.FILE.read_text())["records"][0]
    known = par.of_record(record)
    speed = course(number).speed
    assert speed
    for s in range(1, 9):
        asked = tasks.listed(speed, s)
        assert par.benchmark_sizes(number, asked) <= set(known)
        own, before = (known[one, asked.phase, asked.n] for one in (number, speed.before))
        # The references' counts differ enough at every n to give points between none and all.
        assert before > 1.05 * par.TOLERANCE * own, (number, asked.n)


def test_the_drawn_n_is_in_no_table() -> None:
    (stage,) = stages.find(paths.STAGES, [5])
    samples: Samples = {(stage.key, "compute", n): Series([9.0]) for n in (10_000, 8_409)}
    rows = speedups.sample_rows(stage, speedups.MachineSamples("qemu", "instructions", samples), 1)
    assert [row["n"] for row in rows] == [10_000]


def test_a_seed_that_failed_is_used_until_it_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    monkeypatch.delenv("LAB_SEED", raising=False)
    first = commands._seed(exercises.find(3), None)
    assert f"seed={first} asks for the same" in capsys.readouterr().err
    records.settle("3", first, False)
    assert [commands._seed(exercises.find(3), None) for _ in range(3)] == [first] * 3
    assert "did not pass last time" in capsys.readouterr().err
    assert commands._seed(exercises.find(3), 77) == 77
    # A pass with another seed does not clear the failed seed.
    records.settle("3", 77, True)
    assert records.failed_seed("3") == first
    assert records.failed_seed("4") is None
    records.settle("3", first, True)
    assert records.failed_seed("3") is None
    records.settle("4", 1, True)
