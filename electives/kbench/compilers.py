# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make kbench CLASS=DIR: compare compilers by the instructions that their programs execute.

DIR holds a directory for each program with COMPILER.ll, the compiler's output for this program;
"output", the expected output; optionally "input"; and "status", the exit status if it is not 0. The
programs are untrusted: tools and processes run in the sandbox, modules only in QEMU.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

from electives.kbench import kernel, metrics, native, program_failure, tools
from electives.kbench.kernel import ProgramTask
from electives.kbench.native import ProcessRun
from electives.kbench.program import prepare
from electives.kbench.report import KbenchRequest
from grader import sandbox
from grader.base.columns import aligned
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import machines

MOST_BYTES = 4 << 20  # largest size of a file in DIR


@dataclass(frozen=True)
class ProgramCase:
    """A program of the class: its input and its expected result."""

    name: str
    program_input: bytes
    right: ProcessRun


@dataclass(frozen=True)
class Entry:
    """A program compiled by one compiler, ready for counting its instructions."""

    case: ProgramCase
    compiler: str
    task: ProgramTask


@dataclass
class Class:
    """The programs and compilers, with instruction counts and failures by program and compiler."""

    cases: list[ProgramCase]
    compilers: list[str]
    counts: dict[tuple[str, str], int]
    wrong: dict[tuple[str, str], str]


def read(folder: Path) -> tuple[Class, dict[tuple[str, str], Path]]:
    """Return the class in a directory, and each program's file by program and compiler."""
    if not folder.is_dir():
        raise LabError(
            f"CLASS={folder}: not a directory", "give one that holds a directory for each program"
        )
    cases, files = [], {}
    for inside in sorted(path for path in folder.iterdir() if path.is_dir()):
        found = sorted(inside.glob("*.ll"))
        if not found:
            continue
        status = _bytes(inside / "status", b"0").strip()
        if not re.fullmatch(rb"\d{1,3}", status):
            raise LabError(
                f"{inside / 'status'}: not an exit status", "write a number from 0 to 255 into it"
            )
        if not (inside / "output").is_file():
            raise LabError(
                f"{inside / 'output'} is missing", "write what the program must print into it"
            )
        output = _bytes(inside / "output", b"").decode(errors="replace")
        cases.append(
            ProgramCase(inside.name, _bytes(inside / "input", b""), ProcessRun(output, int(status)))
        )
        for path in found:
            files[inside.name, path.stem] = path
    compilers = sorted({compiler for _, compiler in files})
    if not cases or len(compilers) < 2:
        raise LabError(
            f"CLASS={folder}: too few programs or compilers ({len(cases)} and {len(compilers)})",
            "give PROGRAM/COMPILER.ll for at least one program and two compilers",
        )
    return Class(cases, compilers, {}, {}), files


def _bytes(path: Path, otherwise: bytes) -> bytes:
    if not path.exists():
        return otherwise
    try:
        if path.stat().st_size > MOST_BYTES:
            raise LabError(f"{path}: larger than {MOST_BYTES >> 20} MB", "give a smaller file")
        return path.read_bytes()
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}", "give a file that can be read") from None


def compare(folder: Path, request: KbenchRequest) -> int:
    """Count the instructions of all programs, and print the table."""
    progress = Progress()
    school, files = read(folder)
    sandbox.require()
    tools.version()
    options = replace(request.options, isolated=True)
    entries = []
    cases = {case.name: case for case in school.cases}
    for i, ((name, compiler), path) in enumerate(sorted(files.items())):
        progress.step("compile, and run as processes in the sandbox", i, len(files))
        case = cases[name]
        try:
            program = prepare(path, options)
        except LabError as error:
            school.wrong[name, compiler] = error.problem
            continue
        ran = native.run(program, case.program_input)
        if message := _wrong(ran, case):
            school.wrong[name, compiler] = f"as a process: {message}"
            continue
        entries.append(Entry(case, compiler, ProgramTask.after(program, case.program_input, ran)))
    _count(school, entries, progress)
    progress.clear()
    print(table(school))
    for (name, compiler), message in sorted(school.wrong.items()):
        print(f"wrong: {compiler}, {name}: {message}")
    return 1 if school.wrong else 0


def _wrong(ran: ProcessRun | kernel.KernelRun, case: ProgramCase) -> str:
    """Return the difference between a run and the expected result, or ""."""
    message = metrics.differs(ran, case.right)
    return message.replace("that of the process", "the expected one")


def _count(school: Class, entries: list[Entry], progress: Progress) -> None:
    """Run all programs in machine qemu.

    A program that crashes the machine counts as wrong; the next programs run in a new machine.
    """
    machine = machines.get("qemu")
    left = list(entries)
    while left:
        with kernel.session(machine, [entry.task for entry in left]) as session:
            while left:
                progress.step("count", len(entries) - len(left), len(entries))
                entry = left.pop(0)
                key = entry.case.name, entry.compiler
                try:
                    run = session.run(entry.task)
                except program_failure.ProgramFailure as error:
                    school.wrong[key] = f"in a kernel: {error}"
                    break
                if message := _wrong(run, entry.case):
                    school.wrong[key] = f"in a kernel: {message}"
                else:
                    school.counts[key] = run.cycles


def table(school: Class) -> str:
    """Return instructions by program and compiler, and the mean of their ratios to the best."""
    rows = [["instructions", *school.compilers]]
    for case in school.cases:
        rows.append([case.name, *(_cell(school, case.name, c) for c in school.compilers)])
    rows.append(["mean, of the best", *(_mean(school, c) for c in school.compilers)])
    lines = aligned(rows)
    return (
        f"{lines}\n\nThe geometric mean of a compiler's count over the program's lowest count;"
        "\na program that is wrong with any compiler is left out. Lower is better."
    )


def _cell(school: Class, name: str, compiler: str) -> str:
    if (name, compiler) in school.counts:
        return f"{school.counts[name, compiler]:,}"
    return "wrong" if (name, compiler) in school.wrong else "-"


def _mean(school: Class, compiler: str) -> str:
    ratios = []
    for case in school.cases:
        counts = [school.counts.get((case.name, c)) for c in school.compilers]
        own = school.counts.get((case.name, compiler))
        known = [count for count in counts if count]
        if own and len(known) == len(counts):
            ratios.append(own / min(known))
    if not ratios:
        return "-"
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}"
