# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that a test with the marker `once` is skipped only if nothing that it uses has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import catalogue
import once
import pytest

from grader.base import object_store, paths

FILES = {
    "stages/1-first/fib.c": "int fib;",
    "grader/base/run.py": "",
    "grader/exercise/build/flags.py": "",
    "Makefile": "",
    ".github/ci.yml": "",
    "README.md": "",
    "handouts/1.md": "",
    "tests/conftest.py": "",
    "tests/helper.py": "import deeper",
    "tests/deeper.py": "",
    "tests/test_one.py": "from helper import x\nfrom tests.pages import y",
    "tests/pages.py": "",
    "tests/test_other.py": "",
    "tests/faults/1.toml": "",
    "tests/programs/deep/queens.c": "",
    "tests/registers.c": "",
}


@pytest.fixture
def item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(once, "TESTS", tmp_path / "tests")
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    path = tmp_path / "tests/test_one.py"
    markers = {"once": pytest.mark.once}
    return SimpleNamespace(
        nodeid="tests/test_one.py::test",
        path=path,
        markers=markers,
        get_closest_marker=markers.get,
    )


def key(item: Any) -> str:
    once.forget()
    return once.key(item)


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file(name: str, item: Any, tmp_path: Path) -> None:
    before = key(item)
    assert key(item) == before
    (tmp_path / name).write_text(f"{FILES[name]} # changed")
    same = name in ("README.md", ".github/ci.yml", "handouts/1.md", "tests/test_other.py")
    assert (key(item) == before) is same


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_of_a_test_of_all_files(name: str, item: Any, tmp_path: Path) -> None:
    item.markers["once"] = pytest.mark.once(all_files=True)
    before = key(item)
    for other in ("build/log", "work/1/fib.c", ".git/index", ".mypy_cache/x", "a/__pycache__/b"):
        (tmp_path / other).parent.mkdir(parents=True)
        (tmp_path / other).write_text("")
    assert key(item) == before
    (tmp_path / name).write_text(f"{FILES[name]} # changed")
    assert key(item) != before


def add_a_file(item: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (paths.ROOT / "stages/1-first/new.h").write_text("")


def remove_a_file(item: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (paths.ROOT / "grader/base/run.py").unlink()


def set_a_variable(item: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_SEED", "8")


def change_the_compiler(item: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "compiler_version", lambda name: "gcc 99")


def add_a_kernel(item: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (paths.ROOT / "uml-9").mkdir()
    monkeypatch.setattr(paths, "CACHE", paths.ROOT)


def change_a_parameter(item: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    item.callspec = SimpleNamespace(params={"number": 2})


@pytest.mark.parametrize(
    "change",
    [add_a_file, remove_a_file, set_a_variable, change_the_compiler, add_a_kernel,
     change_a_parameter],
)  # fmt: skip
def test_what_else_may_change(
    change: Callable[[Any, pytest.MonkeyPatch], None], item: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key(item)
    change(item, monkeypatch)
    assert key(item) != before


def test_a_fault_depends_on_its_own_text_only(item: Any, tmp_path: Path) -> None:
    fault, other = catalogue.all_faults()[:2]
    item.callspec = SimpleNamespace(params={"fault": fault})
    before = key(item)
    (tmp_path / "tests/faults/1.toml").write_text("changed")
    assert key(item) == before
    item.callspec.params["fault"] = other
    assert key(item) != before


def test_a_record_counts_for_a_week(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "FOLDER", tmp_path)
    name = object_store.key("a test")
    assert not once.has_passed(name, 1000)
    once.record(name, 1000)
    assert once.has_passed(name, 1000 + once.WEEK - 1)
    assert not once.has_passed(name, 1000 + once.WEEK)


TESTS = """
import os
import once
import pytest

@pytest.fixture
def bad_end():
    yield
    assert False

@pytest.mark.once
def test_right(): pass
@pytest.mark.once
def test_wrong(): assert "RIGHT" in os.environ
@pytest.mark.once
def test_ends_badly(bad_end): pass
@pytest.mark.once
def test_looks_at_other_keys(monkeypatch):
    monkeypatch.setattr(once.paths, "ROOT", once.TESTS)
    once.forget()
    once._surroundings(False)
@pytest.mark.once
def test_is_skipped(): pytest.skip("for a reason")
@pytest.mark.once
def test_edits_its_file():
    if "EDIT" in os.environ:
        with open(__file__, "a") as file:
            file.write("#")
@pytest.mark.once
@pytest.mark.always
def test_that_always_runs(): pass
"""


def test_a_run_skips_what_has_passed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "test_some.py").write_text(TESTS)

    def run(*words: str, **variables: str) -> str:
        found = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", *words, "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={k: v for k, v in os.environ.items() if k not in ("LAB_TESTS", "PYTEST_ADDOPTS")}
            | {"PYTHONPATH": f"{paths.ROOT}:{Path(__file__).parent}", "LAB_CACHE": str(tmp_path)}
            | variables,
        )
        return found.stdout.splitlines()[-1]

    assert run(EDIT="y").startswith("1 failed, 5 passed, 1 skipped, 1 error")
    assert run(once.OPTION, EDIT="y").startswith("1 failed, 5 passed, 1 skipped, 1 error")
    # Because the file was edited while the tests ran, none was recorded.
    assert run(once.OPTION).startswith("1 failed, 5 passed, 1 skipped, 1 error")
    # The right test and the one that edits were recorded.
    assert run(once.OPTION).startswith("1 failed, 2 passed, 4 skipped, 1 error")
    assert run(once.OPTION, RIGHT="y").startswith("3 passed, 4 skipped, 1 error")
    assert run(once.OPTION).startswith("2 passed, 5 skipped, 1 error")
    assert run().startswith("1 failed, 5 passed, 1 skipped, 1 error")
    assert run(once.OPTION, LAB_TESTS="long").startswith("1 failed, 5 passed, 1 skipped, 1 error")
