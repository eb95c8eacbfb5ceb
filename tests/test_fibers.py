# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the elective fibers: run the programs in electives/fibers on every machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import catalogue
import pytest

from electives.fibers import build, runner, verbs
from electives.fibers.runner import FiberTest
from grader.base import scratch, test_record
from grader.base.errors import LabError
from grader.lab.module import Kernel

EXERCISE = "fibers"

pytestmark = [pytest.mark.machine, pytest.mark.timeout(900)]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    scratch.remove_all()


def short(name: str) -> tuple[FiberTest, ...]:
    """Return the machine's test cases, without the slow ones."""
    dear = {
        "uml": {runner.TIMER, runner.MOST, runner.KILL},
        "uml-debug": {
            runner.TIMER,
            runner.MOST,
            runner.KILL,
            runner.MANY,
            runner.ERRORS,
            runner.DYING,
        },
        "qemu-smp": {runner.TIMER, runner.MOST, runner.KILL},
        "wide": {runner.TIMER, runner.STRESS_FEW},
    }
    return tuple(one for one in runner.ALL[name] if one not in dear.get(name, set()))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("uml", "qemu-smp") else pytest.mark.long)
        for name in runner.ALL
    ],
)
def test_on_every_machine(name: str) -> None:
    """Each test case passes and leaks nothing; the log is clean; the module can be unloaded."""
    found = runner.attempt(name, short(name))
    assert {one.title: wrong for one, wrong in found.items() if wrong} == {}
    assert set(found) == set(short(name))


@pytest.mark.long
@pytest.mark.parametrize("name", runner.ALL)
def test_long(name: str) -> None:
    """All test cases pass, with a minute of stress test and 300 killed processes."""
    more = (*runner.ALL[name], *runner.LONG.get(name, ()))
    assert {k.title: v for k, v in runner.attempt(name, more).items() if v} == {}


@pytest.mark.parametrize("name", ["use_after_free", pytest.param("leak", marks=pytest.mark.long)])
def test_a_fault_that_is_planted_is_found(name: str) -> None:
    trial, word = runner.PLANTED[name]
    assert word in runner.attempt(name, [trial])[trial]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("basic", ["there-and-back", "thread", "moves", "signal", "windows"]),
        ("storage", []),
        ("stress", ["2", "3", "1000"]),
        ("stress", ["8", "1000", "1000"]),
    ],
)
def test_the_library_without_a_kernel(tmp_path: Path, program: str, words: list[str]) -> None:
    """The same programs test the library as an ordinary program, without the module."""
    output = tmp_path / program
    subprocess.run(
        ["gcc", "-std=gnu11", "-O2", "-Wall", "-pthread", "-DFIBERS_USERSPACE", "-o", output,
         f"-I{build.SOURCES}", f"-I{build.USER}", f"-I{test_record.INCLUDE}",
         build.TEST_PROGRAMS / f"{program}.c"],
        check=True,
    )  # fmt: skip
    completed = subprocess.run([output, *words], capture_output=True, text=True, timeout=60)
    assert (completed.returncode, completed.stderr) == (0, ""), completed.stdout


def test_a_processor_that_is_not_known() -> None:
    kernel = Kernel("key", build.HERE, "arm64", "6.1", "gcc")
    with pytest.raises(LabError, match="registers of x86 and of user-mode Linux, not of arm"):
        build.built(kernel)


@pytest.mark.parametrize("machine", ["wide", "poison"])
def test_a_class_is_graded_on_the_machine_that_finds_it(machine: str) -> None:
    tried = {trial for task in verbs.IN_QEMU.values() for name, them in task if name == machine
             for trial in them}  # fmt: skip
    needed = {
        getattr(runner, fault.options["trial"])
        for fault in catalogue.found_by("trial")
        if fault.options["machine"] == machine
    }
    assert needed and needed <= tried
