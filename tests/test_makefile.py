# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the Makefile: its own messages, and the order of targets in its help."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from grader.base import paths
from grader.exercise.files import stages


def make(folder: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the Makefile in a folder where every called program exits with this status."""
    shutil.copy(paths.ROOT / "Makefile", folder)
    (folder / "stages" / "1-one").mkdir(parents=True, exist_ok=True)
    (folder / "scripts").mkdir(exist_ok=True)
    for name, text in (
        ("setup.sh", "exit 0"),
        ("first-run.sh", "exit 0"),
        ("python.sh", f'echo "$*" "in=$LAB_WORK"; exit {status}'),
    ):
        script = folder / "scripts" / name
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *words], cwd=folder, capture_output=True, text=True, env=environment
    )


@pytest.mark.parametrize("verb", ["check", "debug", "memcheck", "sanitize"])
def test_a_verdict_has_the_last_word(verb: str, tmp_path: Path) -> None:
    (tmp_path / "work" / "1-one").mkdir(parents=True)
    # Set stage_dirs, because make would call python.sh, which fails here, to find the directories.
    wrong = make(tmp_path, "stage=1", verb, "stage_dirs=work/1-one", status=1)
    assert (wrong.returncode, wrong.stderr) == (1, "")
    assert verb in wrong.stdout
    right = make(tmp_path, "stage=1", verb, "stage_dirs=work/1-one")
    assert (right.returncode, right.stderr, right.stdout) == (0, "", wrong.stdout)
    # A command that could not be run exits with 2, and make adds its own error line.
    undone = make(tmp_path, "stage=1", verb, "stage_dirs=work/1-one", status=2)
    assert undone.returncode == 2
    assert undone.stderr.endswith("Error 2\n")


def test_without_doing_anything_it_says_what_it_would_do(tmp_path: Path) -> None:
    (tmp_path / "work" / "1-one").mkdir(parents=True)
    said = make(tmp_path, "-n", "stage=1", "check", status=1)
    assert said.returncode == 0
    assert "check --exercise '1'" in said.stdout
    assert "PYTHONPATH" in said.stdout  # make prints the command without running it


def test_help_begins_with_what_a_learner_begins_with(tmp_path: Path) -> None:
    said = make(tmp_path, "help").stdout.splitlines()
    verbs = [line.split()[0] for line in said if line.startswith("  ")]
    assert verbs[:3] == ["start", "check", "hint"]
    assert len(verbs) == len(set(verbs)) + (0 if stages.exported() else 1)  # help lists book twice
    assert any("instructor=1" in line for line in said) != stages.exported()
    assert "make stage=0 start" in said[-1]


def test_copies_elsewhere_are_meant_where_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "build" / "try" / "1-one").mkdir(parents=True)
    said = make(tmp_path, "work=build/try", "stage=1", "check").stdout
    assert "grader.course.commands check" in said
    assert "in=build/try" in said
    assert "in=build/try" in make(tmp_path, "work=build/try", "stage=1", "start").stdout
    # Without work= there is no copy in this folder, so the kit's stage is checked.
    assert "grader.course" not in make(tmp_path, "-n", "stage=1", "check").stdout
