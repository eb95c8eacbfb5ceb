# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that the kit's own stages pass every check that faulty stages fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.exercise.build import stage_module
from grader.exercise.conformance import test_inputs, verify
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.lab.machines import Machine
from grader.lab.module import Kernel

# A student repository tests all objects that replace the reference's sources. The kit itself tests
# one stage, because test_course.py verifies all of them.
NUMBERS = sorted(stages.manifests()) if stages.exported() else [3]
FOUND = {stage.key: stage for stage in map(stages.kit, NUMBERS)}


@pytest.mark.once
@pytest.mark.machine
@pytest.mark.parametrize("stage", FOUND.values(), ids=FOUND.keys())
def test_stage(stage: Stage, uml: Machine, kernel: Kernel, booted: list[Path]) -> None:
    built = stage_module.build(stage, kernel)
    assert built.ok, built.cause
    assert not built.excluded
    steps: list[str] = []
    result = verify.verify(built, uml, seed=1, quick=True, tell=steps.append)
    assert (result.findings, result.failures) == ((), ())
    assert set(result.tests) >= {"contract", "abi", "value", "load", "log"}
    assert result.tests["value"].passed >= min(stage.manifest.max_n, test_inputs.EVERY_N_TO) + 1
    assert len(booted) == 1 and len(steps) == len(set(steps))
