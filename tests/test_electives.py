# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the commands for all electives, and the parts that each elective must have."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import electives
from electives import __main__ as own_verbs
from electives import source_folder
from grader.base import marked_regions, paths
from grader.base.errors import LabError
from grader.course import check, skeleton
from grader.exercise.files import exercises
from tests.sandbox_calls import needs_sandbox

NAMES = exercises.electives()


def make(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-s", *words], cwd=paths.ROOT, capture_output=True, text=True,
        env={**os.environ, "MAKEFLAGS": ""},
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_an_elective_has_a_handout_points_and_passages(name: str) -> None:
    """Each elective has a handout, a hundred points, and a marked region for each task."""
    elective = exercises.find(name)
    assert elective.handout.is_file()
    assert sum(points for _, points in elective.points) == 100
    for task in elective.course.tasks:
        (part,) = task.parts
        text = (elective.sources / part.file).read_text()
        assert task.number in {passage.task for passage in marked_regions.find(text)}
        assert f"TODO: task {task.number}" in marked_regions.skeleton(text, part.file)
        assert len(task.hints) >= 2


def test_a_bad_name_and_a_bad_target() -> None:
    completed = make("elective=nope", "check")
    assert completed.returncode == 2
    assert f"there is no elective nope; choose one of {', '.join(NAMES)}" in completed.stderr
    (line,) = [line for line in make("run").stdout.splitlines() if NAMES[0] in line]
    assert exercises.find(NAMES[0]).title in line


@pytest.mark.parametrize("verb", ["bench", "debug", "profile", "memcheck", "user", "predict"])
def test_what_an_elective_cannot_do_is_said(verb: str) -> None:
    completed = make(f"elective={NAMES[0]}", verb)
    assert completed.returncode == 2
    assert f"elective {NAMES[0]} " in completed.stderr


def test_a_mark_without_an_end_is_told() -> None:
    with pytest.raises(LabError, match="x.c: the begin or end mark of a task is missing"):
        marked_regions.skeleton("/* task 1 { */\nint x;\n", "x.c")


@pytest.fixture
def new_elective(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a new elective that has a manifest and no group of packages."""
    folder = tmp_path / "electives/new"
    folder.mkdir(parents=True)
    (folder / exercises.MANIFEST).write_text('title = "New"\njudge = "new_judge"\n')
    monkeypatch.setattr(exercises, "ELECTIVES", folder.parent)
    monkeypatch.setattr(own_verbs, "ROOT", tmp_path)
    return folder


def test_an_elective_without_packages_needs_no_group(new_elective: Path) -> None:
    scripts = shutil.copytree(paths.SCRIPTS, new_elective.parents[1] / "scripts")
    for group, status in (("new", 0), ("other", 2)):
        completed = subprocess.run([scripts / "setup.sh", group], capture_output=True, text=True)
        assert (completed.returncode, "no package group other" in completed.stderr) == (
            status,
            bool(status),
        )


def test_a_manifest_that_is_not_complete_is_reported(new_elective: Path) -> None:
    with pytest.raises(LabError, match="new/exercise.toml lacks handout, folder; add"):
        exercises.find("new")
    manifest = new_elective / exercises.MANIFEST
    manifest.write_text(manifest.read_text() + 'handout = "x.md"\nfolder = "kernel"\n')
    with pytest.raises(LabError, match="new/exercise.toml: no folder kernel"):
        exercises.find("new")


def test_verbs_stand_in_the_module_that_judges(
    new_elective: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = ModuleType("new_judge")
    monkeypatch.setitem(sys.modules, "new_judge", judge)
    with pytest.raises(LabError, match="new has no run; choose one of start, check, hint, watch$"):
        own_verbs.main(["new", "run"])
    judge.VERBS = {"run": len}  # type: ignore[attr-defined]
    assert own_verbs.main(["new", "run", "a", "b"]) == 2


def test_each_submission_is_built_in_a_folder_of_its_own() -> None:
    kit = Path("/kit")
    assert source_folder.build_name("new", kit, kit) == "new"
    assert source_folder.build_name("new", paths.WORK / "new", kit) == "new-work"
    names = {
        source_folder.build_name("new", Path(given), kit) for given in ("/one/new", "/two/new")
    }
    assert len(names) == 2 and not names & {"new", "new-work"}


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> exercises.Exercise:
    """Return the example elective of tests/elective, copied as CONTRIBUTING describes."""
    folder = shutil.copytree(paths.ROOT / "tests/elective", tmp_path / "electives/example")
    manifest = folder / exercises.MANIFEST
    manifest.write_text(manifest.read_text().replace("NAME", "example"))
    monkeypatch.setattr(exercises, "ELECTIVES", folder.parent)
    monkeypatch.setattr(electives, "__path__", [*electives.__path__, str(folder.parent)])
    monkeypatch.setattr(source_folder, "WORK", tmp_path / "work")
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    monkeypatch.delenv("LAB_REF", raising=False)
    monkeypatch.delenv(paths.SUBMISSION, raising=False)
    return exercises.find("example")


def earned(elective: exercises.Exercise, copy: Path, isolated: bool) -> list[int]:
    return [line.earned for line in check.judge(elective, copy, 1, isolated=isolated).lines]


@pytest.mark.once(all_files=True)
@pytest.mark.machine
@pytest.mark.parametrize(
    "isolated", [False, pytest.param(True, marks=[needs_sandbox, pytest.mark.long])]
)
def test_the_example_for_authors_can_be_copied(
    example: exercises.Exercise, tmp_path: Path, isolated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With this call, pytest restores the variable after the test; judge() changes it.
    monkeypatch.setenv(paths.SUBMISSION, "")
    copy = skeleton.write("example", tmp_path / "work")
    assert earned(example, copy, isolated) == [0, 0]
    text = (example.sources / "numbers.c").read_text()
    for old, new, points in (
        ("", "", [60, 40]),
        ("u64 sum = 0", "u32 sum = 0", [0, 40]),
        ("most = numbers[i]", "most = *(volatile u32 *)8", [60, 0]),
        ("return most", "return", [0, 0]),
    ):
        assert old in text
        (copy / "numbers.c").write_text(text.replace(old, new) if old else text)
        assert earned(example, copy, isolated) == points, new
    assert not isolated or not list((tmp_path / "build/modules").glob("*/example*"))
