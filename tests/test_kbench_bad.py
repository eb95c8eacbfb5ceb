# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the elective kbench with programs that a kernel cannot run: the error names a function."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from electives.kbench import kernel, metrics, native, report, show
from electives.kbench.program import CompileOptions, prepare
from grader.base import paths, scratch
from grader.base.errors import LabError
from grader.base.progress import Progress

EXERCISE = "kbench"


@pytest.fixture(scope="module", autouse=True)
def set_up() -> Iterator[None]:
    """Install clang and llc, as make kbench does."""
    subprocess.run([paths.SCRIPTS / "setup.sh", "kbench"], check=True)
    yield
    scratch.remove_all()


MAIN = "int main(void) { return f(1); }"
# The kit must reject these programs before they run: suffix, source, and error message.
REFUSED = {
    "float": (".c", f"int f(int x) {{ double d = x; return d * 1.5; }} {MAIN}",
              "f uses floating point (double)"),
    "float-ir": (".ll", "define float @g(float %x) {\n  ret float %x\n}\n"
                 "define i32 @main() {\n  ret i32 0\n}\n", "g uses floating point (float)"),
    "vector": (".ll", "define i32 @v(<4 x i32> %x) {\n  %a = extractelement <4 x i32> %x, i32 0\n"
               "  ret i32 %a\n}\ndefine i32 @main() {\n  ret i32 0\n}\n",
               "v uses vectors, which a kernel does not have; compile it with -fno-vectorize"),
    "syscall": (".c", 'int f(int x) { asm volatile("syscall" : "+a"(x) : : "rcx", "r11", "memory");'
                f" return x; }} {MAIN}", "f has the instruction syscall"),
    "interrupt": (".c", f'int f(int x) {{ asm("int $0x80" : "+a"(x)); return x; }} {MAIN}',
                  "f has the instruction int"),
    "undefined": (".c", f"int g(int x); int f(int x) {{ return g(x); }} {MAIN}",
                  "f calls g, which nothing defines"),
    "no-sysy": (".c", f"int getint(void); int f(int x) {{ return getint(); }} {MAIN}",
                "f calls getint, which nothing defines; give SYSY=1"),
    "wide": (".c", f"int f(int x) {{ __int128 a = x; return (int)(1000 / a); }} {MAIN}",
             "f divides 128-bit numbers"),
    "no-main": (".c", "int f(int x) { return x; }", "the program has no function main"),
    "thread": (".c", f"_Thread_local int t; int f(int x) {{ return t + x; }} {MAIN}",
               "@t is a variable of each thread"),
    "c-error": (".c", f"int f(int x) {{ return y; }} {MAIN}",
                "error: use of undeclared identifier 'y'"),
    "no-ir": (".ll", "define i32 @main() {\n  %a = add i32 1\n  ret i32 %a\n}\n", "in main:"),
    "no-text": (".ll", "\udcff\udcfe", "llvm-dis"),
    "suffix": (".txt", "x", "neither C nor LLVM IR as text"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    suffix, source, said = REFUSED[name]
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(os.fsencode(source))
    with pytest.raises(LabError) as error:
        prepare(path, CompileOptions())
    assert said in str(error.value) and "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))
    assert not list((tmp_path / "build/kbench/programs").glob("*")), "part of the build is left"


def test_ir_of_another_version(tmp_path: Path) -> None:
    """The error message for IR of another LLVM version names the version of llc and a solution."""
    path = tmp_path / "new.ll"
    path.write_text("define i32 @main() {\n  %p = alloca i32\n  store i32 1, ptr %p\n"
                    "  ret i32 0\n}\n")  # fmt: skip
    old = tmp_path / "old.ll"
    old.write_text(path.read_text().replace("ptr %p", "i32* %p"))
    refused = []
    for one in (path, old):
        try:
            prepare(one, CompileOptions())
        except LabError as error:
            refused.append(str(error))
    # If llc is of LLVM 15 or 16, it accepts both files.
    assert len(refused) <= 1
    for text in refused:
        assert "llc here is of LLVM" in text


# These programs crash a process and a kernel: the source, and the error message in each case.
FATAL = {
    "null": ("int f(int *p) { return *p; } int main(void) { return f(0); }",
             "as a process: a null pointer is followed in f",
             "in a kernel: a null pointer is followed in f: it ends machine qemu"),
    "recursion": ("int f(int x) { volatile int a[9]; a[x % 9] = x; return f(x + 1) + a[1]; }"
                  "int main(void) { return f(1); }",
                  "the stack is full: recursion without end, or very large variables in f",
                  "in a kernel: the stack is full: recursion without end,"
                  " or very large variables in f: it ends machine qemu"),
    "stack": ("int f(int x) { volatile char a[64 << 20]; a[x] = 1; return a[x]; }"
              "int main(void) { return f(1); }",
              "the stack is full",
              "in a kernel: the stack is full: recursion without end,"
              " or very large variables in f: it ends machine qemu"),
    "output": ('#include <stdio.h>\nint f(void) { for (;;) printf("more\\n"); }'
               "int main(void) { return f(); }",
               "it prints more than 1,048,576 bytes",
               "in a kernel: it prints more than 1048576 bytes, in f"),
    "divide": ("int f(int x) { return 1 / x; } int main(void) { return f(0); }",
               "a division by zero, or a quotient that is too large in f",
               "in a kernel: a division by zero, or a quotient that is too large in f"),
    "loop": ("int f(volatile int x) { while (x) x = 1; return x; }"
             "int main(void) { return f(1); }",
             "a loop without end? in f", "machine qemu does not answer in time"),
}  # fmt: skip


# The short form runs the other programs as processes only, because each needs a boot.
BOOTED = [
    pytest.param(name, marks=[] if name in ("null", "recursion", "loop") else pytest.mark.long)
    for name in FATAL
]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat a program that runs for more than two seconds as an endless loop."""
    monkeypatch.setattr(native, "SECONDS", 2)
    monkeypatch.setattr(kernel, "HOPELESS_SECONDS", 3.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", FATAL)
def test_what_ends_a_process_is_said(name: str, tmp_path: Path) -> None:
    source, said, _ = FATAL[name]
    path = tmp_path / "bad.c"
    path.write_text(source)
    ran = native.run(prepare(path, CompileOptions()), b"")
    assert not ran.ok
    assert said in f"as a process: {ran.fault}"


@pytest.mark.machine
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", BOOTED)
def test_what_ends_a_kernel_is_said(name: str, tmp_path: Path) -> None:
    source, process, inside = FATAL[name]
    path = tmp_path / "bad.c"
    path.write_text(source)
    asked = report.KbenchRequest(CompileOptions(), b"", 1, "")
    with pytest.raises(LabError) as error:
        report.ready(path, asked, Progress())
    assert process in str(error.value)
    assert inside in str(error.value)
    assert "\n" not in str(error.value)


TWICE = """\
#include <stdlib.h>
int main(void)
{
	char *one = malloc(10), *other = malloc(10);
	free(one);
	free(other);
	free(one);
	return 0;
}
"""


@pytest.mark.timeout(300)
def test_a_program_that_aborts_is_measured(tmp_path: Path) -> None:
    """A program that ends at once by abort() takes time, and its runs can be drawn."""
    path = tmp_path / "twice.c"
    path.write_text(TWICE)
    program = prepare(path, CompileOptions())
    ran = native.run(program, b"")
    assert ran.ok and ran.status == 134 and ran.ns > 0
    task = kernel.ProgramTask.after(program, b"", ran)
    chosen = [metrics.USER, metrics.CALLGRIND]
    found = metrics.measure([task], [ran], chosen, 2, lambda *_: None)
    assert not found.notes and all(min(runs) > 0 for (runs,) in found.values.values())
    show.picture_of_one(found, program.name, tmp_path / "twice.svg")
    assert (tmp_path / "twice.svg").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no program is given; run make kbench PROG=electives/kbench/loop.c"),
        (["PROG=/nowhere.c"], "/nowhere.c: No such file or directory"),
        (["PROG=electives/kbench/loop.c", "INPUT=/nowhere"], "INPUT=/nowhere: No such file"),
        (
            ["PROG=electives/kbench/loop.c", "RUNS=0"],
            "RUNS=0: not a valid number of runs; give a number from 1 to 1000",
        ),
        (["PROG=electives/kbench/loop.c", "O=fast"], "O=fast: no such level"),
        (["PROG=electives/kbench/loop.c", "LLC=9"], "LLC=9: no such level"),
        (
            ["PROG=electives/kbench/loop.c", "machine=pdp11"],
            "machine=pdp11: kbench does not support it; choose uml, qemu or host",
        ),
        (["TABLE=1", "RUNS=3"], "RUNS=3: too few for the test; give at least 10"),
        (["CLASS=/nowhere"], "CLASS=/nowhere: not a directory"),
    ],
)
def test_bad_words_on_the_command_line(words: list[str], said: str) -> None:
    completed = subprocess.run(
        ["make", "-s", "kbench", *words], cwd=paths.ROOT, capture_output=True, text=True,
        env={**os.environ, "MAKEFLAGS": ""},
    )  # fmt: skip
    lines = [line for line in completed.stderr.splitlines() if line.startswith("kbench: ")]
    assert completed.returncode == 2 and len(lines) == 1
    assert said in lines[0]
