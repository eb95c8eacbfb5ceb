# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that all builds of a stage accept the same C: module, unit tests and programs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from grader.base import paths
from grader.base.errors import LabError
from grader.exercise.build import c_flags, stage_module
from grader.exercise.files import stages
from grader.exercise.operations import test_program
from grader.lab.module import Kernel
from tests.test_author_build import SOURCE

USER = paths.COMMON / "userspace"
FLAVOURS = ("plain", "noasm", "asan", "asan-noasm")
# Each build must accept this C code, at most with a warning, because the kernel accepts it.
ACCEPTED = """\
int not_static(int size)
{
	char bytes[1];
	int unused;

	bytes[0] = 0;
	int mixed = bytes[0];

	for (int i = 0; i < 3; i++)
		mixed += i;
	return mixed;
}

static int falls_through(int a, unsigned char *from)
{
	char *sign = from;

	switch (a) {
	case 1:
		a = *sign;
	case 2:
		return a;
	}
	return a < sizeof(a);
}

int without_prototype(int a)
{
	return falls_through(a, (unsigned char *)"a");
}
"""
REFUSED = {
    "not declared": "int f(void)\n{\n\treturn nowhere(1);\n}\n",
    "no prototype": "int f();\n",
    "an array of variable length": "int f(int a)\n{\n\tchar b[a];\n\n\treturn sizeof(b);\n}\n",
    "no type": "static f(void)\n{\n\treturn 1;\n}\n",
    "no value": "int f(int a)\n{\n\tif (a)\n\t\treturn 1;\n}\n",
    "another pointer": "int *f(long *p)\n{\n\treturn p;\n}\n",
    "a date": "const char *f(void)\n{\n\treturn __DATE__;\n}\n",
    "floating point": "int f(int a)\n{\n\treturn a * 0.3;\n}\n",
    "own header as the system's": '#include <own.h>\n',
}  # fmt: skip


def verdicts(folder: Path, text: str, kernel: Kernel) -> dict[str, str]:
    """Build a stage 1 with this text in every way. Return each error, or "" if none."""
    directory = folder / "1-same"
    directory.mkdir()
    (directory / "fib.c").write_text(SOURCE.replace("\t\tTRACE\n", "") + text)
    (directory / "own.h").write_text("/* nothing */\n")
    (directory / "exercise.toml").write_text(
        (stages.kit(1).directory / "exercise.toml").read_text()
    )
    stage = stages.single(directory, directory.name, 1)
    found = {"module": stage_module.build(stage, kernel).cause, "functions": ""}
    try:
        test_program.program(stage)
    except LabError as error:
        found["functions"] = str(error)
    for flavour in FLAVOURS:
        call = ["make", "-s", "-C", str(USER), f"STAGE_DIR={directory}", f"FLAVOUR={flavour}"]
        made = subprocess.run(
            [*call, f"OUT={folder / flavour}", "all", "so"],
            capture_output=True,
            text=True,
            env={**os.environ, "MAKEFLAGS": ""},
        )
        found[flavour] = made.stderr if made.returncode else ""
    return found


@pytest.mark.once
@pytest.mark.machine
def test_every_build_accepts(tmp_path: Path, kernel: Kernel) -> None:
    assert {k: v for k, v in verdicts(tmp_path, ACCEPTED, kernel).items() if v} == {}


@pytest.mark.once
@pytest.mark.machine
@pytest.mark.parametrize("what", REFUSED)
def test_every_build_refuses(what: str, tmp_path: Path, kernel: Kernel) -> None:
    assert [k for k, v in verdicts(tmp_path, REFUSED[what], kernel).items() if not v] == []


def test_a_function_aligns_the_vectors_on_its_stack(tmp_path: Path) -> None:
    """Its callers in the kernel align the stack to 8 bytes only."""
    source = tmp_path / "vectors.c"
    source.write_text(
        "typedef int vec __attribute__((vector_size(16)));\n"
        "void use(vec *v);\n"
        "void on_the_stack(vec v)\n{\n\tuse(&v);\n}\n"
    )
    command = ["gcc", "-O2", "-S", "-o", "-", *c_flags.vector(), str(source)]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "andq\t$-16, %rsp" in made
