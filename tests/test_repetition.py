# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that `check` names the caller of a failed allocation and prints a command to repeat it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.base import paths
from grader.base.finding import Fault
from grader.exercise.contract_tests import runner
from grader.exercise.files import stages
from grader.exercise.operations import sanitizer_report
from grader.lab import machines
from grader.scoring import pipeline

SQUARED = """	b2 = bn_square(b);
	if (IS_ERR(b2)) {
		d = b2;
		goto free_a2;
	}
"""
# Each entry has a text of fib.c, its replacement, and the error message for this mistake.
MISTAKES = {
    "not looked at": (
        SQUARED,
        "	b2 = bn_square(b);\n",
        r"F\(\d+\): when allocation \d+ of \d+ was made to fail in bn_\w+ \(bignum\.c:\d+\), called"
        r" from bn_\w+ \(bignum\.c:\d+\), ERR_PTR\(-12\) is followed in bn_add \(bignum\.c:\d+\),"
        r" called from fib_odd \(fib\.c:\d+\)",
    ),
    "not released": (
        "goto free_twice;",
        "return c;",
        r"F\(\d+\): when allocation \d+ of \d+ was made to fail in bn_sub \(bignum\.c:\d+\), called"
        r" from fib_even \(fib\.c:\d+\), \d+ bytes in 2 blocks are left",
    ),
}


@pytest.mark.once
@pytest.mark.machine
@pytest.mark.parametrize(
    "mistake", ["not looked at", pytest.param("not released", marks=pytest.mark.long)]
)
def test_the_command_that_check_prints_repeats_what_it_found(mistake: str, tmp_path: Path) -> None:
    right, wrong, said = MISTAKES[mistake]
    copy = tmp_path / "3-bignum-u32"
    shutil.copytree(stages.directory_of(3), copy)
    text = (copy / "fib.c").read_text()
    assert right in text
    (copy / "fib.c").write_text(text.replace(right, wrong))
    stage = stages.single(copy, copy.name, 3)
    checked = pipeline.check_stage(stage, machines.get("uml"), 1, lambda _: None)
    line = pipeline.judge(checked).lines[-1]
    assert line.name == "device" and not line.full
    found = re.search(
        rf"{said}; (make stage=3 sanitize n=(\d+) fail=(\d+)) repeats it", line.remark
    )
    assert found, line.remark
    assert line.repeat == found[1]
    # Run the command that make would run, for this copy and for the stage without the mistake.
    call = [sys.executable, paths.COMMON / "userspace/check.py", "sanitize"]
    call += ["--n", found[2], "--fail", found[3]]
    completed = subprocess.run([*call, copy], capture_output=True, text=True, cwd=paths.ROOT)
    again = said.replace(r" of \d+ was made", " was made")
    assert completed.returncode == 1 and re.search(again, completed.stdout), (
        completed.stdout + completed.stderr
    )
    kit = subprocess.run([*call, stages.directory_of(3)], capture_output=True, cwd=paths.ROOT)
    assert kit.returncode == 0, kit.stdout


def test_a_log_names_what_failed_when_the_kernel_panicked() -> None:
    panic = "[    3.1] Kernel panic - not syncing: Kernel mode fault at addr 0x10, ip 0x60\n"
    last = "<0>[    3.1] fibcontract: F(1000) with a failed allocation, 5 of 123\n"
    assert runner.last_fault(panic + last) == Fault(1000, "fail", 5, 123)
    killed = last.replace("with a failed allocation, 5", "when killed at yield 6")
    assert runner.last_fault(panic + killed) == Fault(1000, "kill", 6, 123)
    assert runner.last_fault(panic) is None


@pytest.mark.parametrize(
    ("said", "meaning"),
    {
        "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x08 (pc": "a null pointer",
        "a.c:1:2: runtime error: member access within null pointer of type": "a null pointer",
        "runtime error: load of misaligned address 0xfffffffffffffff4 for type": "ERR_PTR(-12)",
        "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x7f000010 (pc": "a bad pointer",
    }.items(),
)
def test_a_pointer_that_is_followed_is_told_by_its_address(said: str, meaning: str) -> None:
    assert sanitizer_report.bad_pointer(said) == f"{meaning} is followed"


def test_what_is_no_pointer_is_none() -> None:
    assert not sanitizer_report.bad_pointer("runtime error: shift exponent 64 is too large")
