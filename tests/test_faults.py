# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the catalogue: each planted fault applies to its sources, and its check finds it."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import catalogue
import fault_finders
import pytest
from catalogue import Fault
from fault_finders import FINDERS

from grader.base import paths, scratch
from grader.base.finding import Code
from grader.exercise.build import stage_module
from grader.exercise.conformance import test_inputs, verify
from grader.exercise.driver import concurrency

FAULTS = catalogue.all_faults()
WITHOUT_MACHINE = {"operation", "objects"}
MINUTES = {"debug": 900, "trial": 900, "elective task": 900, "random calls at once": 900}
# The order in which several callers run differs between runs, so these checks always run.
SEVERAL_CALLERS = {"random calls at once", "trial"}


def parameter(fault: Fault) -> pytest.param:
    marks = [pytest.mark.sampled, pytest.mark.timeout(MINUTES.get(fault.by, 600))]
    if not (fault.by in SEVERAL_CALLERS or fault.options.get("task") in concurrency.TESTS):
        marks.append(pytest.mark.once)
    if fault.by not in WITHOUT_MACHINE:
        marks.append(pytest.mark.machine)
    if fault.options.get("long"):
        marks.append(pytest.mark.long)
    return pytest.param(fault, id=fault.title, marks=marks)


@pytest.fixture(scope="module", autouse=True)
def machines_end() -> Iterator[None]:
    """End the shared machines after the last test. Fail if one booted more often than used."""
    yield
    for machine in fault_finders.end_machines():
        print(f"{machine.machine.name}: {machine.uses} uses, {machine.boots} boots")
        assert machine.boots <= machine.uses
    scratch.remove_all()


def test_names_and_finders() -> None:
    twice = [key for key, n in Counter((f.title, f.by) for f in FAULTS).items() if n > 1]
    assert not twice
    assert {fault.by for fault in FAULTS} <= {*FINDERS, *fault_finders.ELSEWHERE}
    codes = {code for fault in FAULTS for code in fault.codes}
    assert codes <= {code.value for code in Code}
    tests = Path(__file__).parent
    assert all((tests / name).is_file() for name in fault_finders.ELSEWHERE.values())


def test_the_planted_cases_of_the_threat_model_exist() -> None:
    """Each case is the name of a fault, of a test, of a file of tests, or a value of `by`."""
    text = (paths.ROOT / "handouts/instructor.md").read_text()
    table = text.partition("| planted case |\n")[2].partition("\n\n")[0].splitlines()[1:]
    files = [path for path in Path(__file__).parent.rglob("*") if path.suffix in (".py", ".c")]
    tests = re.findall(r"^def (test_\w+)", "\n".join(map(Path.read_text, files)), re.M)
    known = {*(fault.name for fault in FAULTS), *(fault.by for fault in FAULTS), *tests}
    cases = {case for row in table for case in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1])}
    names = {file.name for file in (*files, *(Path(__file__).parent / "faults").iterdir())}
    assert {case for case in cases - known if Path(case).name not in names} == set()
    assert len(cases) > 40


@pytest.mark.once
@pytest.mark.parametrize("exercise", sorted({fault.exercise for fault in FAULTS}))
def test_each_applies_to_the_sources(exercise: str) -> None:
    for fault in (one for one in FAULTS if one.exercise == exercise):
        for number in fault.stages or (None,):
            found = catalogue.texts(fault, number)
            for file, text in found.items():
                new = any(not c.old and c.file == file for c in fault.changes)
                assert new or text != catalogue.source(fault, file, number), fault.name
        re.compile(catalogue.expected_text(fault))


@pytest.mark.parametrize("fault", [parameter(fault) for fault in FAULTS if fault.by in FINDERS])
def test_it_is_found(fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault.by != "debug":
        monkeypatch.setattr(verify, "CALL_TIMEOUT", fault_finders.CALL_TIMEOUT)
    else:  # `make debug` finds its faults with any n.
        monkeypatch.setattr(test_inputs, "EVERY_N_TO", 50)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "files"))
    (tmp_path / "files").mkdir()
    (tmp_path / "copy").mkdir()
    found = FINDERS[fault.by](fault, tmp_path / "copy")
    print(found)
    if fault.codes:
        assert found.code in fault.codes, found
    assert found.text
    assert re.search(catalogue.expected_text(fault), found.text, re.MULTILINE), found
    assert fault.options.get("test", found.test) == found.test
    if found.code == Code.BUILD_FAILED:
        assert not found.booted
    # Check that no build file of a submission was run.
    assert not list((tmp_path / "files").glob("*-ran"))


@pytest.mark.machine
def test_random_calls_find_faults_of_verification(tmp_path: Path) -> None:
    for fault in (one for one in FAULTS if "random" in one.options):
        found = fault_finders.random_calls(fault, tmp_path)
        assert re.search(f"^wrong: {fault.options['random']}", found.text, re.MULTILINE), found
        for copy in tmp_path.iterdir():
            copy.rename(tmp_path.with_name(f"{tmp_path.name}-{fault.name}"))


@pytest.mark.machine
def test_user_memory_is_out_of_reach(tmp_path: Path) -> None:
    """The kernel of the verifying machine blocks direct access to user memory (SMAP)."""
    machine = fault_finders.shared("qemu-smp")
    stage = catalogue.stage(catalogue.named(1, "touches-user-memory"), tmp_path)
    built = stage_module.build(stage, machine.kernel())
    found = verify.verify(built, machine, 1, True, lambda _: None).findings
    assert found[0].code == Code.CRASHED
    assert re.search(r"direct_copy, .*/driver\.c", found[0].cause)


def test_own_build_files_would_make_it_right(tmp_path: Path) -> None:
    """The build files of a submission would change the answers if the grader used them."""
    stage = catalogue.stage(catalogue.named(1, "own-build-file"), tmp_path)
    (tmp_path / "ran").mkdir()
    subprocess.run(
        ["make", "-f", str(stage.directory / "Makefile"), "-p"],
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path / "ran")},
        capture_output=True,
    )
    assert (tmp_path / "ran/own-build-file-ran").exists()
    excluded: list[str] = []
    assert [path.name for path in stage_module.sources(stage, excluded)] == ["decimal.c", "fib.c"]
    assert len(excluded) == 2
