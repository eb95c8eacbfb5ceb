# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the elective kbench: each program behaves the same in a kernel and as a process.

The programs are tested as C, as the IR of clang -O0 and -O2, and as IR without attributes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from electives import source_folder
from electives.kbench import kernel, native, task_source
from electives.kbench.metrics import differs
from electives.kbench.program import CompileOptions, Program, prepare
from grader.base import paths, scratch
from grader.course import check, skeleton
from grader.course.export import leaks
from grader.exercise.files import exercises
from grader.lab import machines

EXERCISE = "kbench"

HERE = paths.ROOT / "tests/kbench"
PROGRAMS = sorted(path.stem for path in HERE.glob("*.c"))
FORMS = ("c", "O0", "O2", "bare")


@pytest.fixture(scope="module", autouse=True)
def set_up() -> Iterator[None]:
    """Install clang and llc, as make kbench does."""
    subprocess.run([paths.SCRIPTS / "setup.sh", "kbench"], check=True)
    yield
    scratch.remove_all()


def clang(source: Path, level: str) -> str:
    """Return the IR that clang generates for a program."""
    command = ["clang", "-S", "-emit-llvm", f"-O{level}", "-fno-vectorize", "-fno-slp-vectorize"]
    return subprocess.run(
        [*command, "-o", "-", source], check=True, capture_output=True, text=True
    ).stdout


def bare(text: str) -> str:
    """Return IR like that of a student's compiler, without attributes and other optional parts."""
    text = re.sub(r"^(attributes|target|source_filename|!llvm|!\d).*\n", "", text, flags=re.M)
    text = re.sub(r" #\d+| dso_local| local_unnamed_addr| noundef| nocapture", "", text)
    return re.sub(r", ![\w.]+ !\d+", "", text)


def program(name: str, form: str, folder: Path) -> Program:
    """Prepare one of the programs in this form."""
    source = HERE / f"{name}.c"
    if form == "c":
        return prepare(source, CompileOptions())
    text = clang(source, form[1]) if form in ("O0", "O2") else bare(clang(source, "0"))
    written = folder / f"{name}-{form}.ll"
    written.write_text(text)
    return prepare(written, CompileOptions())


def given(name: str) -> bytes:
    """Return the input of a program."""
    path = HERE / f"{name}.txt"
    return path.read_bytes() if path.is_file() else b""


def chosen() -> list[tuple[str, str]]:
    """Return pairs of program and form: in the long form all pairs, else one for each program."""
    if os.environ.get("LAB_TESTS") == "long":
        return [(name, form) for name in PROGRAMS for form in FORMS]
    return [(name, FORMS[i % len(FORMS)]) for i, name in enumerate(PROGRAMS)]


@pytest.mark.machine
@pytest.mark.timeout(600)
@pytest.mark.parametrize("where", ["uml", "qemu"])
def test_a_dozen_programs(where: str, tmp_path: Path) -> None:
    """Output and exit status in the kernel equal those of a process. One boot runs all programs."""
    assert len(PROGRAMS) >= 12
    tasks = {}
    for name, form in chosen():
        made = program(name, form, tmp_path)
        ran = native.run(made, given(name))
        assert ran.ok, (name, form, ran)
        tasks[name, form] = kernel.ProgramTask.after(made, given(name), ran), ran
    machine = machines.get(where)
    wrong = {}
    with kernel.session(machine, [task for task, _ in tasks.values()]) as session:
        for key, (task, ran) in tasks.items():
            run = session.run(task)
            if difference := differs(run, ran):
                wrong[key] = difference
            if key[1] != "O2":  # clang -O2 removes the allocations
                left = {"leaves": (2, 100)}.get(key[0], (0, 0))
                assert (run.left_blocks, run.left_bytes) == left, key
            if key[0] == "asserts":
                assert run.status == 134
                assert "half" in run.why and "x % 2 == 0" in run.why
    assert wrong == {}


@pytest.mark.machine
@pytest.mark.timeout(300)
def test_a_students_ir_with_the_library_of_its_course(tmp_path: Path) -> None:
    made = prepare(HERE / "sysy.ll", CompileOptions(sysy=True))
    ran = native.run(made, b"21\n")
    assert ran.output == "42\n4: 4 3 2 1\n" and ran.status == 42
    task = kernel.ProgramTask.after(made, b"21\n", ran)
    with kernel.session(machines.get("uml"), [task]) as session:
        assert differs(session.run(task), ran) == ""


def test_the_learners_copy_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAB_REF", raising=False)
    monkeypatch.setattr(source_folder, "WORK", tmp_path / "work")
    assert source_folder.folder("kbench", kernel.SOURCES) == kernel.SOURCES
    copy = skeleton.write("kbench", tmp_path / "work")
    assert "TODO: task 1" in (copy / "trampoline.S").read_text()
    assert source_folder.folder("kbench", kernel.SOURCES) == copy


@pytest.mark.long
@pytest.mark.machine
@pytest.mark.timeout(600)
def test_tasks_are_done_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference earns all points, and in the skeleton each task is reported as missing."""
    monkeypatch.delenv("LAB_REF", raising=False)
    monkeypatch.setattr(source_folder, "WORK", tmp_path / "work")
    subprocess.run([paths.SCRIPTS / "setup.sh", "kbench"], check=True)
    elective = exercises.find("kbench")
    assert check.check(elective, elective.sources, 0).earned == 100
    copy = skeleton.write("kbench", tmp_path / "work")
    remarks = [line.remark for line in check.check(elective, copy, 0).lines]
    assert ["the stack is full" in remark for remark in remarks] == [True, False, False]
    assert "no memory in round" in remarks[1]
    assert "its output is not that of the process" in remarks[2]


def test_solutions_are_searched_for() -> None:
    found = leaks.solution_lines()
    assert found["waiting[block->order] = block;"] == "elective kbench, task 2"


@pytest.mark.machine
@pytest.mark.timeout(300)
def test_other_right_solutions_earn_all_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other methods, another syntax, comments with dots, and a variable with a macro's name."""
    monkeypatch.delenv("LAB_REF", raising=False)
    monkeypatch.setattr(source_folder, "WORK", tmp_path)
    elective = exercises.find("kbench")
    copy = shutil.copytree(elective.sources, tmp_path / elective.copy_name)
    for name in ("heap.c", "trampoline.S"):
        shutil.copy(HERE / "right" / name, copy)
    number = (HERE / "right/number.c").read_text().partition("*/\n")[2]
    path = copy / "input.c"
    before, _, rest = path.read_text().partition("static bool number(")
    rest = rest.partition("}\n\n")[2]
    path.write_text(f"{before}{number}\n{rest}")
    lines = check.check(elective, copy, 0).lines
    assert [line.remark for line in lines if not line.full] == []


@pytest.mark.parametrize(
    ("lines", "plain"),
    [
        (["\tret # or ... another", "# don't"], ["\tret ", ""]),
        (['\t.ascii "#" # .a'], ['\t.ascii "#" ']),
        # The string goes on in the second line, so the # is in it.
        (['\t.ascii "a', '# " ; .include b'], None),
        (['\t.ascii "\\"", "', '# " ; .include b'], None),
        (["\tmovb $'\", %al", '# "', "# .include b"], None),
    ],
)
def test_comments_of_assembly(lines: list[str], plain: list[str] | None) -> None:
    rows = [("a.S", number, line) for number, line in enumerate(lines, 1)]
    found = task_source.without_comments(rows)
    assert [line for _, line in found] == (lines if plain is None else plain)


def test_a_name_of_the_kernels_macros_is_refused_only_if_it_makes_assembly(tmp_path: Path) -> None:
    kernel_of_lab = machines.get("qemu").kernel()
    source = tmp_path / "heap.c"
    source.write_text("int alternative = 10;\n")

    def refused(line: str) -> str:
        text = f'# 1 "{source}"\n{line}\n'
        return task_source.text_refused(text, tmp_path, "heap.c", "heap.c", kernel_of_lab)

    assert refused("int alternative = 10;") == ""
    assert "makes assembly" in refused('asm(".pushsection .altinstructions");')
