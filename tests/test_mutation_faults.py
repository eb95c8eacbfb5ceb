# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the checks of make mutation in short: on a correct stage and on one mutant.

The long form is make mutation, which writes build/mutation/MUTATION.md.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import catalogue
import mutation_run
import pytest

from grader.base import paths
from grader.exercise.build import c_flags, preprocess, stage_module
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage

FAULTS = catalogue.found_by("mutation")
PAIRS = [(m, number) for m in FAULTS for number in m.stages]


def test_there_are_enough() -> None:
    assert len(PAIRS) >= 60
    assert {number for _, number in PAIRS} == set(range(3, 12))


@pytest.mark.once
@pytest.mark.parametrize("number", range(3, 12))
def test_each_mutant_compiles(number: int, tmp_path: Path) -> None:
    manifest = stages.manifests()[number]
    for fault, _ in (pair for pair in PAIRS if pair[1] == number):
        stage = Stage(catalogue.plant(fault, tmp_path / fault.name, number), manifest)
        made = preprocess.texts(stage, list(stage_module.sources(stage, [])))
        assert not made.cause, f"{fault.name}: {made.cause}"
        for change in fault.changes:
            if change.file.endswith(".c"):
                flags = ("-S", "-o/dev/null", "-xcpp-output", "-", *c_flags.language())
                done = subprocess.run(["gcc", *flags], input=made.files[change.file], check=False)
                assert not done.returncode, fault.name


@pytest.mark.once
def test_a_sound_stage_is_not_caught() -> None:
    stage = next(s for s in stages.find(paths.STAGES) if s.number == 6)
    assert mutation_run.by_operands(stage) == ""


@pytest.mark.once
def test_a_fault_that_no_fibonacci_number_shows_is_caught() -> None:
    fault = next(m for m in FAULTS if m.name == "is zero: the lowest limb only")
    stage: Stage = mutation_run.faulty(fault, 4)
    assert mutation_run.by_operands(stage) != ""
