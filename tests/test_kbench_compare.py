# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test comparisons by the elective kbench: of two programs, and of the compilers of a class."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from electives.kbench import (
    against,
    compilers,
    ir,
    kernel,
    metrics,
    native,
    objects,
    program_failure,
    report,
)
from electives.kbench.metrics import CALLGRIND, QEMU, UML, USER
from electives.kbench.program import CompileOptions, prepare
from electives.kbench.source_table import LOOP
from grader.base import paths, scratch
from grader.base.errors import LabError
from grader.lab import machines
from grader.measure import comparison
from grader.measure.comparison import Compared
from grader.measure.samples import Series

EXERCISE = "kbench"

HERE = paths.ROOT / "tests/kbench"
ASKED = report.KbenchRequest(CompileOptions(), b"", 1, "")


@pytest.fixture(scope="module", autouse=True)
def set_up() -> Iterator[None]:
    """Install clang and llc, as make kbench does."""
    subprocess.run([paths.SCRIPTS / "setup.sh", "kbench"], check=True)
    yield
    scratch.remove_all()


@pytest.mark.machine
@pytest.mark.timeout(300)
def test_one_loop_more_and_the_same_in_two_boots() -> None:
    """Two boots count the same instructions, and one additional loop counts 1.0 % more."""
    tasks = []
    for loops in (99, 100):
        program = prepare(LOOP, CompileOptions(defines=(f"-DOUT_LOOP={loops}", "-DSTEPS=100000")))
        tasks.append(kernel.ProgramTask.after(program, b"", native.run(program, b"")))
    boots = []
    for _ in range(2):
        with kernel.session(machines.get("qemu"), tasks) as session:
            boots.append([session.run(task).cycles for task in tasks])
    assert boots[0] == boots[1]
    less, more = map(float, boots[0])
    assert 1.0095 < more / less < 1.0106
    fewer, greater = Series([less]), Series([more])
    found = comparison.compare("instructions", [(fewer, greater), (greater, greater)], 1)
    assert [one.verdict for one in found] == ["slower", "~"]


@pytest.mark.long
@pytest.mark.machine
@pytest.mark.timeout(300)
def test_the_red_zone_is_no_place_for_a_variable() -> None:
    """Interrupts overwrite variables in the red zone, so the count varies or the program hangs."""
    task = kernel.ProgramTask(prepare(LOOP, CompileOptions(red_zone=True)), b"", 30.0, "quiet=0")
    with kernel.session(machines.get("qemu"), [task]) as session:
        try:
            counts = {session.run(task).cycles for _ in range(2)}
        except program_failure.ProgramFailure as error:
            assert error.timeout
        else:
            assert len(counts) == 2


@pytest.mark.timeout(300)
def test_callgrind_says_the_same_without_a_kernel() -> None:
    program = prepare(HERE / "queens.c", CompileOptions())
    ran = native.run(program, b"")
    task = kernel.ProgramTask.after(program, b"", ran)
    found = [
        metrics.measure([task], [ran], [CALLGRIND], 1, lambda *_: None).values[CALLGRIND][0]
        for _ in range(2)
    ]
    assert found[0] == found[1] and found[0][0] > 10_000


def test_programs_that_print_something_else_are_not_compared(tmp_path: Path) -> None:
    one, other = tmp_path / "one.c", tmp_path / "other.c"
    text = '#include <stdio.h>\nint main(void) { printf("1\\n2\\n"); return 0; }'
    one.write_text(text)
    other.write_text(text.replace("2", "3"))
    with pytest.raises(LabError, match=r"nothing is compared: .* line 2 is '2', not '3'"):
        against.compare(one, other, ASKED)
    other.write_text(text.replace("return 0", "return 4"))
    with pytest.raises(LabError, match=r"exit status is 0, that of .*other.c 4"):
        against.compare(one, other, ASKED)


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ({QEMU: "faster", CALLGRIND: "~"}, "The counters disagree"),
        ({USER: "slower", QEMU: "faster"}, "fewer instructions do not always take less time"),
        ({USER: "~", UML: "~", QEMU: "faster"}, "The counters see a difference and no clock does"),
        ({USER: "faster", QEMU: "~"}, "as many instructions, but slower"),
        ({USER: "faster", UML: "~", QEMU: "faster"}, "The clocks disagree"),
        ({USER: "~", QEMU: "~", CALLGRIND: "~"}, ""),
        ({USER: "faster", UML: "faster", QEMU: "faster"}, ""),
    ],
)
def test_why_metrics_disagree(verdicts: dict[metrics.Metric, str], said: str) -> None:
    one = Compared(1.0, 1.0, 1.0, 1.0, 1.0, None, "~")
    found = {metric: replace(one, verdict=verdict) for metric, verdict in verdicts.items()}
    lines = against.why(found)
    assert said in " ".join(lines)
    assert bool(lines) == bool(said)


CRASHES = """\
@where = global i32* null
define i32 @main() {
  %p = load i32*, i32** @where
  %x = load i32, i32* %p
  ret i32 %x
}
"""
# This program works as a process. In a kernel, where addresses of variables are negative, it reads
# a null pointer.
ONLY_THERE = """\
declare i32 @putchar(i32)
define i32 @main() {
  %x = alloca i32
  %a = call i32 @putchar(i32 65)
  %p = ptrtoint i32* %x to i64
  %in = icmp slt i64 %p, 0
  br i1 %in, label %kernel, label %process
kernel:
  %n = load volatile i32, i32* null
  ret i32 %n
process:
  ret i32 0
}
"""
PRINTS = """\
declare i32 @putchar(i32)
define i32 @main() {
  %a = call i32 @putchar(i32 65)
  ret i32 0
}
"""


@pytest.mark.machine
@pytest.mark.timeout(300)
@pytest.mark.long
def test_a_class_of_compilers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A report on a class has counts for each program and compiler, a mean, and the faults."""
    for name in ("fault", "letter"):
        (tmp_path / name).mkdir()
    for name in ("queens", "sieve"):
        folder = tmp_path / name
        folder.mkdir()
        for level in "02":
            text = subprocess.run(
                ["clang", "-S", "-emit-llvm", f"-O{level}", "-fno-vectorize",
                 "-fno-slp-vectorize", "-o", "-", HERE / f"{name}.c"],
                check=True, capture_output=True, text=True,
            ).stdout  # fmt: skip
            (folder / f"clang{level}.ll").write_text(text)
        ran = native.run(prepare(HERE / f"{name}.c", CompileOptions()), b"")
        (folder / "output").write_text(ran.output)
        (folder / "status").write_text(f"{ran.status}\n")
    (tmp_path / "queens/student.ll").write_text(CRASHES)
    (tmp_path / "sieve/student.ll").write_text(PRINTS)
    for name in ("fault", "letter"):
        for compiler in ("clang0", "clang2", "student"):
            (tmp_path / f"{name}/{compiler}.ll").write_text(PRINTS)
        (tmp_path / f"{name}/output").write_text("A")
    (tmp_path / "fault/student.ll").write_text(ONLY_THERE)
    assert compilers.compare(tmp_path, ASKED) == 1
    said = capsys.readouterr().out
    assert re.search(r"^queens +[\d,]{6,} +[\d,]{6,} +wrong$", said, re.M)
    assert re.search(r"^mean, of the best +1.000 +1.000 +1.000$", said, re.M), said
    assert "wrong: student, queens: as a process: a null pointer is followed in main" in said
    inside = "in a kernel: a null pointer is followed in main: it ends machine qemu"
    assert f"wrong: student, fault: {inside}" in said
    assert "wrong: student, sieve: as a process: its output is not the expected one" in said


def test_a_class_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="not a directory"):
        compilers.read(tmp_path / "x")
    with pytest.raises(LabError, match=r"too few programs or compilers \(0 and 0\)"):
        compilers.read(tmp_path)
    (tmp_path / "p").mkdir()
    (tmp_path / "p/a.ll").write_text(CRASHES)
    with pytest.raises(LabError, match="output is missing"):
        compilers.read(tmp_path)


def test_how_ir_is_rewritten() -> None:
    text = """\
target triple = "x86_64"
@s = private unnamed_addr constant [5 x i8] c"#0 ;\\00", align 1 ; attributes #0
@t = external global i8*
define internal { i32, i32 } @f(i32* nocapture (i32)* %x) local_unnamed_addr #0 section "x" {
  call void @g() #1
  ret void
}
define i32 @main()
{
  ret i32 0
}
attributes #0 = { mustprogress }
"""
    made = ir.rewritten(text).splitlines()
    assert len(made) == len(text.splitlines())
    assert made[0] == "" and made[-1] == ""
    assert made[1] == '@s = private dso_local unnamed_addr constant [5 x i8] c"#0 ;\\00", align 1'
    assert made[2] == "@t = external dso_local global i8*"
    assert made[3].startswith("define internal dso_local { i32, i32 } @f(")
    assert f'local_unnamed_addr noredzone {ir.ATTRIBUTES} section "x" {{' in made[3]
    assert made[4] == "  call void @g()"
    assert made[7].startswith("define dso_local i32 @main()") and made[7].endswith("{")
    assert "noredzone" not in ir.rewritten(text, red_zone=True)
    assert [function.name for function in ir.functions(text)] == ["f", "main"]


def test_every_shim_that_is_declared_can_be_called() -> None:
    sources = "".join(path.read_text() for path in kernel.SOURCES.glob("*.c"))
    for name in objects.shims():
        assert re.search(rf"\bkb_{name}\b", sources), name
    named = (kernel.SOURCES / "module.c").read_text()
    for name in objects.AS_THEY_ARE:
        assert re.search(rf"\b{name},", named), name
