# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the store of compiled files: which builds use a stored file, and which compile again."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import object_store, paths
from grader.exercise.files import stages
from grader.exercise.operations import test_program
from grader.lab import module
from grader.lab.module import Kernel, Module, Recipe

SOURCE = b"""#include <linux/module.h>
#include "own.h"
static int __init begin(void) { return OWN; }
module_init(begin);
MODULE_LICENSE("GPL");
"""
FILES = {"small.c": SOURCE, "own.h": b"#define OWN 0\n"}
RECIPE = Recipe("small", "small", FILES, ("small",), labels={"": "small"})
UNUSED = {"small.c": b"static void unused(void) { }\n" + SOURCE}


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Use a separate store. Return a list, to which each command of a later build is added."""
    commands: list[list[str]] = []
    make = module._make

    def noted(command: list[str], *more: object) -> object:
        commands.append(command)
        return make(command, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(object_store, "FOLDER", tmp_path / "objects")
    monkeypatch.setattr(module, "_make", noted)
    return commands


def built(place: Path, recipe: Recipe, kernel: Kernel) -> Module:
    """Build in another checkout."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "BUILD", place)
        return module.build(recipe, kernel)


@pytest.mark.machine
def test_an_equal_build_is_taken_from_the_store_unless_it_is_damaged(
    tmp_path: Path, kernel: Kernel, compiled: list[list[str]]
) -> None:
    first = built(tmp_path / "1", RECIPE, kernel)
    assert first.ok and len(compiled) == 2, first.cause
    second = built(tmp_path / "2", RECIPE, kernel)
    assert second.ok and len(compiled) == 2
    assert second.path.read_bytes() == first.path.read_bytes()
    assert second.stripped.read_bytes() == first.stripped.read_bytes()
    record = (second.directory / ".small.o.cmd").read_text()
    assert str(second.directory) in record and str(first.directory) not in record

    # After a change of the module, its build must not use the stored object.
    changed = replace(RECIPE, files={**FILES, "own.h": b"#define OWN -5\n"})
    assert built(tmp_path / "2", changed, kernel).ok and len(compiled) == 4
    assert second.path.read_bytes() != first.path.read_bytes()

    for entry in object_store.FOLDER.iterdir():
        entry.write_bytes(entry.read_bytes()[:-1] + b"x")
    third = built(tmp_path / "3", RECIPE, kernel)
    assert third.ok and len(compiled) == 6
    # Even the debug information does not depend on the directory of the build.
    assert third.path.read_bytes() == first.path.read_bytes()
    assert built(tmp_path / "4", RECIPE, kernel).ok and len(compiled) == 6


@pytest.mark.machine
def test_a_build_with_warnings_and_an_untrusted_build_are_not_stored(
    tmp_path: Path, kernel: Kernel, compiled: list[list[str]]
) -> None:
    warned = replace(RECIPE, files={**FILES, **UNUSED})
    for place in ("1", "2"):
        assert "unused" in built(tmp_path / place, warned, kernel).warnings[0]
    assert not object_store.FOLDER.exists()
    untrusted = replace(RECIPE, isolated=True)
    assert built(tmp_path / "3", untrusted, kernel).ok
    assert not object_store.FOLDER.exists()


def test_what_a_build_depends_on_is_in_its_key(tmp_path: Path) -> None:
    kernel = Kernel("one", tmp_path, "um", "6.1", "gcc 12")
    (tmp_path / ".config").write_text("CONFIG_X=y\n")
    others = [
        replace(RECIPE, flags=("-DMORE",)),
        replace(RECIPE, settings=("UBSAN_SANITIZE := n",)),
        replace(RECIPE, labels={"": "other"}),
        replace(RECIPE, files={**FILES, "own.h": b"#define OWN 1\n"}),
        replace(RECIPE, files={**FILES, **UNUSED}),
        replace(RECIPE, shared=replace(RECIPE, flags=("-DSHARED",))),
    ]
    kernels = [replace(kernel, compiler="gcc 13"), replace(kernel, extra_cflags=("-DX",))]
    keys = [module._store_key(recipe, kernel) for recipe in (RECIPE, *others)]
    keys += [module._store_key(RECIPE, other) for other in kernels]
    assert module._store_key(replace(RECIPE, folder="another"), kernel) == keys[0]
    # Change the configuration, as another build of the kernel may.
    (tmp_path / ".config").write_text("CONFIG_X=y\nCONFIG_Y=y\n")
    keys.append(module._store_key(RECIPE, kernel))
    assert len(set(keys)) == len(keys)


def test_of_a_program_only_changed_files_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "FOLDER", tmp_path / "objects")
    monkeypatch.setattr(test_program, "PROGRAMS", tmp_path / "programs")
    commands: list[list[str]] = []
    compile_ = test_program._ProgramBuilder.compile

    def noted(self: object, command: list[str], *more: object) -> None:
        commands.append([Path(word).name for word in command if word.endswith((".c", ".o"))])
        compile_(self, command, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(test_program._ProgramBuilder, "compile", noted)

    def compiled_of(place: str, more: str = "") -> set[str]:
        copy = tmp_path / place / "copy" / "1-iterative-u64"
        shutil.copytree(stages.kit(1).directory, copy)
        with (copy / "decimal.c").open("a") as file:
            file.write(more)
        commands.clear()
        assert test_program.program(stages.single(copy, copy.name)).is_file()
        return {name for names in commands for name in names if name.endswith(".c")}

    own = {"fib.c", "decimal.c"}
    kit = {"unit_tests.c", "failures.c", "word_tests.c", "account_malloc.c"}
    assert compiled_of("1") == own | kit
    assert compiled_of("2") == set()
    assert compiled_of("3", "void more(void);\n") == {"decimal.c"}


def test_what_is_not_used_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "FOLDER", tmp_path)
    monkeypatch.setattr(object_store, "LIMIT_BYTES", 2_500)
    monkeypatch.setattr(object_store, "TRIM_EVERY", 1)
    for number, name in enumerate("abc"):
        object_store.keep(name, {"data": os.urandom(1_000)})
        os.utime(tmp_path / name, (number, number))
        assert object_store.fetch("a")  # This makes the entry the most recently used one.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c"]
    assert object_store.fetch("b") == {}


def test_a_program_without_its_numbers_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program of an earlier version of the kit has no file with the numbers beside it."""
    monkeypatch.setattr(test_program, "PROGRAMS", tmp_path / "programs")
    path = test_program.program(stages.kit(2))
    numbers = test_program.compared(path)
    path.with_suffix(test_program.COMPARED).unlink()
    assert test_program.compared(test_program.program(stages.kit(2))) == numbers != ()
