# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the build of a stage: the source files that it uses, their flags, and error messages."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import object_store, paths
from grader.exercise.build import diagnostics, stage_module
from grader.exercise.build.preprocess import Texts
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.lab import machines, module
from grader.lab.module import Kernel, Module
from grader.sandbox import COMPILER

MANIFEST = stages.manifests()[1]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Return a stage in a temporary folder, with the sources of the kit's stage 1."""
    directory = tmp_path / "tree" / "1-mine"
    directory.mkdir(parents=True)
    for path in (paths.STAGES / "1-iterative-u64").glob("*.[ch]"):
        (directory / path.name).write_bytes(path.read_bytes())
    return Stage(directory, MANIFEST)


def taken(stage: Stage) -> tuple[list[str], list[str]]:
    """Return the names of the sources, and the notes about files that the build omits."""
    excluded: list[str] = []
    return [path.name for path in stage_module.sources(stage, excluded)], excluded


def test_sources(stage: Stage) -> None:
    (stage.directory / "more-c_2.h").write_text("")
    (stage.directory / "notes.txt").write_text("")
    (stage.directory / "exercise.toml").write_text("max_n = 5")
    assert taken(stage) == (["decimal.c", "fib.c", "more-c_2.h"], [])


@pytest.mark.parametrize("name", ["Makefile", "Kbuild", "Makefile.include"])
def test_build_files_are_left_out(stage: Stage, name: str) -> None:
    (stage.directory / name).write_text("")
    assert taken(stage)[1] == [f"{name} is left out: only the kit's own build files are used"]


@pytest.mark.parametrize("name", ["stage.h", "fibdrv.h", "account.c", "driver.c"])
def test_the_kits_own_files_are_left_out(stage: Stage, name: str) -> None:
    (stage.directory / name).write_text("#error not to be used")
    names, warnings = taken(stage)
    assert name not in names
    assert warnings == [f"{name} is left out: the kit's own file of this name is used"]


@pytest.mark.parametrize(
    "name",
    ["a b.c", "$(shell id).c", "a;b.h", "ä.c", "a\nb.c", "-DX=`id`.c", "a.b.c", "'.c", "-ofib.c"],
)
def test_hostile_names_are_left_out(stage: Stage, name: str) -> None:
    (stage.directory / name).write_text("")
    names, warnings = taken(stage)
    assert name not in names
    assert len(warnings) == 1 and "\n" not in warnings[0]
    assert warnings[0].endswith("its name must consist of letters and digits")


def test_the_object_of_a_file_that_is_gone_is_nobodys(stage: Stage, tmp_path: Path) -> None:
    """The object of a deleted source is not linked: another file may define its functions."""
    (tmp_path / "stage").mkdir()
    for name in ("fib.c", "fib.o", "gone.o", "kept.o", "kept.o_shipped"):
        (tmp_path / "stage" / name).touch()
    built = BuiltStage(stage, Module("fibdrv", tmp_path))
    assert [path.name for path in stage_module.stage_objects(built)] == ["fib.o", "kept.o"]


def test_links_to_outside_are_left_out(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "secret.c").write_text("")
    (stage.directory / "linked.c").symlink_to(tmp_path / "secret.c")
    (stage.directory / "up.c").symlink_to("../../secret.c")
    (stage.directory / "gone.c").symlink_to("nowhere.c")
    (stage.directory / "inside.c").symlink_to("fib.c")
    names, warnings = taken(stage)
    assert names == ["decimal.c", "fib.c", "inside.c"]
    assert warnings == [
        f"{name} is left out: not a file of this directory"
        for name in ("gone.c", "linked.c", "up.c")
    ]


def test_what_is_no_file_is_left_out(stage: Stage) -> None:
    (stage.directory / "folder.c").mkdir()
    os.mkfifo(stage.directory / "fifo.c")  # reading a FIFO would block
    assert taken(stage)[0] == ["decimal.c", "fib.c"]
    assert len(taken(stage)[1]) == 2


def test_no_sources(tmp_path: Path) -> None:
    (tmp_path / "1-empty").mkdir()
    built = stage_module.build(Stage(tmp_path / "1-empty", MANIFEST), _no_kernel())
    assert not built.ok
    assert built.cause.endswith("1-empty holds no C file: write fib.c and decimal.c")


def _no_kernel() -> Kernel:
    return Kernel("none", Path("/nowhere"), "um", "0", "none")


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (
            "x.c: In function 'f':\nx.c:3:1: warning: unused\nx.c:7:20: error: expected ';'\n"
            "make[1]: *** [x.o] Error 1\n",
            "x.c:7:20: error: expected ';'",
        ),
        ("a b/x.c:1:10: fatal error: no.h: None\n", "a b/x.c:1:10: fatal error: no.h: None"),
        ("a\ncc1: out of memory\nmake: *** x\n", "cc1: out of memory"),
        ('ERROR: modpost: "f" [m] undefined!\nmake: *** x\n', 'ERROR: modpost: "f" [m] undefined!'),
        ("ld: b: multiple definition of `f'\nmake: *** x\n", "ld: b: multiple definition of `f'"),
        ("make: *** No rule to make target 'x'.\n", "make: *** No rule to make target 'x'."),
        ("what is this\n\n", "what is this"),
        ("", "make failed and printed nothing"),
    ],
)  # fmt: skip
def test_error_line(log: str, line: str) -> None:
    assert module._error_line(log) == line


def test_of_a_large_frame_is_said_what_it_is_large_against() -> None:
    log = (
        "work/1-x/fib.c: In function 'fib_compute':\n"
        "work/1-x/fib.c:27:1: warning: the frame size of 40000 bytes is larger than 2048 bytes"
        " [-Wframe-larger-than=]\n"
        "work/1-x/fib.c: In function 'other':\n"
        "work/1-x/fib.c:30:5: warning: unused variable 'x' [-Wunused-variable]\n"
    )
    said = module._warnings(log)
    assert said == (
        "work/1-x/fib.c:27:1: warning: fib_compute keeps 40,000 bytes on the stack,"
        " and a kernel's stack has 16 KB in all",
        "work/1-x/fib.c:30:5: warning: unused variable 'x' [-Wunused-variable]",
    )
    made = module.Module("x", Path("/nowhere"), warnings=said)
    assert module.large_frame(made) == (
        "fib_compute keeps 40,000 bytes on the stack, and a kernel's stack has 16 KB in all"
        " (work/1-x/fib.c:27)"
    )
    assert module.large_frame(module.Module("x", Path("/nowhere"), warnings=said[1:])) == ""


def test_readable_paths(stage: Stage) -> None:
    log = "/b/stage/fib.c:1: error: x\n/b/kit/account.c:2: error: y\n/b/kit/driver.c:3: error: z\n"
    shown = stage_module._recipe(stage, _no_kernel(), Texts()).shown
    assert module.readable(log, Path("/b"), shown) == (
        f"{stage.directory}/fib.c:1: error: x\ncommon/account.c:2: error: y\n"
        "common/driver.c:3: error: z\n"
    )


def test_readable_paths_of_a_driver(stage: Stage) -> None:
    log = "/b/stage/fib.c:1: error: x\n/b/kit/account.c:2: error: y\n/b/kit/driver.c:3: error: z\n"
    (stage.directory / "driver.c").write_text("")
    shown = stage_module._recipe(replace(stage, own_driver=True), _no_kernel(), Texts()).shown
    assert module.readable(log, Path("/b"), shown) == (
        f"{stage.directory}/fib.c:1: error: x\ncommon/account.c:2: error: y\n"
        f"{stage.directory}/driver.c:3: error: z\n"
    )


@pytest.mark.machine
def test_what_would_fill_the_disk_is_no_stage(tmp_path: Path, kernel: Kernel) -> None:
    directory = tmp_path / "1-large"
    directory.mkdir()
    (directory / "fib.c").write_text('asm(".fill 100000000");\n')
    (directory / "huge.c").touch()
    os.truncate(directory / "huge.c", 1 << 40)
    built = stage_module.build(stages.single(directory, directory.name), kernel)
    assert built.cause == diagnostics.TOO_LARGE
    assert any("huge.c is left out: larger than" in said for said in built.excluded)


@pytest.mark.parametrize(
    "name",
    ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "KBUILD_EXTMOD", "KCFLAGS", "CFLAGS",
     "ARCH", "CROSS_COMPILE", "V", "M", "O", "CC", "LLVM", "LC_MESSAGES", "LANGUAGE"],
)  # fmt: skip
def test_environment_of_the_build(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    assert name not in module.environment()
    assert (module.environment()["LC_ALL"], module.environment()["LANG"]) == ("C", "C")
    assert "PATH" in module.environment()


def test_a_folder_that_kbuild_cannot_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "BUILD", Path("/home/me/my lab/build"))
    folder = module._kbuild_base()
    assert " " not in str(folder) and folder.name.startswith("fibdrv-lab-modules-")


@pytest.fixture
def outside(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Return the stage in a folder whose name has characters that shells and make interpret."""
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    odd = tmp_path / "it's $(odd) & so on"
    stage.directory.parent.rename(odd)
    return Stage(odd / stage.directory.name, MANIFEST)


@pytest.mark.machine
def test_build(
    outside: Stage, kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "FOLDER", tmp_path / "objects")
    built = stage_module.build(outside, kernel)
    assert (built.ok, built.cause, built.violations) == (True, "", ())
    assert built.module.stripped.stat().st_size < built.module.path.stat().st_size
    made = built.module.path.stat().st_mtime_ns

    again = stage_module.build(outside, kernel)
    assert again.ok and again.module.path.stat().st_mtime_ns == made
    assert not again.module.log  # no file has changed

    (outside.directory / "fib.c").write_text('#include "stage.h"\n\nint x = y;\n')
    broken = stage_module.build(outside, kernel)
    assert broken.cause == (
        f"{outside.directory}/fib.c:3:9: error: 'y' undeclared here (not in a function)"
    )


@pytest.mark.once
@pytest.mark.machine
@pytest.mark.parametrize("of", ["uml", "qemu"])
def test_remembered_options(of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A build that remembers the compiler's options gives the object and the command of one that
    # asks for them, and an option that the compiler has refused is asked for again.
    kernel = machines.get(of).kernel()
    monkeypatch.setattr(object_store, "FOLDER", tmp_path / "objects")
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    (tmp_path / "small").mkdir()
    source = tmp_path / "small" / "small.c"
    text = '#include <linux/module.h>\nMODULE_LICENSE("GPL");\n'
    remembered, made = [], []
    for number in (1, 2, 1):
        source.write_text(f"{text}int number = {number};\n")
        built = module.build(module.from_directory(source.parent, "small"), kernel)
        assert built.ok, built.cause
        remembered.append(module._probes(kernel).read_text())
        records = (built.directory / name for name in ("small.o", ".small.o.cmd"))
        made.append([path.read_bytes() for path in records])
        for path in built.directory.glob("*small*"):
            path.unlink()
        (tmp_path / "objects").rename(tmp_path / f"objects-{len(made)}")
    answers = remembered[0].count(" := y\n")
    assert answers > 15 and remembered[0] == remembered[1]
    assert made[0] == made[2] != made[1]

    # The same with a remembered option fewer, and without the makefile.
    *known, _ = remembered[0].splitlines(keepends=True)
    module._probes(kernel).write_text("".join(known))
    built = module.build(module.from_directory(source.parent, "small"), kernel)
    assert module._probes(kernel).read_text().count(" := y\n") == answers
    for path in built.directory.glob("*small.o*"):
        path.unlink()
    command = module._command(kernel, built.directory, "small.o")
    subprocess.run(
        [word for word in command if not word.startswith(("MAKEFILES=", "LAB_"))],
        env=module.environment(), check=True, capture_output=True,
    )  # fmt: skip
    assert (built.directory / ".small.o.cmd").read_bytes() == made[0][1]


@pytest.mark.machine
def test_a_function_that_is_missing(outside: Stage, kernel: Kernel) -> None:
    path = outside.directory / "fib.c"
    path.write_text(path.read_text().replace("size_t fib_limbs", "size_t fib_limb"))
    built = stage_module.build(outside, kernel)
    assert built.cause == (
        "the stage defines no fib_limbs, which the driver calls: see common/stage.h"
    )


@pytest.mark.machine
def test_two_functions_of_one_name(outside: Stage, kernel: Kernel) -> None:
    (outside.directory / "more.c").write_text(
        '#include "stage.h"\nvoid fib_release(union fib_value *f) {}\n'
    )
    built = stage_module.build(outside, kernel)
    assert "multiple definition of `fib_release'" in built.cause


@pytest.mark.machine
def test_a_source_that_eats_memory(
    outside: Stage, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIMITS", replace(COMPILER, memory_bytes=1 << 29))
    (outside.directory / "fib.c").write_text('#include "/dev/zero"\n')
    built = stage_module.build(outside, kernel)
    assert "of memory" in built.cause


@pytest.mark.machine
def test_a_source_that_never_ends(
    outside: Stage, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage_module.build(outside, kernel)  # Build the kit's files before the time limit is reduced.
    monkeypatch.setattr(module, "LIMITS", replace(COMPILER, wall_seconds=1))
    # Compiling this source takes long but little memory, so it does not reach the memory limit.
    twice = '#include "fib.c"\n#include "fib.c"\n'
    (outside.directory / "fib.c").write_text(f"#if __INCLUDE_LEVEL__ < 150\n{twice}#endif\n")
    built: BuiltStage = stage_module.build(outside, kernel)
    assert built.cause == "the compiler was stopped: it was not done after 1 s"
    running = subprocess.run(
        ["pgrep", "-f", str(built.module.directory)], capture_output=True, text=True
    )
    assert not running.stdout
