# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that each patch of the handouts applies to the sources, without running its experiment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from grader.base import paths

PATCHES = sorted((paths.ROOT / "handouts").rglob("*.patch"))


def patched_directory(patch: Path) -> Path:
    """Return the directory that a patch is applied to. For an experiment, this is the stage."""
    if patch.parent.name != "experiments":
        return paths.ROOT
    (stage,) = paths.ROOT.glob(f"stages/{patch.name.split('-')[0]}-*")
    return stage


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_patch_applies(patch: Path) -> None:
    call = ["busybox", "patch", "--dry-run", "-p1", "-i", str(patch)]
    completed = subprocess.run(
        call, cwd=patched_directory(patch), capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "fuzz" not in completed.stdout
