# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that a fault in one size class of long numbers is found, at an n of this class."""

from __future__ import annotations

from pathlib import Path

import catalogue
import pytest
from catalogue import Fault

from grader.exercise.build import stage_module
from grader.exercise.conformance import verify
from grader.exercise.files import expected_values
from grader.lab.machines import Machine
from grader.lab.module import Kernel

# The long form uses twenty seeds, the short form one.
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 21))]


@pytest.mark.sampled
@pytest.mark.once
@pytest.mark.machine
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", catalogue.found_by("sizes"), ids=lambda fault: fault.title)
def test_wrong_in_one_size_class(
    fault: Fault, seed: int, uml: Machine, kernel: Kernel, tmp_path: Path
) -> None:
    built = stage_module.build(catalogue.stage(fault, tmp_path), kernel)
    result = verify.verify(built, uml, seed, False, lambda _step: None)
    wrong = [failure for failure in result.failures if failure.test in ("abi", "value")]
    assert wrong, f"nothing was found with seed {seed}"
    # A failure without n comes from the system-call tests, which read the largest n.
    assert wrong[0].first_difference is not None
    if wrong[0].n is not None:
        assert wrong[0].expected == expected_values.digits(wrong[0].n)
