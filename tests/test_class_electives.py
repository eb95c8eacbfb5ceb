# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test grading electives for a class: the same points as make elective=NAME check."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from electives import source_folder
from electives.memblock import verbs
from grader.base import marked_regions, paths
from grader.base.errors import LabError
from grader.exercise.files import exercises
from tests import class_submissions
from tests.class_submissions import class_sh, rows
from tests.leftovers import leftovers
from tests.sandbox_calls import needs_sandbox

pytestmark = [pytest.mark.machine, pytest.mark.timeout(1800)]
needs_parallel = pytest.mark.skipif(not shutil.which("parallel"), reason="no GNU parallel")
FUNCTION = "add_range.c"
CONSTRUCTOR = "__attribute__((constructor)) static void at_once(void)\n{\n\t%s\n}\n"


def _memblock(folder: Path, solved: bool, more: str = "") -> None:
    text = (paths.ROOT / "electives/memblock/solution" / FUNCTION).read_text()
    text = text if solved else marked_regions.skeleton(text, FUNCTION)
    folder.mkdir(parents=True)
    (folder / FUNCTION).write_text(text + more)


def _grade(tmp_path: Path, name: str) -> dict[str, dict[str, str]]:
    (tmp_path / "tmp").mkdir()
    completed = class_sh(
        tmp_path / "submissions", "--elective", name, "--seed", "7", "--out", tmp_path / "out",
        TMPDIR=str(tmp_path / "tmp"), HOME=str(tmp_path / "home"),
        XDG_CACHE_HOME=str(Path.home() / ".cache"),
    )  # fmt: skip
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert leftovers(tmp_path / "tmp") == []
    for path in (tmp_path / "out").rglob("*.*"):
        if path.suffix in (".csv", ".html", ".json"):
            text = path.read_text()
            places = [str(tmp_path / name) for name in ("submissions", "tmp", "out")]
            assert not any(said in text for said in (class_submissions.SECRET, *places)), path
    return rows(tmp_path / "out")


@pytest.mark.long
@needs_sandbox
@needs_parallel
def test_memblock_by_strangers(tmp_path: Path) -> None:
    secret, home = tmp_path / "secret", tmp_path / "home"
    secret.write_text(class_submissions.SECRET)
    home.mkdir()
    made = {
        "unfinished": ("", "wrong", "expected 2"),
        "broken": ("int x\n", "build-failed", "memblock/add_range.c does not compile"),
        "reads": (
            f'asm(".incbin \\"{secret}\\"");\n',
            "build-failed",
            ".incbin in assembly is not allowed",
        ),
        "writes": (
            "int open(const char *, int, ...);\n" + CONSTRUCTOR % f'open("{home}/x", 0101, 0644);',
            "wrong",
            "it calls open, which mm/memblock.c does not",
        ),
        "ends it": (
            "void _exit(int);\n" + CONSTRUCTOR % "_exit(0);",
            "wrong",
            "it calls _exit, which mm/memblock.c does not",
        ),
        "stands in": ("int signal(int a, void *b) { return 0; }\n", "wrong", "it defines signal"),
        "calls": (
            CONSTRUCTOR % 'asm volatile("syscall" : : "a"(60), "D"(0));',
            "build-failed",
            "asm is not allowed here",
        ),
    }
    for name, (more, _, _) in made.items():
        _memblock(tmp_path / "submissions" / name / "work/memblock", False, more)
    found = _grade(tmp_path, "memblock")
    for name, (_, status, cause) in made.items():
        row = found[name]
        assert (row["points"], row["status"]) == ("0", status) and cause in row["cause"], row
    assert list(home.iterdir()) == []
    page = next((tmp_path / "out/students").glob("broken-*")) / "index.html"
    assert "make elective=memblock check machine=qemu" in page.read_text()


@needs_sandbox
@needs_parallel
@pytest.mark.long
def test_memblock_has_the_points_of_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    _memblock(tmp_path / "submissions" / "right", True)
    text = (paths.ROOT / "electives/memblock/solution" / FUNCTION).read_text()
    slow = "\tfor (int i = 0; i < 2000; i++)\n\t\tbarrier();\n"
    for name, old, new in (("slow", "{\n", "{\n" + slow), ("half", "goto repeat", "goto out")):
        folder = tmp_path / "submissions" / name
        folder.mkdir()
        head, tail = text.split("memblock_add_range(", 1)
        (folder / FUNCTION).write_text(f"{head}memblock_add_range({tail.replace(old, new, 1)}")
    found = _grade(tmp_path, "memblock")
    assert found["right"]["points"] == "100" and found["right"]["status"] == "ok"
    assert found["slow"]["points"] != "100"
    for name in ("right", "slow", "half"):
        monkeypatch.setattr(source_folder, "WORK", tmp_path / "work" / name)
        shutil.copytree(tmp_path / "submissions" / name, tmp_path / "work" / name / "memblock")
        course = exercises.find("memblock").course
        own = [t.points for t, wrong in zip(course.tasks, verbs.judge("", 1)) if not wrong]
        assert found[name]["points"] == str(sum(own)), name


@needs_sandbox
@needs_parallel
@pytest.mark.long
def test_fibers_by_strangers(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(class_submissions.SECRET)
    (tmp_path / "home").mkdir()
    kernel = paths.ROOT / "electives/fibers/kernel"
    for name in ("right", "unfinished", "reads", "half"):
        folder = tmp_path / "submissions" / name
        folder.mkdir(parents=True)
        for path in kernel.glob("*.c"):
            text = path.read_text()
            if name == "unfinished" or (name == "half" and path.name == "storage.c"):
                text = marked_regions.skeleton(text, path.name)
            if name == "reads" and path.name == "fiber.c":
                text += f'asm(".incbin \\"{secret}\\"");\n'
            # Files without a task are the kit's, even if they are missing or changed.
            if name == "right" and path.name == "table.c":
                text += "#error changed\n"
            if name != "right" or path.name != "list.c":
                (folder / path.name).write_text(text)
        if name == "half":
            class_submissions.packed(folder, tmp_path / "submissions/half.tar.gz")
    found = _grade(tmp_path, "fibers")
    stands = {name: (row["points"], row["status"]) for name, row in found.items()}
    assert stands == {
        "right": ("100", "ok"), "unfinished": ("0", "wrong"),
        # fiber.c has tasks 2 and 4, and storage.c has task 3.
        "reads": ("60", "build-failed"), "half": ("80", "wrong"),
    }  # fmt: skip
    results = next((tmp_path / "out/students").glob("right-*")) / "results.json"
    assert "table.c is left out: the kit's own file" in results.read_text()

    # The folder name of an untrusted submission's build has a digest of 12 digits; the name of a
    # learner's own build has one of 8 digits.
    assert not list((paths.BUILD / "modules").rglob(f"fibers-{'[0-9a-f]' * 12}*.lock"))


def test_what_is_for_no_class_is_said() -> None:
    others = [name for name in exercises.electives() if not exercises.find(name).for_a_class]
    said_of = {**dict.fromkeys(others, "is not graded for a class"), "none": "there is no elective"}
    for name, said in said_of.items():
        with pytest.raises(LabError, match=f"{said}.*choose one of .*fibers"):
            exercises.for_a_class(name)
    assert sum(points for _, points in exercises.for_a_class("fibers").points) == 100
