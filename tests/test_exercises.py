# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test exercises of all kinds, new versions of exercises, and copies from older kits."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import paths
from grader.course import commands, records, skeleton, upgrade
from grader.course.check import CheckResult
from grader.exercise.files import exercises, stages
from grader.exercise.files.exercises import Exercise, ExerciseChange
from grader.scoring.points import Line

NAMES = exercises.names()


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the folder for a learner's copies. Their records are in a build folder next to it."""
    monkeypatch.setattr(skeleton, "WORK", tmp_path / "work")
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    yield tmp_path / "work"


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_is_complete(name: str) -> None:
    exercise = exercises.find(name)
    assert exercise.handout.is_file()
    assert sum(points for _, points in exercise.points) == 100
    assert all(task.hints for task in exercise.course.tasks)
    assert exercises.MANIFEST in exercise.texts()
    assert max([0, *(change.version for change in exercise.changes)]) <= exercise.version


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_is_made_and_known_as_new(name: str, work: Path) -> None:
    commands.start(exercises.find(name))
    copy = skeleton.learner_directory(name)
    assert copy is not None and copy.parent == work
    assert skeleton.untouched(name, copy)
    assert exercises.pending(exercises.find(name), copy) == ()


def newer(monkeypatch: pytest.MonkeyPatch, name: str) -> Exercise:
    """Replace an exercise by a newer version that renames a function. Return the new exercise."""
    change = ExerciseChange(
        exercises.find(name).version + 1, "bn_add is called bn_plus", {"bn_add": "bn_plus"}
    )
    exercise = replace(exercises.find(name), version=change.version, changes=(change,))
    monkeypatch.setattr(exercises, "find", lambda _: exercise)
    return exercise


def test_an_older_copy_is_told_and_converted_on_request(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = skeleton.write("3", work)
    (copy / "own.c").write_bytes(b"bn_add(\xff); bn_add_more();\n")
    exercise = newer(monkeypatch, "3")
    commands._tell_changes(exercise, copy)
    said = capsys.readouterr().err
    assert "was made for an older kit" in said and "bn_add is called bn_plus" in said
    commands.convert(exercise)
    assert (copy / "own.c").read_bytes() == b"bn_plus(\xff); bn_add_more();\n"
    assert "bn_plus(" in (copy / "bignum.c").read_text()
    assert (work / "old" / f"{copy.name}.1" / "own.c").read_bytes().startswith(b"bn_add(\xff)")
    assert "next: make stage=3 check" in capsys.readouterr().out


def test_a_copy_without_a_version_keeps_its_work(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = skeleton.write("3", work)
    (copy / "exercise.toml").rename(copy / "stage.toml")
    (copy / "fib.c").write_text("/* mine */\n")
    exercise = exercises.find("3")
    assert exercises.pending(exercise, copy)[0] == exercises.FIRST_VERSION
    commands.convert(exercise)
    assert sorted(path.name for path in copy.glob("*.toml")) == ["exercise.toml"]
    assert (copy / "fib.c").read_text() == "/* mine */\n"
    capsys.readouterr()
    commands.convert(exercise)
    assert "is up to date" in capsys.readouterr().out


def test_points_by_older_rules_are_not_current(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = skeleton.write("3", work)
    kept = CheckResult("3", str(copy), (Line("add", 100, 100, "right", 1),))
    records.record(kept, copy)
    found = records.recorded("3")
    assert found and found[1]
    (tmp_path / "tasks.toml").write_text("")
    exercise = replace(exercises.find("3"), directory=tmp_path)
    monkeypatch.setattr(exercises, "find", lambda _: exercise)
    found = records.recorded("3")
    assert found and not found[1]


def test_renames_are_of_whole_words_only() -> None:
    renames = {"fib_look_up": "fib_yield", "spend": "account"}
    text = b"fib_look_up(call); fib_look_upper; spend spends \xfe"
    assert upgrade.renamed(text, renames) == b"fib_yield(call); fib_look_upper; account spends \xfe"


def test_old_names_of_the_contract_are_understood_and_renamed(tmp_path: Path) -> None:
    """A copy from an older kit compiles. `check` lists its old names; `convert` renames them."""
    source = tmp_path / "old.c"
    source.write_text(
        '#include "stage.h"\n'
        "int spend(struct fib_call *call);\n"
        "int spend(struct fib_call *call)\n"
        "{\n\treturn fib_spend(call, 1) ? fib_look_up(call) : 0;\n}\n"
    )
    command = ["gcc", "-Wall", "-Werror", f"-I{paths.COMMON}", "-c", "-o", "/dev/null", str(source)]
    compiled = subprocess.run(command, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
    # Skip stages 1 and 2, which compute with machine words and never call fib_account_work().
    for number in sorted(stages.manifests().keys() - {1, 2}):
        exercise = exercises.find(number)
        last = exercise.changes[-1]
        assert last.version == exercise.version > 1
        assert "fib_account_work" in last.what
        converted = upgrade.renamed(source.read_bytes(), last.rename)
        assert b"fib_account_work(call, 1) ? fib_yield(call)" in converted
