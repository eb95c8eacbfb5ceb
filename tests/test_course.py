# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the course commands: choice of the stage, points of the references, result files."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import paths, scratch
from grader.base.errors import LabError
from grader.base.finding import Code
from grader.course import (
    check,
    commands,
    earlier,
    learner_copy,
    records,
    result_files,
    results,
    skeleton,
)
from grader.exercise.build import stage_module
from grader.exercise.conformance import verify
from grader.exercise.files import exercises, stages, tasks
from grader.lab import machines, module
from grader.scoring import pipeline, points

STAGES = sorted(stages.manifests())


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder that holds the learner's work/ directory during the test."""
    folder = Path(tempfile.mkdtemp(prefix="c"))
    monkeypatch.setattr(skeleton, "WORK", folder / "work")
    monkeypatch.delenv("LAB_REF", raising=False)
    monkeypatch.delenv("LAB_WORK", raising=False)
    yield folder
    shutil.rmtree(folder)
    scratch.remove_all()


def solved(number: int, place: Path) -> Path:
    all_of_them = frozenset(task.number for task in tasks.course(number).tasks)
    return skeleton.write(number, place / "work", all_of_them)


@pytest.mark.once
@pytest.mark.machine
@pytest.mark.parametrize(
    "number", [n if n == 5 else pytest.param(n, marks=pytest.mark.long) for n in STAGES]
)
def test_the_reference_earns_all_points(number: int, place: Path) -> None:
    result = check.check(exercises.find(number), skeleton.reference(number), 7)
    assert (result.earned, result.possible) == (100, 100), results.table(result)
    after = (
        f"make stage={number + 1} start" if number < STAGES[-1] else "nothing, all stages are done"
    )
    deeper, speed, step = results.next_step(result).splitlines()
    assert deeper.startswith(f"make stage={number} sanitize, make stage={number} memcheck, ")
    assert speed == f"make stage={number} bench measures its speed"
    assert step == f"done; next: {after}"


def keep(number: int, copy: Path, earned: int = 100) -> check.CheckResult:
    """Record a result with these points for a copy, like `make check`."""
    result = check.CheckResult(
        str(number), str(copy), (check.Line("device", earned, 100, "as it is", kind=points.DEVICE),)
    )
    records.record(result, copy)
    return result


def test_the_next_stage_is_the_first_that_is_not_done(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BUILD", place / "build")
    copies = {number: skeleton.write(number, place / "work") for number in (1, 2, 3)}
    done = keep(2, copies[2])
    assert results.next_step(done).endswith("done; next: make stage=3 check")
    keep(3, copies[3])
    assert results.next_step(done).endswith("done; next: make stage=4 start")
    for number in STAGES[3:]:
        keep(number, skeleton.write(number, place / "work"))
    assert results.next_step(done).endswith("done; next: nothing, all stages are done")
    # If a copy has changed since its last check, the next step is to check it again. `status`
    # prints the same step.
    (copies[3] / "fib.c").write_text("")
    assert results.next_step(done).endswith("done; next: make stage=3 check")
    keep(1, copies[1])
    commands.status()
    assert capsys.readouterr().out.splitlines()[-1] == "next: make stage=3 check"


def test_what_is_begun_anew_has_no_points_yet(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BUILD", place / "build")
    records.settle("1", 7, False)
    copy = solved(1, place)
    keep(1, copy)
    assert records.recorded("1") is not None
    copy.rename(place / "mine")
    commands.start(exercises.find(1))
    assert (records.recorded("1"), records.failed_seed("1")) == (None, None)
    capsys.readouterr()
    commands.status()
    zero, one = capsys.readouterr().out.splitlines()[:2]
    assert "not begun" in zero
    assert "begun, not checked" in one


def test_slow_leads_to_where_the_instructions_go() -> None:
    full = check.Line("device", 80, 80, "right", kind=points.DEVICE)
    slow = check.Line("speed", 3, 20, "takes many", kind=points.SPEED)
    said = {n: results.next_step(check.CheckResult(str(n), "work/x", (full, slow))) for n in (5, 9)}
    assert "make stage=5 profile phase=compute shows" in said[5]
    assert "make stage=9 profile shows" in said[9]


def test_with_all_tasks_done_the_hint_is_where_to_look(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BUILD", place / "build")
    solved(2, place)
    commands.hint(exercises.find(2), 7)
    assert "for speed: make stage=2 profile phase=compute shows" in capsys.readouterr().out
    # With all points earned, hint names the next stage.
    keep(2, next((place / "work").glob("2-*")))
    commands.hint(exercises.find(2), 7)
    assert capsys.readouterr().out.endswith("\ndone; next: make stage=3 start\n")


def test_a_hint_after_check_says_what_check_said_of_the_device(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BUILD", place / "build")
    done = check.Line("compute", 60, 60, "all right", 1)
    monkeypatch.setattr(commands, "task_lines", lambda *_: [done])
    copy = solved(1, place)
    keep(1, copy, 60)
    commands.hint(exercises.find(1), 7)
    said = capsys.readouterr().out
    assert "device: as it is\nnext: correct the device" in said
    keep(1, copy)
    commands.hint(exercises.find(1), 7)
    said = capsys.readouterr().out
    assert "done; next: " in said
    assert "shows the other results" not in said


def test_a_breach_of_the_contract_uses_up_no_hint(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BUILD", place / "build")
    remark = "it breaks the contract: a use of snprintf in decimal.c; stage.h allows only "
    text = remark + "memcpy, memmove, " * 9
    violation = check.Line("compute", 0, 30, text, 1, code=Code.CONTRACT)
    monkeypatch.setattr(commands, "task_lines", lambda *_: [violation])
    skeleton.write(1, place / "work")
    commands.hint(exercises.find(1), 7)
    said = capsys.readouterr().out
    assert said.startswith("it breaks the contract: a use of snprintf in decimal.c")
    assert "next: remove what is named above" in said
    assert "hint 1" not in said
    assert max(map(len, said.splitlines())) <= 100


def test_what_does_not_compile_has_a_hint(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`hint` names the task whose function has a compile error, and shows errors elsewhere."""
    monkeypatch.setattr(paths, "BUILD", place / "build")
    copy = skeleton.write(0, place / "work", frozenset(range(1, 9)))
    lines = (copy / "driver.c").read_text().splitlines()
    number = next(i for i, line in enumerate(lines, 1) if "DEVICE_ATTR_RO(lines)" in line)

    def hint(at: int) -> str:
        remark = f"it does not compile: {paths.shown(copy)}/driver.c:{at}:23: error: incompatible"
        line = check.Line("device", 0, 10, remark, 1, code=Code.BUILD_FAILED)
        monkeypatch.setattr(commands, "task_lines", lambda *_: [line])
        commands.hint(exercises.find(0), 7)
        return capsys.readouterr().out

    said = " ".join(hint(number).split())
    assert said.startswith("task 8, sysfs: it does not compile: ")
    assert "hint 1 of 3 (about the task, not about this failure): " in said
    with pytest.raises(LabError, match="does not compile"):
        hint(1)


def test_a_hint_can_be_for_any_task(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BUILD", place / "build")
    skeleton.write(1, place / "work")
    commands.hint(exercises.find(1), 7, "2")
    commands.hint(exercises.find(1), 7, "2")
    said = capsys.readouterr().out
    assert said.startswith("task 2, decimal\nhint 1 of 3: ")
    assert "\ntask 2, decimal\nhint 2 of 3: " in said
    with pytest.raises(LabError, match="there is no task 3; choose one of 1 to 2"):
        commands.hint(exercises.find(1), 7, "3")


def test_status_goes_on_from_the_last_stage_that_was_begun(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`status`, like `check`, continues after the last begun stage, as learners may skip stages."""
    monkeypatch.setattr(paths, "BUILD", place / "build")
    copy = solved(3, place)
    commands.status()
    assert capsys.readouterr().out.endswith("next: make stage=3 check\n")
    keep(3, copy)
    commands.status()
    assert capsys.readouterr().out.endswith("next: make stage=4 start\n")
    assert results.after(3) == "make stage=4 start"


@pytest.mark.parametrize("function", ["first_init", "first_exit"])
def test_the_next_step_is_at_the_function_that_is_named(function: str, place: Path) -> None:
    copy = skeleton.write(0, place / "work")
    lines = [check.Line("device", 0, 10, f"{function} must undo that", 1, code=Code.WRONG)]
    said = results.next_step(check.CheckResult("0", str(copy), tuple(lines)))
    at = int(re.findall(r"driver\.c:(\d+);", said)[0])
    assert f" {function}(void)" in (copy / "driver.c").read_text().splitlines()[at - 1]


def test_of_a_leak_check_names_memcheck() -> None:
    leak = check.Line("device", 0, 30, "some blocks", kind=points.DEVICE, code=Code.LEAK)
    result = check.CheckResult("3", "work/x", (leak,))
    said = results.outcome(result).splitlines()
    assert said[1] == "make stage=3 memcheck names the lines that allocated the leaked memory"
    assert said[2].startswith("next: ")
    wrong = replace(leak, remark="3 blocks are left", code=Code.WRONG)
    other = check.CheckResult("3", "work/x", (wrong,))
    assert "memcheck" not in results.outcome(other)


def test_the_names_of_status_stand_in_a_column(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BUILD", place / "build")
    commands.status()
    lines = capsys.readouterr().out.splitlines()[:-1]
    assert len({line.index("not begun") for line in lines}) == 1
    assert {line[3:5] for line in lines} == {"  "}


def test_a_stage_that_does_not_exist_is_an_error_that_names_those_that_do() -> None:
    with pytest.raises(LabError, match=f"there is no stage 99; choose one of 0 to {STAGES[-1]}"):
        exercises.find(99)


def test_a_student_repository_names_the_stages_there_are_as_well(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "exported", lambda: True)
    monkeypatch.setattr(paths, "WORK", place / "work")
    known = f"there is no stage 99; choose one of 0 to {STAGES[-1]}"
    with pytest.raises(LabError, match=known):
        stages.home([99])
    solved(1, place)
    with pytest.raises(LabError, match=known):
        stages.find(paths.WORK, [99])
    with pytest.raises(LabError, match="you have no stage 3 yet; run make stage=3 start"):
        stages.find(paths.WORK, [3])


def test_where_only_the_device_is_tried_without_memory_the_next_step_says_so() -> None:
    right = points.Line("multiply", 20, 20, "355 tries, all right", 4)
    repeat = "make stage=3 sanitize n=1000 fail=5"
    wrong = points.Line("device", 0, 30, "crashed", kind=points.DEVICE, repeat=repeat)
    said = results.next_step(check.CheckResult("3", "work/3-bignum-u32", (right, wrong)))
    assert said == (
        f"next: {repeat} repeats the failure; only the device test makes allocations fail"
        " and kills the caller; make stage=3 memcheck tries more of both"
    )


def test_the_copy_is_meant_where_there_is_one(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kits = stages.find(paths.STAGES, [1, 2])
    assert learner_copy.choose([1, 2]) == kits
    assert capsys.readouterr().err == ""
    copy = skeleton.write(2, place / "work")
    first, second = learner_copy.choose([1, 2])
    assert (first, second.directory) == (kits[0], copy.resolve())
    assert "your copy, " in capsys.readouterr().err
    monkeypatch.setenv("LAB_REF", "1")
    assert learner_copy.choose([1, 2]) == kits
    assert capsys.readouterr().err == ""
    with pytest.raises(LabError, match="the command needs one stage"):
        learner_copy.choose_one("1,2", "load")


def test_a_copy_and_the_kit_do_not_share_a_program(place: Path) -> None:
    """`make` rebuilds the program if STAGE_DIR changes to another directory of the same name."""
    copy = skeleton.write(2, place / "work")
    said = []
    for directory in (skeleton.reference(2), copy, skeleton.reference(2)):
        subprocess.run(
            ["make", "-s", "-C", str(paths.COMMON / "userspace"), f"STAGE_DIR={directory}",
             f"OUT={place}/out"],
            check=True,
            env=module.environment(),
        )  # fmt: skip
        said.append(subprocess.check_output([str(place / "out/fib"), "fib", "90"], text=True))
    assert said == [f"90 {value}\n" for value in (2880067194370816120, 0, 2880067194370816120)]


@pytest.mark.machine
@pytest.mark.long
def test_earlier_stages_are_checked_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_folder", lambda: place / "course")
    solved(2, place)
    first = solved(1, place)

    def said(name: int) -> list[str]:
        found = earlier.check_again(exercises.find(name), lambda _: 7, "uml")
        return [line.split(": ", 1)[1] for line in found]

    again = ["all right still", "all right still, its speed not measured again"]
    assert said(3) == again
    assert said(3) == ["all right, and unchanged since"] * 2
    # Break a stage that passed before.
    text = (first / "fib.c").read_text()
    assert "i < n" in text
    (first / "fib.c").write_text(text.replace("i < n", "i <= n"))
    (wrong,) = said(2)
    assert wrong == "30 of 100 points; compute: F(0): expected 0x0, got 0x1"
    assert records.failed_seed("1") == 7
    assert said(2) == [f"{wrong}, and unchanged since"]


@pytest.mark.parametrize("earned", [100, 60])
def test_a_copy_is_checked_again_when_anything_it_depends_on_changes(
    place: Path, monkeypatch: pytest.MonkeyPatch, earned: int
) -> None:
    """`check` tests a copy again if the copy, kit, kernel, machine or compiler has changed."""
    monkeypatch.setattr(records, "_folder", lambda: place / "course")
    copy, checked = solved(1, place), []

    def checks(exercise: exercises.Exercise, *_: object, **_more: object) -> check.CheckResult:
        checked.append(exercise.name)
        return check.CheckResult(exercise.name, "", (check.Line("device", earned, 100, ""),))

    def is_checked(machine: str = "uml", reuse: bool = True) -> bool:
        checked.clear()
        list(earlier.check_again(exercises.find(2), lambda _: 7, machine, reuse))
        return checked == ["1"]

    monkeypatch.setattr(earlier, "check", checks)
    assert is_checked() and not is_checked()
    assert is_checked(reuse=False) and not is_checked()
    text = (copy / "fib.c").read_text()
    (copy / "fib.c").write_text(f"{text}\n")
    assert is_checked() and not is_checked()
    (copy / "fib.c").write_text(text)
    assert is_checked(), "only the latest version that passed is not checked again"
    for name in ("_kit", "_compiler"):
        kept = getattr(earlier, name)()
        monkeypatch.setattr(earlier, name, lambda kept=kept: [kept, "another"])
        assert is_checked() and not is_checked()
    machine = machines.get("uml")
    kernel = replace(machine.kernel(), key="another")
    with monkeypatch.context() as patch:
        patch.setattr(type(machine), "kernel", lambda _: kernel)
        assert is_checked() and not is_checked()
    assert is_checked() and not is_checked()
    assert is_checked("qemu") and not is_checked("qemu")
    records.settle("1", 7, passed=False)
    assert is_checked("qemu") and not is_checked("qemu"), "it is known for the seed that failed"
    records.settle("1", 8, passed=False)
    assert is_checked("qemu")
    assert is_checked("qemu") == (earned == 100), "it has failed with another seed"


def test_the_digest_covers_the_kit() -> None:
    names = {name for name, _ in earlier._kit()}
    for name in ("grader/course/earlier.py", "common/stage.h", "expected/digests.tsv",
                 "grader/exercise/contract_tests/account.c", "requirements.txt"):  # fmt: skip
        assert name in names or not (paths.ROOT / name).is_file(), name


@pytest.mark.machine
def test_lines_are_shown_when_they_are_final_and_the_tasks_first(place: Path) -> None:
    """`check` shows a task's line before the module has run, and does not change the line later."""
    copy = solved(1, place)
    text = (copy / "fib.c").read_text()
    (copy / "fib.c").write_text(text.replace("i < n", "i <= n"))
    shown: list[points.Line] = []
    result = check.check(exercises.find(1), copy, 7, show=shown.append)
    assert shown == list(result.lines)
    assert [line.kind for line in shown] == [points.TASK, points.TASK, points.DEVICE]


@pytest.mark.machine
def test_warnings_of_the_compiler_come_first_and_stay(place: Path) -> None:
    """`check` prints the warning about a file again even if the file is not recompiled."""
    copy = solved(1, place)
    text = (copy / "fib.c").read_text()
    odd = "\nchar *odd(char *a);\nchar *odd(char *a)\n{\n\treturn a ? 7UL : a;\n}\n"
    (copy / "fib.c").write_text(text + odd)
    said: list[str] = []
    for _ in range(2):
        said.clear()
        stage = stages.single(copy, copy.name, 1)
        pipeline.check_while_waiting(
            stage,
            machines.get("uml"),
            7,
            lambda _: None,
            lambda line: said.append(line.name),
            said.append,
            lambda: None,
        )
        line = len(text.splitlines()) + 5
        assert re.search(rf"/1-\S+/fib\.c:{line}:\d+: warning: ", said[0]), said
        assert said[1:] == ["compute", "decimal"]
        (copy / "decimal.c").write_text((copy / "decimal.c").read_text() + "/* saved */\n")


@pytest.mark.once
@pytest.mark.machine
def test_at_once_finds_what_is_found_one_after_the_other(place: Path) -> None:
    """Contract tests find the same faults in a separate machine as in a shared one."""
    copy = solved(3, place)
    text = (copy / "fib.c").read_text()
    leak = text.replace("\t\tc = difference;\n\t\tgoto free_twice;", "\t\treturn difference;")
    assert leak != text
    (copy / "fib.c").write_text(leak)
    stage = stages.single(copy, copy.name, 3)
    machine = machines.get("uml")
    built = stage_module.build(stage, machine.kernel())
    one, two = (
        verify.verify(built, machine, 1, True, lambda _: None, at_once=at_once)
        for at_once in (False, True)
    )
    assert one.findings and [f.cause for f in one.findings] == [f.cause for f in two.findings]


@pytest.mark.machine
def test_right_for_small_numbers_is_part_of_the_points(place: Path) -> None:
    copy = solved(1, place)
    text = (copy / "fib.c").read_text()
    assert "i < n" in text
    (copy / "fib.c").write_text(text.replace("i < n", "i < n && i < 60"))
    compute, decimal, device = check.check(exercises.find(1), copy, 7).lines
    assert (compute.earned, decimal.earned, device.earned) == (12, 30, 12)
    assert compute.remark.startswith("F(61): expected ")
    assert compute.remark.endswith("; small numbers are right, which earns 12 points")
    assert device.remark.startswith("F(61): expected 2504730781961, got 1548008755920")
    assert device.remark.endswith("; below that all are right, which earns 12 points")


def test_results_for_machines() -> None:
    full = check.Line("add", 10, 10, "302 tries, all right", 1)
    part = check.Line("device", 12, 30, "F(2,500) has a wrong digit at position 312")
    result = check.CheckResult("3", "work/3-bignum-u32", (full, part))
    scores = result_files.gradescope(result)
    assert scores["score"] == 22
    assert [t["score"] for t in scores["tests"]] == [10, 12]
    # GitHub's reporter adds up the scores and evaluates each status.
    there = json.loads(json.dumps(result_files.classroom(result)))
    assert (there["status"], there["max_score"]) == ("fail", 40)
    assert sum(test["score"] for test in there["tests"]) == 22
    assert [test["status"] for test in there["tests"]] == ["pass", "fail"]
    assert "position 312" in there["tests"][1]["message"]
    printed = result_files.ktap(result).splitlines()
    assert printed[:2] == ["KTAP version 1", "1..2"]
    assert "ok 1 add # 10 of 10 points" in printed
    assert "not ok 2 device # 12 of 30 points" in printed


def test_a_file_that_cannot_be_written_is_one_line(place: Path) -> None:
    (place / "file").write_text("")
    with pytest.raises(LabError, match="give another file"):
        result_files.write(place / "file" / "results.json", {})


@pytest.mark.parametrize("folder", ["", "build/try", "a folder"])
def test_what_is_to_be_typed_next_means_the_same_copies(
    folder: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Printed commands repeat work=FOLDER if the learner has set it."""
    monkeypatch.setenv("LAB_WORK", folder)
    end = f" work={shlex.quote(folder)}" if folder else ""
    monkeypatch.setattr(paths, "BUILD", place / "build")
    commands.start(exercises.find(1))
    assert capsys.readouterr().out.endswith(f"then try make stage=1 check{end}\n")
    copy = skeleton.learner_directory(1)
    assert copy is not None
    task = check.Line("task", 0, 100, "wrong", 1)
    todo = check.CheckResult("1", str(copy), (task,))
    assert results.next_step(todo).endswith(f"; make stage=1 hint{end}")
    assert results.to_do(exercises.find(1)) == f"make stage=1 check{end}"
    result = keep(1, copy)
    said = results.next_step(result)
    assert f"make stage=1 memcheck{end}, make stage=1 debug{end} find" in said
    assert f"\nmake stage=1 bench{end} measures its speed\n" in said
    assert results.next_step(result).endswith(f"next: make stage=2 start{end}")
    commands.hint(exercises.find(1), 1)
    assert f"next: make stage=2 start{end}\n" in capsys.readouterr().out


def test_commands_to_type_are_made_in_one_place() -> None:
    """The grader creates every make command for a stage or an elective by paths.make."""
    found = []
    for path in (
        file for top in ("grader", "electives") for file in (paths.ROOT / top).rglob("*.py")
    ):
        tree = ast.parse(path.read_text())
        owners = (ast.Module, ast.ClassDef, ast.FunctionDef)
        docs = {ast.get_docstring(x, clean=False) for x in ast.walk(tree) if isinstance(x, owners)}
        found += [
            f"{paths.shown(path)}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            and node.value not in docs and not node.value.startswith("#")  # contents of a file
            and re.search(r"\bmake (stage|elective)=($|\d)", node.value)
        ]  # fmt: skip
    assert found == []
