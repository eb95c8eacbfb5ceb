# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make submissions for tests of class grading: correct, unfinished, wrong, hostile and others."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from grader.base import paths
from grader.course import skeleton
from tests import catalogue

SECRET = "what-the-host-keeps-to-itself"


def reference(folder: Path, stage: int) -> Path:
    """Copy the kit's own stage as a student's submission."""
    source = skeleton.reference(stage)
    return Path(shutil.copytree(source, folder / source.name))


def solved(folder: Path, stage: int, *tasks: int) -> Path:
    """Write the stage's skeleton with only these tasks solved."""
    return skeleton.write(stage, folder, frozenset(tasks))


def mistake(folder: Path, stage: int, name: str) -> Path:
    """Copy the stage with one of the mistakes that its handout shows."""
    fault = catalogue.shown_in_handouts(stage)[name]
    return catalogue.plant(fault, folder, stage)


def faulty(folder: Path, stage: int, name: str) -> Path:
    """Copy the stage with a fault that the grader's verification finds."""
    return catalogue.plant(catalogue.named(stage, name, "verification"), folder)


def added(folder: Path, stage: int, text: str) -> Path:
    """Copy the kit's own stage and append text to its fib.c."""
    made = reference(folder, stage)
    with (made / "fib.c").open("a") as file:
        file.write(text)
    return made


def hostile(secret: Path, home: Path) -> dict[str, str]:
    """Return harmful texts for fib.c, keyed by the kind of attack."""
    constructor = "__attribute__((constructor)) static void at_once(void)\n{\n%s\n}\n"
    return {
        "incbin": f'asm(".incbin \\"{secret}\\"");\n',
        "include": f'#include "{secret}"\n',
        "endless source": '#include "/dev/zero"\n',
        "writes home": "int open(const char *, int, ...);\n"
        + constructor % f'\topen("{home}/pwned", 0101, 0644);',
        "forks": "int fork(void);\n" + constructor % "\tfor (;;)\n\t\tfork();",
        "prints": "int puts(const char *);\n" + constructor % '\tfor (;;)\n\t\tputs("x");',
        "kills": "int kill(int, int);\n" + constructor % "\tkill(-1, 9);",
        "system call": 'static long raw(void)\n{\n\tlong r;\n\n\tasm volatile("syscall"'
        ' : "=a"(r) : "a"(57));\n\treturn r;\n}\n' + constructor % "\traw();",
        "keeps output open": "int fork(void);\nint pause(void);\n"
        + constructor % "\tif (!fork())\n\t\tpause();",
    }


def packed(directory: Path, archive: Path) -> None:
    """Pack the directory as zip or tar, depending on the archive's name. Remove the directory."""
    files = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    if archive.name.endswith(".zip"):
        with zipfile.ZipFile(archive, "w") as out:
            for path in files:
                out.write(path, path.relative_to(directory))
    else:
        with tarfile.open(archive, "w:gz") as out_tar:
            for path in files:
                out_tar.add(path, path.relative_to(directory))
    shutil.rmtree(directory)


def class_sh(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run grader/class.sh without its setup, because the test setup has installed everything."""
    return subprocess.run(command(*words), env={**os.environ, **environment}, capture_output=True,
                          text=True, timeout=3000, cwd="/")  # fmt: skip


def command(*words: str | Path) -> list[str]:
    """Return the command that grader/class.sh runs."""
    module = [sys.executable, str(paths.SCRIPTS / "module.py"), "grader.class_command"]
    return [*module, *map(str, words)]


def rows(out: Path) -> dict[str, dict[str, str]]:
    """Return the rows of class.csv, keyed by student."""
    text = (out / "class.csv").read_text(encoding="utf-8")
    return {row["student"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}


Maker = Callable[[Path], object]


def of_stage_5(secret: Path, home: Path) -> dict[str, tuple[Maker, str, str, str]]:
    """Return the kinds of submissions for stage 5, keyed by name.

    Each entry contains the function that creates the submission, and its expected points, status
    and a substring of its expected cause.
    """
    kinds: dict[str, tuple[Maker, str, str, str]] = {
        "right": (lambda f: reference(f, 5), "100", "ok", ""),
        "skeleton": (lambda f: solved(f, 5), "0", "wrong", "expected 55, got 0"),
        "subtract": (lambda f: solved(f, 5, 1), "10", "wrong", ""),
        "two tasks": (lambda f: solved(f, 5, 1, 2), "30", "wrong", ""),
        "no square": (lambda f: solved(f, 5, 1, 2, 4), "40", "wrong", ""),
        "broken": (lambda f: added(f, 5, "int x\n"), "0", "build-failed", "fib.c:"),
        "empty": (lambda f: f.mkdir(), "0", "refused", "the submission holds no C file"),
        "a link": (lambda f: f.symlink_to("/etc"), "0", "refused", "the submission is a link"),
        "keeps a count": (
            lambda f: added(f, 5, "int count = 7;\n"), "0", "wrong", "stage.h allows no writable"
        ),
        "wrong stage": (
            lambda f: faulty(f, 1, "off-by-one"), "0", "refused", "the submission holds no stage 5"
        ),
    }  # fmt: skip
    for name, points in (
        ("no cast", "20"),
        ("half the triangle", "46"),
        ("carry of a row dropped", "46"),
        ("carry that stops", "46"),
    ):
        kinds[name] = (lambda f, name=name: mistake(f, 5, name), points, "wrong", "")  # type: ignore[misc]
    for name, text in hostile(secret, home).items():
        # A module that calls a function outside of the kernel cannot be built.
        status = "wrong" if name == "system call" else "build-failed"
        kinds[name] = (lambda f, text=text: added(f, 5, text), "0", status, "")  # type: ignore[misc]
    return kinds
