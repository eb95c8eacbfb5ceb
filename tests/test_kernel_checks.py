# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that the kernel's own checkers find planted faults, and that each exception is needed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from grader.base import paths, toml
from grader.tools import kernel_checks
from grader.tools.kernel_checks import ToolFinding

FAULTY = """// SPDX-License-Identifier: GPL-2.0
void f(void *p)
{
	if (p)
		kfree(p);
	if (!p) {
		return;
	}
}
"""


@pytest.fixture(scope="module")
def source() -> Path:
    completed = subprocess.run([paths.SCRIPTS / "kernel-checks.sh"], capture_output=True, text=True)
    if completed.returncode:
        pytest.skip(completed.stderr.strip())
    return Path(completed.stdout.strip())


def test_checkpatch_finds_braces(source: Path, tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(FAULTY)
    found = list(kernel_checks.checkpatch(source, tmp_path, ["f.c"]))
    assert ("f.c", "6", "BRACES") in [(x.path, x.line, x.type) for x in found]


@pytest.mark.skipif(shutil.which("spatch") is None, reason="coccinelle is not installed")
def test_coccinelle_finds_a_needless_test(source: Path, tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(FAULTY)
    every = [path.stem for path in (source / "scripts/coccinelle").rglob("*.cocci")]
    others = [name for name in every if name != "ifnullfree"]
    found = kernel_checks.coccinelle(source, tmp_path, others)
    assert [(x.path, x.line, x.type) for x in found] == [("f.c", "5", "ifnullfree")]


def test_only_exceptions_that_are_needed() -> None:
    config = {"exception": [{"types": ["BRACES"], "files": ["a/*"], "reason": "shown"}]}
    needed, other = ToolFinding("a/f.c", "6", "BRACES", "x"), ToolFinding("b.c", "1", "BRACES", "x")
    names = ["a/f.c", "b.c"]
    assert kernel_checks.unexpected([needed], config, names) == []
    assert kernel_checks.unexpected([needed, other], config, names) == ["b.c:1: BRACES: x"]
    (said,) = kernel_checks.unexpected([], config, names)
    assert "nothing needs the exception" in said


def test_an_exception_for_a_deleted_exercise_is_no_fault() -> None:
    config = {"exception": [{"types": ["BRACES"], "files": ["a/*"], "reason": "shown"}]}
    assert kernel_checks.unexpected([], config, ["b.c"]) == []


def test_every_exception_has_a_reason() -> None:
    config = toml.read(kernel_checks.CONFIG)
    assert all(exception["reason"].endswith(".") for exception in config["exception"])
    names = kernel_checks.files(config)
    assert "common/driver.c" in names
    assert "stages/0-first-module/driver.c" in names
    assert "stages/3-bignum-u32/bignum.c" in names
