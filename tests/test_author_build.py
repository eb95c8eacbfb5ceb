# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the build for a stage's author: with traces, and with warnings about unset variables."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from grader.base import paths
from grader.exercise.build import stage_module
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.exercise.operations import test_program
from grader.exercise.static_contract import stage_contract
from grader.lab.module import Kernel

# This is a complete stage 1, because a student repository contains no solution. Its digits are
# correct up to F(6).
SOURCE = """\
#include "stage.h"

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	u64 a = 0, b = 1;

	while (n--) {
		a += b;
		TRACE
		swap(a, b);
	}
	f->word = a;
	return 0;
}

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f, char *digits, size_t size)
{
	if (!size)
		return -ERANGE;
	digits[0] = '0' + f->word;
	return 1;
}

size_t fib_limbs(const union fib_value *f)
{
	return 1;
}

void fib_release(union fib_value *f)
{
}
"""
TRACE = 'fib_trace("n = %llu, sum = %llu", n, a);'


def stage(folder: Path, text: str) -> Stage:
    directory = folder / "1-traced"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "fib.c").write_text(text)
    manifest = next(paths.STAGES.glob("1-*")) / "exercise.toml"
    shutil.copy(manifest, directory)
    return stages.single(directory, "1-traced", 1)


def code(built: stage_module.BuiltStage) -> bytes:
    """Return the machine code of a stage's object."""
    assert built.ok, built.cause
    (made,) = stage_module.stage_objects(built)
    bare = made.with_suffix(".bare")
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", made, bare], check=True)
    return bare.read_bytes()


def test_graded_it_is_nothing(tmp_path: Path, kernel: Kernel) -> None:
    traced = stage(tmp_path, SOURCE.replace("TRACE", TRACE))
    graded = stage_module.build(traced, kernel)
    assert graded.violations == ()
    with_it = code(graded)
    (made,) = stage_module.stage_objects(graded)
    assert b"sum =" not in made.read_bytes()
    assert ("U", "fib_trace_print") not in stage_contract.symbols(made)
    test_program.program(traced)  # This call raises LabError on a contract violation.
    # A build with traces is separate, so the next graded build is unchanged.
    stage_module.build(traced, kernel, trace=True)
    (made,) = stage_module.stage_objects(stage_module.build(traced, kernel, trace=True))
    assert ("U", "fib_trace_print") in stage_contract.symbols(made)
    assert code(stage_module.build(traced, kernel)) == with_it
    assert code(stage_module.build(stage(tmp_path, SOURCE.replace("TRACE", "")), kernel)) == with_it


def test_who_turns_it_on_in_the_source_breaks_the_contract(tmp_path: Path, kernel: Kernel) -> None:
    text = "#define FIB_TRACE\n" + SOURCE.replace("TRACE", TRACE)
    violation = stage_module.build(stage(tmp_path, text), kernel).violations[0]
    assert violation.got == "a use of fib_trace_print in fib_compute (fib.c:6)"
    assert "use fib_trace of stage.h" in violation.expected


@pytest.mark.parametrize(("traces", "lines"), [("1", ["fib: n = 0, sum = 1"]), ("", [])])
def test_a_program_prints_to_standard_error(tmp_path: Path, traces: str, lines: list[str]) -> None:
    made = stage(tmp_path, SOURCE.replace("TRACE", TRACE))
    for wanted in ("1", "", traces):  # switching TRACE rebuilds the program
        subprocess.run(
            ["make", "-s", "-C", str(paths.COMMON / "userspace"), f"STAGE_DIR={made.directory}",
             f"OUT={tmp_path}/out", f"TRACE={wanted}"],
            check=True,
            env={k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))},
        )  # fmt: skip
    completed = subprocess.run([tmp_path / "out/fib", "fib", "1"], capture_output=True, text=True)
    assert (completed.stdout, completed.stderr.splitlines()) == ("1 1\n", lines)


def test_a_variable_that_is_not_set_is_named(tmp_path: Path, kernel: Kernel) -> None:
    text = SOURCE.replace("0, b = 1;", "0, b = 1, carry;").replace("a += b;", "a += b + carry;")
    text = text.replace("TRACE", "carry = a >> 63;")
    (warning,) = stage_module.build(stage(tmp_path, text), kernel).module.warnings
    assert "/1-traced/fib.c:" in warning
    assert re.search(r"warning: .carry. may be used uninitialized", warning)
