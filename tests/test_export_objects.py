# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the reference's objects in an exported course: their contents and the symbols they use."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from grader.base.errors import LabError
from grader.course.export import objects

COMPILED = ("gcc", "-O2", "-ffreestanding", "-fno-pic", "-fno-stack-protector", "-c")


def made_of(tmp_path: Path, text: str) -> Path:
    (tmp_path / "x.c").write_text(text)
    target = tmp_path / "x.o"
    subprocess.run([*COMPILED, "-o", str(target), "x.c"], cwd=tmp_path, check=True)
    return target


def test_an_object_that_other_kernels_cannot_link_is_refused(tmp_path: Path) -> None:
    text = "int f(void), fib_alloc(void);\nint fib_compute(void) { return f(); }\n"
    objects._check_imports(made_of(tmp_path, text.replace("f()", "fib_alloc()")))
    with pytest.raises(LabError, match="uses f, which other kernels may not have"):
        objects._check_imports(made_of(tmp_path, text))


def test_of_an_object_only_code_and_constants_are_shipped(tmp_path: Path) -> None:
    target = made_of(
        tmp_path,
        'static int own[1] __attribute__((section("__mcount_loc"), used));\n'
        "const int table[2] = { 1, 2 };\nint fib_compute(int i) { return table[i]; }\n",
    )
    others = objects._others(target)
    assert {"__mcount_loc", ".comment"} <= set(others)
    assert not {".text", ".rodata", ".symtab", ".rela.text"} & set(others)
    assert objects._new_names(target) == ["--redefine-sym=own=f1", "--redefine-sym=table=f2"]
