# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test which directories are stages, and the required contents of their manifests."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from grader.base import paths
from grader.base.errors import LabError
from grader.exercise.build import stage_module
from grader.exercise.files import stages
from grader.exercise.operations import test_program
from grader.lab import machines

MANIFEST = 'title = "T"\nteaches = "t"\nmax_n = 93\nmeasure = [10, 93]\n'


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the stages' folder of a fake kit that contains the stages 1-one and 2-two."""
    tree = tmp_path / "kit"
    for name in ("1-one", "2-two"):
        (tree / name).mkdir(parents=True)
        (tree / name / "exercise.toml").write_text(MANIFEST)
    monkeypatch.setattr(paths, "STAGES", tree)
    return tree


def directory(tree: Path, name: str) -> Path:
    path = tree / name
    path.mkdir(parents=True)
    return path


def test_the_kits_own_stages() -> None:
    found = stages.find(paths.STAGES)
    assert [s.number for s in found] == list(range(1, len(found) + 1))
    assert not any(s.own_driver for s in found)
    for stage in found:
        assert stage.key == f"{stage.number}-{stage.manifest.name}"
        # The largest n is the largest one that a stage before or after has, too.
        both = [
            min(stage.manifest.max_n, other.manifest.max_n)
            for other in found
            if abs(other.number - stage.number) == 1
        ]
        assert stage.manifest.measure[-1] == min(max(both), 1_000_000)
        assert list(stage.manifest.measure) == sorted(set(stage.manifest.measure))


def test_order_is_by_number(kit: Path) -> None:
    (directory(kit, "10-ten") / "exercise.toml").write_text(MANIFEST)
    assert [s.key for s in stages.find(kit)] == ["1-one", "2-two", "10-ten"]


def test_what_is_no_stage_is_passed_over(kit: Path) -> None:
    for name in ("notes", "1", "-1-x", "a-1", "3 -x"):
        directory(kit, name)
    (kit / "3-file").write_text("not a directory")
    assert [s.key for s in stages.find(kit)] == ["1-one", "2-two"]


def test_several_attempts_at_one_stage(kit: Path, tmp_path: Path) -> None:
    tree = tmp_path / "mine"
    for name in ("1-b", "1-a", "2-c"):
        directory(tree, name)
    assert [s.key for s in stages.find(tree, [1])] == ["1-a", "1-b"]


def test_a_foreign_manifest_does_not_count(kit: Path, tmp_path: Path) -> None:
    (directory(tmp_path / "mine", "1-mine") / "exercise.toml").write_text("max_n = 5\nmeasure = []")
    stage = stages.find(tmp_path / "mine")[0]
    assert (stage.manifest.max_n, stage.manifest.name) == (93, "one")


def test_a_foreign_driver_does_not_count(kit: Path, tmp_path: Path) -> None:
    (directory(tmp_path / "mine", "1-mine") / "driver.c").write_text("")
    assert not stages.find(tmp_path / "mine")[0].own_driver


def test_a_stage_that_is_not_there(kit: Path) -> None:
    with pytest.raises(LabError, match=r"there is no stage 9; choose one of 1, 2"):
        stages.find(kit, [9])


def test_a_number_that_the_kit_has_not(kit: Path, tmp_path: Path) -> None:
    directory(tmp_path / "mine", "8-mine")
    with pytest.raises(LabError, match=r"8-mine: the kit has no stage 8"):
        stages.find(tmp_path / "mine")


def test_a_tree_without_stages(kit: Path, tmp_path: Path) -> None:
    directory(tmp_path, "empty")
    with pytest.raises(LabError, match="holds no stage; name its directories like 1-iter"):
        stages.find(tmp_path / "empty")


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.write_text("a file")])
def test_a_tree_that_is_none(kit: Path, tmp_path: Path, make: object) -> None:
    tree = tmp_path / "nowhere"
    make(tree)  # type: ignore[operator]
    with pytest.raises(LabError, match="give a directory of stages to --tree"):
        stages.find(tree)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_n = 93\nmeasure = [1]\nteaches = 't'\n", "'title' is missing; give title, teaches"),
        (MANIFEST.replace("93\n", "many\n"), "exercise.toml: "),
        (MANIFEST.replace("max_n = 93", "max_n = 'many'"), "invalid literal"),
        (MANIFEST.replace("[10, 93]", "93"), "not iterable"),
        (MANIFEST.replace("[10, 93]", "[10, 94]"), "measure holds an n above max_n"),
        (MANIFEST.replace("[10, 93]", "[-1]"), "measure holds an n above max_n"),
        ("title = ", "exercise.toml: "),
        (f"{MANIFEST}[traits]\nlimbs = 'word'", "unknown trait limbs, not one of limb, "),
        (f"{MANIFEST}[traits]\nlimb = 'u128'", "trait limb is 'u128', not one of 'word', "),
        (f"{MANIFEST}[traits]\ncode = '2 KB'", "trait code is '2 KB', not a whole number"),
        (f"{MANIFEST}[traits]\noperations = ['div7']", "unknown operation div7, not one of "),
    ],
)
def test_a_broken_manifest(kit: Path, text: str, message: str) -> None:
    (kit / "2-two/exercise.toml").write_text(text)
    with pytest.raises(LabError, match=message) as caught:
        stages.find(kit)
    assert "2-two/exercise.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_manifest(kit: Path) -> None:
    (kit / "2-two/exercise.toml").unlink()
    with pytest.raises(LabError, match="2-two/exercise.toml: .*No such file"):
        stages.find(kit)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1", [1]),
        ("1,2", [1, 2]),
        ("3-5", [3, 4, 5]),
        (" 1 , 3-4", [1, 3, 4]),
        ("2,1", [2, 1]),
        ("7-7", [7]),
    ],
)
def test_numbers(text: str, numbers: list[int]) -> None:
    assert stages.parse_numbers(text) == numbers


@pytest.mark.parametrize("text", ["", "one", "1,", "1-", "-1", "1;2", "1.5", "٣"])
def test_bad_numbers(text: str) -> None:
    with pytest.raises(LabError, match="give numbers like 1,2 or 3-5"):
        stages.parse_numbers(text)


def test_a_huge_range_ends() -> None:
    assert len(stages.parse_numbers("1-99999999999999999999")) == 100


def test_a_name_for_files_has_no_special_characters(tmp_path: Path) -> None:
    names = ["5-a,b", "5-a b", "5-a-b", "5-O'Neil $(x)", "5-許", "5-%\n"]
    keys = [stages.single(directory(tmp_path, name), name).key for name in names]
    assert keys[2] == names[2] and len(set(keys)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", key) for key in keys), keys


@pytest.mark.machine
@pytest.mark.skipif(stages.exported(), reason="needs a solved stage")
def test_a_stage_is_built_in_any_directory(tmp_path: Path) -> None:
    """A student's submission may be named "Lovelace, Ada"."""
    copy = tmp_path / "1-Lovelace, Ada (it's $5; ü)"
    shutil.copytree(stages.kit(1).directory, copy)
    stage = stages.single(copy, copy.name)
    built = stage_module.build(stage, machines.get("uml").kernel())
    assert built.ok, built.cause
    assert test_program.program(stage).is_file()
