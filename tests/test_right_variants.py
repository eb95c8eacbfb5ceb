# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that other right solutions than the kit's earn all points of all tasks and of the device.

tests/right/ has one patch of a stage for each solution. Those named "another author" change each
task of the stage. The others change a detail, and lost points once.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from grader.base import scratch
from grader.exercise.files import stages
from grader.lab import machines
from grader.scoring import pipeline

pytestmark = [pytest.mark.sampled, pytest.mark.once, pytest.mark.machine]

PATCHES = sorted((Path(__file__).parent / "right").glob("*.patch"))


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.stem)
def test_it_earns_all_points(patch: Path, tmp_path: Path) -> None:
    number = int(patch.name.split("-")[0])
    kit = stages.kit(number).directory
    directory = tmp_path / kit.name
    shutil.copytree(kit, directory)
    subprocess.run(["git", "apply", patch], cwd=directory, check=True)
    stage = stages.single(directory, directory.name, number)
    try:
        checked = pipeline.check_stage(stage, machines.get("uml"), 7, lambda _: None)
    finally:
        scratch.remove_all()
    lines = pipeline.judge(checked).lines
    assert lines[-1].name == "device"
    assert all(line.full for line in lines), [line.remark for line in lines]
