# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Every mutant is caught, for the right reason, and leaves nothing behind."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from grader.base import paths, toml
from grader.exercise.build import stage_module
from grader.exercise.conformance import verify
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.lab.machines import Machine
from grader.lab.module import Kernel
from grader.verdict import status

MUTANTS = paths.ROOT / "tests/mutants"
EXPECTED = toml.read(MUTANTS / "expected.toml")
FOUND = {stage.key: stage for stage in stages.find(MUTANTS)}


def test_table_is_complete() -> None:
    assert sorted(EXPECTED) == sorted(FOUND)


@pytest.mark.parametrize("stage", FOUND.values(), ids=FOUND.keys())
def test_fault_is_named(stage: Stage) -> None:
    """A one-line comment says what is wrong, in the file that is."""
    faulty = stage.directory / ("driver.c" if stage.own_driver else "fib.c")
    assert re.match(r"/\* Mutant: .+ \*/$", faulty.read_text().splitlines()[1])


@pytest.mark.machine
@pytest.mark.parametrize("stage", FOUND.values(), ids=FOUND.keys())
def test_mutant(
    stage: Stage,
    uml: Machine,
    kernel: Kernel,
    booted: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    want = EXPECTED[stage.key]
    # Enough for stages as small as these; a machine that hangs is not waited for longer.
    monkeypatch.setattr(verify, "CALL_TIMEOUT", 2.0)
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    built = stage_module.build(stage, kernel)
    result = verify.verify(built, uml, seed=1, quick=True, tell=lambda step: None)

    statuses = [want["status"]] if isinstance(want["status"], str) else want["status"]
    stands = status.of_verified(result)
    assert stands.name in statuses, stands.cause
    assert re.search(want["cause"], stands.cause), stands.cause
    # Of the tests that failed, the first is the cause; steps that end it all are no tests.
    failed = [failure.test for failure in result.failures]
    if want["test"] in ("abi", "value", "contract", "log"):
        assert failed[0] == want["test"]
    elif want["test"] in ("build", "sanitize"):
        assert not failed
    assert len(booted) == (0 if want["test"] == "build" else 1)
    # Its build files, if any, have not run.
    assert not list(tmp_path.glob("*-ran"))
    assert all("build files count" in note for note in built.left_out)


def test_own_build_file_would_make_it_right() -> None:
    """The build files that are left out would run, and change the answers, if they were used."""
    stage = FOUND["1-own-build-file"]
    names = {path.name for path in stage.directory.iterdir()}
    assert {"Makefile", "Kbuild"} <= names
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["make", "-f", str(stage.directory / "Makefile"), "-p"],
            env={"PATH": "/usr/bin:/bin", "TMPDIR": folder},
            capture_output=True,
        )
        assert (Path(folder) / "own-build-file-ran").exists()
    warnings: list[str] = []
    assert [path.name for path in stage_module.sources(stage, warnings)] == ["fib.c"]
    assert len(warnings) == 2


def test_read_past_the_top_limb_is_seen(tmp_path: Path) -> None:
    """What only AddressSanitizer sees: the user-space build of the mutant."""
    stage = FOUND["3-reads-past-top"]
    copy = tmp_path / stage.key
    shutil.copytree(stage.directory, copy)
    kit = stages.find(paths.STAGES, [stage.number])[0]
    shutil.copy(kit.directory / "exercise.toml", copy)
    subprocess.run(
        ["make", "-s", "-C", str(paths.COMMON / "userspace"), f"STAGE_DIR={copy}", "FLAVOUR=asan",
         f"OUT={tmp_path / 'out'}"],
        check=True,
    )  # fmt: skip
    run = subprocess.run([str(tmp_path / "out/fib"), "fib", "100"], capture_output=True, text=True)
    assert run.returncode != 0
    assert "heap-buffer-overflow" in run.stderr
    assert re.search(r"#0 .* in fib_decimal .*3-reads-past-top/fib\.c:\d+", run.stderr), run.stderr
