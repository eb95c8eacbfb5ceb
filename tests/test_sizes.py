# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A fault in one size class of long numbers is found, and named by an n that has it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import paths, toml
from grader.exercise.build import stage_module
from grader.exercise.conformance import verify
from grader.exercise.files import expected_values, stages
from grader.lab.machines import Machine
from grader.lab.module import Kernel
from tests.test_promises import edited

ROWS = toml.read(paths.ROOT / "tests/mutants/sizes.toml")
# The proof goes over many; a run of the tests takes one.
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 21))]


def faulty(name: str, folder: Path) -> stages.Stage:
    """A copy of the kit's stage with the fault, which computes numbers and nothing else."""
    kit = stages.kit(ROWS[name]["stage"])
    copy = folder / kit.directory.name
    shutil.copytree(kit.directory, copy)
    source = copy / ROWS[name]["file"]
    source.write_text(edited(ROWS[name], source.read_text()))
    return replace(stages.single(copy, copy.name), label=f"{kit.key}-{name}")


@pytest.mark.machine
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ROWS)
def test_wrong_in_one_size_class(
    name: str, seed: int, uml: Machine, kernel: Kernel, tmp_path: Path
) -> None:
    built = stage_module.build(faulty(name, tmp_path), kernel)
    result = verify.verify(built, uml, seed, False, lambda _step: None)
    wrong = [failure for failure in result.failures if failure.test in ("abi", "value")]
    assert wrong, f"nothing was found with seed {seed}"
    # The largest n is read among the system calls, too.
    assert wrong[0].first_difference is not None
    if wrong[0].n is not None:
        assert wrong[0].expected == expected_values.digits(wrong[0].n)
