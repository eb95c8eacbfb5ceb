# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test rules on the layers of grader/ that imports do not show; .importlinter checks imports."""

from __future__ import annotations

import configparser
import re
import subprocess
from pathlib import Path

import pytest

from grader.base import paths

GRADER = paths.ROOT / "grader"
# The layer `lab` must not contain these names: the kit's device, client, functions and folders.
KITS_OWN = re.compile(r"\b(fib\w*|fibonacci|stages?|handouts?|work/|expected/)\b", re.IGNORECASE)
# The kit's own name, which is part of folder names, occurs in grader/base only.
TEXT = (".py", ".c", ".h", "")


def layers() -> list[list[str]]:
    """Return the layers from the top down, as .importlinter lists them."""
    parser = configparser.ConfigParser()
    parser.read(paths.ROOT / ".importlinter")
    lines = parser["importlinter:contract:layers"]["layers"].split("\n")
    return [re.split(r" [|:] ", line) for line in lines if line]


def files(layer: str) -> list[Path]:
    """Return all files of a layer."""
    return [
        path
        for path in sorted((GRADER / layer).rglob("*"))
        if path.is_file() and path.suffix in TEXT and "__pycache__" not in path.parts
    ]


def mentions(path: Path) -> list[str]:
    """Return the kit's names that occur in a file."""
    return sorted(set(KITS_OWN.findall(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("path", files("lab"), ids=lambda path: path.name)
def test_the_lab_knows_nothing_of_the_kit(path: Path) -> None:
    assert mentions(path) == []


def test_what_the_lab_may_not_say_is_found(tmp_path: Path) -> None:
    for text in ('"/dev/fibonacci"', "fibctl batch", '"stages/1-x"', "fib_alloc+0x1", "FIBDRV_X"):
        (tmp_path / "x.py").write_text(f"X = {text}\n")
        assert mentions(tmp_path / "x.py"), text


def test_every_folder_is_a_floor_and_every_floor_a_folder_or_a_door() -> None:
    named = {name for layer in layers() for name in layer}
    there = {p.parent.name for p in GRADER.glob("*/__init__.py")} | {
        p.stem for p in GRADER.glob("*.py") if p.stem != "__init__"
    }
    assert named == there


def test_c_files_include_nothing_from_above() -> None:
    order = [name for layer in reversed(layers()) for name in layer]
    for path in GRADER.rglob("*.[ch]"):
        layer = path.relative_to(GRADER).parts[0]
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            homes = [p for p in GRADER.rglob(Path(name).name) if p.is_file()]
            for home in homes:
                above = home.relative_to(GRADER).parts[0]
                assert order.index(above) <= order.index(layer), f"{path} includes {home}"


def test_scripts_call_doors_only() -> None:
    """`make` and the scripts call only modules that have a command-line interface."""
    called = set()
    scripts = (paths.ROOT / "scripts").glob("*")
    for path in [paths.ROOT / "Makefile", *GRADER.glob("*.sh"), *scripts]:
        if path.is_file():
            called |= set(re.findall(r"\bgrader(?:\.\w+)+(?=[\s\"')]|$)", path.read_text()))
    for name in called:
        path = paths.ROOT / f"{name.replace('.', '/')}.py"
        package = paths.ROOT / name.replace(".", "/") / "__main__.py"
        assert path.is_file() or package.is_file(), name
        text = (path if path.is_file() else package).read_text()
        assert '__name__ == "__main__"' in text, f"{name} is called but is no command line"


def test_an_import_from_above_is_refused(tmp_path: Path) -> None:
    """The linter fails if a file of the lab, a metric or an elective imports a stage module."""
    copy = tmp_path / "grader"
    subprocess.run(["cp", "-r", str(GRADER), str(copy)], check=True)
    subprocess.run(["cp", "-r", str(paths.ROOT / "electives"), str(tmp_path)], check=True)
    (tmp_path / ".importlinter").write_text((paths.ROOT / ".importlinter").read_text())
    command = [
        str(paths.SCRIPTS / "python.sh"),
        "-c",
        "from importlinter.cli import lint_imports_command as lint; lint()",
        "--no-cache",
    ]

    def lint() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
            capture_output=True,
            text=True,
        )

    assert lint().returncode == 0
    for layer, file in (
        ("lab", "guest_channel.py"),
        ("measure", "timing.py"),
        ("report", "text.py"),
    ):
        path = copy / layer / file
        before = path.read_text()
        path.write_text(f"{before}\nfrom grader.exercise.files import stages  # noqa\n")
        completed = lint()
        assert completed.returncode != 0
        assert f"grader.{layer}.{file[:-3]} -> grader.exercise" in completed.stdout
        path.write_text(before)
    path = sorted((tmp_path / "electives").glob("*/verbs.py"))[0]
    before = path.read_text()
    path.write_text(f"{before}\nfrom grader.exercise.files import stages  # noqa\n")
    completed = lint()
    assert completed.returncode != 0
    assert f"electives.{path.parent.name}.verbs -> grader.exercise" in completed.stdout
    path.write_text(before)
    (copy / "attic").mkdir()
    (copy / "attic/__init__.py").write_text("")
    assert lint().returncode != 0, "a folder is not a layer"
