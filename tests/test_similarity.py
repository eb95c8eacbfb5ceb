# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that similar submissions are found, and that code of the skeleton is not compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.base.progress import Progress
from grader.classroom import similarity, submissions
from grader.course import skeleton
from grader.exercise.files import exercises
from tests import class_submissions
from tests.sandbox_calls import needs_sandbox


@needs_sandbox
@pytest.mark.long  # This test installs its own Python environment.
def test_a_copy_is_found_with_other_names(tmp_path: Path) -> None:
    reference = class_submissions.reference(tmp_path / "anna", 5)
    copy = class_submissions.reference(tmp_path / "$(bob)", 5)
    text = (copy / "bignum.c").read_text()
    (copy / "bignum.c").write_text(text.replace("carry", "c1").replace("limb", "word"))
    for name in ("carol", "dave"):
        skeleton.write(5, tmp_path / name)
    (tmp_path / "eve.zip").write_bytes(b"no archive")
    (tmp_path / "eve.zip").chmod(0o600)
    assert reference.is_dir()
    found, _ = submissions.find(tmp_path)
    pairs = similarity.pairs(found, exercises.find(5), Progress())
    assert [(pair.one, pair.other) for pair in pairs] == [("$(bob)", "anna")]
    assert min(pairs[0].of_one, pairs[0].of_other) > 90
