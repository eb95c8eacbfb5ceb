# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The mutation proof in short: its faults apply, and a part that catches all would be noticed.

The long form is make mutation; its result is tests/MUTATION.md.
"""

from __future__ import annotations

import re

import mutation_run
import pytest
from mutation_faults import MUTATIONS

from grader.base import paths
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage

PAIRS = [(m, number) for m in MUTATIONS for number in m.stages]


def test_there_are_enough() -> None:
    assert len(PAIRS) >= 60
    assert {number for _, number in PAIRS} == set(range(3, 12))
    assert len({m.name for m in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize("number", range(3, 12))
def test_each_text_is_there_once(number: int) -> None:
    (directory,) = paths.STAGES.glob(f"{number}-*")
    for fault in (m for m, n in PAIRS if n == number):
        text = (directory / fault.file).read_text()
        assert text.count(fault.what) == 1, fault.name
        assert fault.what != fault.instead


def test_the_table_is_of_these_faults() -> None:
    rows = re.findall(r"^\| (\d+) \| \S+ \| (.+?) \|", mutation_run.TABLE.read_text(), re.MULTILINE)
    assert sorted((int(n), name) for n, name in rows) == sorted((n, m.name) for m, n in PAIRS)


def test_a_sound_stage_is_not_caught() -> None:
    stage = next(s for s in stages.find(paths.STAGES) if s.number == 6)
    assert mutation_run.by_operands(stage) == ""


def test_a_fault_that_no_fibonacci_number_shows_is_caught() -> None:
    fault = next(m for m in MUTATIONS if m.name == "is zero: the lowest limb only")
    stage: Stage = mutation_run.mutant(fault, 4)
    assert mutation_run.by_operands(stage) != ""


def test_survivors_without_a_reason_are_not_in_the_table() -> None:
    assert "NO REASON" not in mutation_run.TABLE.read_text()
