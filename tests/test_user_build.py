# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test stages built as programs, and that make memcheck and make sanitize find planted faults."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import catalogue
import pytest
from catalogue import Fault

from grader.base import paths
from grader.exercise.files import expected_values

USER = paths.COMMON / "userspace"
STAGES = sorted(paths.STAGES.glob("[0-9]*-*"))
LONG = os.environ.get("LAB_TESTS") == "long"
# The short form runs only some stages, because the operand tests run all with sanitizers.
SANITIZED = STAGES if LONG else [stage for stage in STAGES if stage.name[0] in "157"]


def stage_directory(number: int) -> Path:
    (directory,) = paths.STAGES.glob(f"{number}-*")
    return directory


def check(what: str, stage: Path, build: Path = paths.BUILD) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(USER / "check.py"), what, str(stage)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "LAB_BUILD": str(build)},
    )


def make(out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-s", "-C", str(USER), f"OUT={out}", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "MAKEFLAGS": ""},
    )


def fib(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), *words], capture_output=True, text=True, timeout=300)


@pytest.mark.once
@pytest.mark.parametrize("stage", SANITIZED, ids=lambda stage: stage.name)
def test_sanitize_passes(stage: Path) -> None:
    completed = check("sanitize", stage)
    assert completed.returncode == 0, completed.stdout[-2000:]
    assert "nothing found" in completed.stdout.splitlines()[-1]


@pytest.mark.once
def test_memcheck_passes() -> None:
    completed = check("memcheck", stage_directory(7))
    assert completed.returncode == 0, completed.stdout[-2000:]
    assert "no byte lost" in completed.stdout.splitlines()[-1]


FAULTS = catalogue.found_by("user build")


def stage_with(fault: Fault, folder: Path) -> Path:
    copy = catalogue.plant(fault, folder)
    return copy.rename(copy.with_name(f"5-{fault.name}"))


@pytest.mark.sampled
@pytest.mark.once
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_sanitize_finds(fault: Fault, tmp_path: Path) -> None:
    completed = check("sanitize", stage_with(fault, tmp_path), tmp_path / "build")
    print(completed.stdout)
    assert completed.returncode == 1
    assert "1 of 1 wrong" in completed.stdout.splitlines()[-1]


MEMCHECK = [fault for fault in FAULTS if fault.options.get("memcheck")]


@pytest.mark.once
@pytest.mark.parametrize("fault", MEMCHECK, ids=lambda fault: fault.name)
def test_memcheck_finds(fault: Fault, tmp_path: Path) -> None:
    completed = check("memcheck", stage_with(fault, tmp_path), tmp_path / "build")
    print(completed.stdout)
    assert completed.returncode == 1
    assert "1 of 1 wrong" in completed.stdout.splitlines()[-1]


def test_check_says_what_it_cannot_do(tmp_path: Path) -> None:
    for words in (["memcheck"], ["polish", "stages/1-iterative-u64"], ["sanitize", str(tmp_path)]):
        completed = subprocess.run(
            [sys.executable, str(USER / "check.py"), *words], capture_output=True, text=True
        )
        assert completed.returncode == 2
        assert len(completed.stderr.splitlines()) == 1


def test_the_program(tmp_path: Path) -> None:
    stage = stage_directory(5)
    assert make(tmp_path, f"STAGE_DIR={stage}").returncode == 0
    program = tmp_path / "fib"

    completed = fib(program, "fib", "1000", "9-11", "100000")
    expected = [f"{n} {expected_values.digits(n)}" for n in (1000, 9, 10, 11, 100000)]
    assert (completed.returncode, completed.stdout.splitlines()) == (0, expected)

    assert fib(program, "max_n").stdout == "100000\n"
    completed = fib(program, "time", "3", "1000")
    assert completed.returncode == 0
    assert "29 allocations" in completed.stdout
    assert fib(program, "profile", "3", "1000").returncode == 0

    for words in (
        ["fib", "100001"],
        ["fib", "-1"],
        ["fib", "7x"],
        ["fib", "1-2-3"],
        ["fib", "99999999999999999999"],
        ["fail", "0", "100"],
    ):
        completed = fib(program, *words)
        assert completed.returncode == 2
        assert len(completed.stderr.splitlines()) == 1
    for words in ([], ["fib"], ["polish", "3"], ["time", "3"]):
        assert fib(program, *words).returncode == 2


def test_make_says_what_is_missing(tmp_path: Path) -> None:
    stage = f"STAGE_DIR={stage_directory(3)}"
    for words in ([], [stage, "FLAVOUR=polished"], [f"STAGE_DIR={tmp_path}"]):
        completed = make(tmp_path / "out", *words)
        assert completed.returncode != 0
        assert not (tmp_path / "out").exists()


def test_assembly_and_its_twin_differ(tmp_path: Path) -> None:
    """The plain C version of stage 6 contains no inline assembly."""
    source = next(stage_directory(6).glob("bignum.c"))
    texts = {}
    for flag in ("-DFIB_ASM", "-DFIB_NO_ASM"):
        includes = [f"-I{paths.COMMON}", f"-I{USER}"]
        texts[flag] = subprocess.run(
            ["cc", "-O2", "-S", "-o", "-", flag, *includes, str(source)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert "#APP" in texts["-DFIB_ASM"]
    assert "#APP" not in texts["-DFIB_NO_ASM"]
    # Neither version may call helper functions for division, which the kernel lacks.
    assert not any("__udiv" in text or "__umod" in text for text in texts.values())
