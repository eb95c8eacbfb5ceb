# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test stage 0 in the commands run, class, debug, load and compare, and in an exported course."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import catalogue
import pytest
from test_export import call

from grader import debug
from grader.base import paths, scratch
from grader.base.errors import LabError
from grader.base.finding import Code
from grader.course import check, commands, learner_copy, results, skeleton
from grader.exercise.build import stage_module
from grader.exercise.driver import stress as driver_stress
from grader.exercise.files import exercises, stages, tasks
from grader.exercise.stress import debug_kernel
from grader.lab import machines
from grader.report import schema
from grader.scoring import points
from tests.sandbox_calls import needs_sandbox

pytestmark = [pytest.mark.timeout(1200)]
NAME = "0-first-module"
POINTS = [task.points for task in tasks.course(0).tasks]


@pytest.fixture
def place() -> Iterator[Path]:
    """Yield a temporary folder with a short path, since machines keep sockets in the folder."""
    folder = Path(tempfile.mkdtemp(prefix="t"))
    # The folder needs the same name in each run; see tmp_path in conftest.py.
    (folder / "t").mkdir()
    yield folder / "t"
    shutil.rmtree(folder)
    scratch.remove_all()


def with_fault(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return catalogue.plant(catalogue.named(0, name), folder)


def test_all_of_the_kit_s_stages_are_those_of_arithmetic(place: Path) -> None:
    """A run without arguments leaves out stage 0 of the kit; a submitted stage 0 is graded."""
    assert 0 not in [stage.number for stage in stages.find(paths.STAGES)]
    assert [stage.number for stage in stages.find(paths.STAGES, [0, 1])] == [0, 1]
    assert 0 in stages.known()
    assert 0 not in stages.manifests()
    shutil.copytree(paths.STAGES / NAME, place / NAME)
    assert [stage.number for stage in stages.find(place)] == [0]


@pytest.mark.parametrize(
    "words",
    [
        ("grader/compare.sh", f"stages/{NAME}", f"stages/{NAME}"),
        ("make", "ref=1", "stage=0", "profile"),
        ("make", "ref=1", "stage=0", "memcheck"),
        ("make", "ref=1", "stage=0", "user"),
        ("make", "ref=1", "stage=0", "bench"),
    ],
)
def test_nothing_of_it_is_measured(words: tuple[str, ...]) -> None:
    done = call(paths.ROOT, *words)
    assert done.returncode == 2
    said = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(said) == 1, done.stderr
    assert "stage 0 is a driver without arithmetic, so it cannot be measured" in said[0]


@pytest.mark.machine
def test_load_says_that_nothing_of_it_is_traced(place: Path) -> None:
    done = call(paths.ROOT, "make", "ref=1", "stage=0", "load", "trace=1", TMPDIR=str(place))
    call(paths.ROOT, "make", "unload", TMPDIR=str(place))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == (
        "trace=1 has no effect on a driver, which prints by pr_info; see make dmesg"
    )


def test_a_copy_without_a_driver(place: Path) -> None:
    (place / NAME).mkdir()
    (place / NAME / "fib.c").write_text("int x;\n")
    stage = stages.single(place / NAME, NAME)
    built = stage_module.build(stage, machines.get("uml").kernel())
    assert "holds no usable driver.c" in built.cause


@pytest.mark.machine
def test_only_driver_c_is_taken(place: Path) -> None:
    """The build ignores and reports the copy's own header, interposer and build files."""
    directory = Path(shutil.copytree(paths.STAGES / NAME, place / NAME))
    for name in ("first.h", "interposer.c", "Kbuild"):
        (directory / name).write_text("#error taken\n")
    built = stage_module.build(stages.single(directory, NAME), machines.get("uml").kernel())
    assert built.ok, built.cause
    assert [said.split()[0] for said in built.excluded] == ["Kbuild", "first.h", "interposer.c"]


@pytest.mark.once
@pytest.mark.machine
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('#include "../../../other.h"\n', "other.h"),
        ('#include "../kit/interposer.c"\n', "interposer.c"),
    ],
)
def test_what_it_may_include(text: str, says: str, place: Path) -> None:
    directory = place / NAME
    directory.mkdir()
    other = paths.BUILD / "modules" / "other.h"
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_text("/* Of somebody else. */\n")
    source = (paths.STAGES / NAME / "driver.c").read_text()
    (directory / "driver.c").write_text(source + text)
    built = stage_module.build(stages.single(directory, NAME), machines.get("uml").kernel())
    other.unlink()
    assert says in built.rejection


@pytest.mark.machine
@pytest.mark.long
def test_run_gives_points_and_no_speedup(place: Path) -> None:
    """grader/run.sh gives points for stage 0 and still measures stage 1."""
    out = place / "report"
    done = call(
        paths.ROOT, "grader/run.sh", "--stage", "0-1", "--quick", "--out", str(out),
        TMPDIR=str(place),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads((out / "report.json").read_text())
    schema.validate(report)
    first, second = report["stages"]
    assert (first["status"], first["points"]["earned"], first["samples"]) == ("ok", 100, [])
    assert second["samples"]
    assert report["speedups"] == report["gaps"] == []


@pytest.mark.machine
@pytest.mark.long
@needs_sandbox
def test_a_stranger_s_tree(place: Path) -> None:
    """An untrusted stage 0 is compiled in the sandbox and tested in qemu."""
    with_fault(place / "tree", "a lost update: no lock")
    done = call(
        paths.ROOT, "grader/run.sh", "--tree", str(place / "tree"), "--no-measure",
        "--out", str(place / "out"), TMPDIR=str(place),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    (stage,) = json.loads((place / "out/report.json").read_text())["stages"]
    assert stage["status"] == "wrong"
    lines = {line["name"]: line["earned"] for line in stage["points"]["lines"]}
    assert [lines[name] for name in ("device", "memory", "owner", "read")] == POINTS[:4]
    assert lines["two callers"] == 0


@pytest.mark.machine
@pytest.mark.long
@needs_sandbox
def test_a_class(place: Path) -> None:
    """grader/class.sh grades a correct driver, one without error unwinding, and a wrong file."""
    class_ = place / "class"
    shutil.copytree(paths.STAGES / NAME, class_ / "anna" / NAME)
    # If a student hands in only one directory, it may have any name.
    with_fault(class_ / "bob", "no unwinding").rename(class_ / "bob" / "mine")
    (class_ / "carol").mkdir()
    (class_ / "carol" / "fib.c").write_text("int x;\n")
    done = call(
        paths.ROOT, "grader/class.sh", str(class_), "--stage", "0", "--seed", "7", "--jobs", "1",
        "--out", str(place / "out"), TMPDIR=str(place),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    table = (place / "out/class.csv").read_text()
    assert re.search(r"^anna,.*\b100\b", table, re.M), table
    assert re.search(r"^bob,.*\b90\b.*when misc_register fails", table, re.M), table
    assert re.search(r"^carol,.*refused", table, re.M), table
    assert "speed" not in table


@pytest.mark.machine
@pytest.mark.long
def test_debug_finds_nothing_in_the_reference() -> None:
    machine = machines.get("uml-debug")
    built = stage_module.build(stages.kit(0), machine.kernel())
    plan = debug_kernel.StressPlan(1, quick=True)
    result = driver_stress.examine(built, machine, plan, lambda _: None)
    assert result.cause == "", result.excerpt
    assert result.figures["calls"] > 100
    assert result.figures["failed loads"] > 10
    assert result.figures["refused calls"] > 0
    assert result.figures["leaks"] == 0


@pytest.mark.machine
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a deadlock: the lock stays taken where a call fails", "possible recursive locking"),
        ("release frees nothing", "no kfree for the memory allocated"),
        # The block is a whole page, so what lies behind it was freed or is out of bounds.
        ("debug: text behind the end", "KASAN: .* (in|called from) first_ioctl"),
        ("debug: a block after it is given back", "KASAN: .*use-after-free"),
        ("debug: two locks in two orders", "possible circular locking"),
    ],
)
def test_debug_sees_more(name: str, says: str, place: Path) -> None:
    directory = with_fault(place, name)
    machine = machines.get("uml-debug")
    built = stage_module.build(stages.single(directory, NAME), machine.kernel())
    assert built.ok, built.cause
    result = driver_stress.examine(
        built, machine, debug_kernel.StressPlan(1, quick=True), lambda _: None
    )
    assert re.search(says, result.cause), result.cause


def test_the_kit_s_own_is_not_there_for_students(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "exported", lambda: True)
    monkeypatch.setenv("LAB_REF", "1")
    with pytest.raises(LabError, match="the kit's stage 0 is missing; run make stage=0 start"):
        learner_copy.choose([0])


def test_without_a_copy_the_stage_that_was_meant_is_named(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    monkeypatch.setattr(stages, "exported", lambda: True)
    monkeypatch.setattr(paths, "WORK", place)
    for wanted, begin in (([0], 0), ([3], 3), ([], 1)):
        with pytest.raises(LabError, match=rf"in {place}/? yet; run make stage={begin} start$"):
            stages.home(wanted)


def _checked(
    directory: Path, remark: str, code: Code = Code.WRONG, task: int = 1
) -> check.CheckResult:
    """Return a result in which one task earns no points."""
    line = points.Line("", 0, 10, remark, task, code=code)
    return check.CheckResult(exercise="0", directory=str(directory), lines=(line,))


def test_what_to_do_next_names_a_line(place: Path) -> None:
    """The next step names the line of the function or task comment, or otherwise the file."""
    directory = skeleton.write(0, place)
    file = directory / "driver.c"

    def named(task: int) -> str:
        said = results.next_step(_checked(directory, "load: expected /dev/first", task=task))
        found = re.search(r"driver.c:(\d+);", said)
        return file.read_text().splitlines()[int(found[1]) - 1] if found else said

    assert named(1) == "static int __init first_init(void)"
    assert "Task 2, memory: " in named(2)
    file.write_text((skeleton.reference(0) / "driver.c").read_text())
    assert named(1) == "static int __init first_init(void)"
    assert named(2) == "/* The notebook. */", "the line where the task belongs"


def test_what_is_forbidden_is_to_be_taken_out(place: Path) -> None:
    said = results.next_step(_checked(place, "a use of simple_read", Code.CONTRACT))
    assert said.startswith("next: remove what is named above")
    assert "What is allowed" in said
    assert "## What is allowed" in (paths.ROOT / "handouts" / f"{NAME}.md").read_text()


def test_a_hint_when_all_is_done_is_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BUILD", tmp_path)  # without the results of earlier checks
    monkeypatch.setattr(commands, "_own", lambda _: paths.STAGES / NAME)
    monkeypatch.setattr(commands, "task_lines", lambda *_: [])
    commands.hint(exercises.find(0), None)
    said = capsys.readouterr().out
    assert said == "all tasks are done\nmake stage=0 check shows the other results\n"


@pytest.mark.parametrize(
    ("cause", "verdict"), [("", "clean: 7 tests"), ("a leak", "A FAULT, found after 7 tests")]
)
def test_debug_says_whether_it_found_something(
    cause: str, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    built = SimpleNamespace(stage=stages.single(paths.STAGES / NAME, NAME))
    result = SimpleNamespace(built=built, cause=cause, excerpt="", figures={"tests": 7})
    debug._show(cast(debug_kernel.StressResult, result), debug_kernel.StressPlan(1))
    assert capsys.readouterr().out.splitlines()[0] == f"stage 0 ({NAME}), seed 1: {verdict}"


@pytest.mark.machine
@pytest.mark.long
@pytest.mark.skipif(not (paths.ROOT / ".git").exists(), reason="the kit is no git checkout")
def test_a_student_repository(place: Path) -> None:
    """In a student repository, the points rise to 100 as the tasks are solved one by one."""
    student = place / "x"
    done = call(paths.ROOT, "scripts/export-course", str(student))
    assert done.returncode == 0, done.stderr
    assert not list(student.rglob("test_first*"))
    assert call(student, "make", "stage=0", "start").returncode == 0
    own = student / "work" / NAME / "driver.c"
    assert own.read_text() == skeleton.sources(0)["driver.c"]
    for last in range(len(POINTS) + 1):
        own.write_text(skeleton.sources(0, frozenset(range(1, last + 1)))["driver.c"])
        results = f"args=--json {place}/r.json"
        done = call(student, "make", "stage=0", "check", results, TMPDIR=str(place))
        assert done.returncode == (0 if last == len(POINTS) else 1), done.stderr
        assert json.loads((place / "r.json").read_text())["score"] == sum(POINTS[:last])
    assert "done; next: make stage=1 start" in done.stdout
    assert re.search("0  first-module +100 of 100", call(student, "make", "status").stdout)
    call(student, sys.executable, "-m", "grader.load", "unload", PYTHONPATH=str(student))
