# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the checks of make mutation in short: on a correct stage and on one mutant.

The long form is make mutation, which writes build/mutation/MUTATION.md.
"""

from __future__ import annotations

import catalogue
import mutation_run
import pytest

from grader.base import paths
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage

FAULTS = catalogue.found_by("mutation")
PAIRS = [(m, number) for m in FAULTS for number in m.stages]


def test_there_are_enough() -> None:
    assert len(PAIRS) >= 60
    assert {number for _, number in PAIRS} == set(range(3, 12))


@pytest.mark.once
def test_a_sound_stage_is_not_caught() -> None:
    stage = next(s for s in stages.find(paths.STAGES) if s.number == 6)
    assert mutation_run.by_operands(stage) == ""


@pytest.mark.once
def test_a_fault_that_no_fibonacci_number_shows_is_caught() -> None:
    fault = next(m for m in FAULTS if m.name == "is zero: the lowest limb only")
    stage: Stage = mutation_run.faulty(fault, 4)
    assert mutation_run.by_operands(stage) != ""
