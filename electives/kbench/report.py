# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make kbench PROG=FILE: print a program's result in a kernel, and its cost by each metric."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from electives.kbench import kernel, metrics, native, program_failure, show, tools
from electives.kbench.kernel import KernelRun, ProgramTask
from electives.kbench.native import ProcessRun
from electives.kbench.program import CompileOptions, Program, prepare
from grader.base import paths
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import machines

# Number of output lines that are shown; the named file has the complete output.
LINES = 10


@dataclass(frozen=True)
class KbenchRequest:
    """The arguments of every command: compile options, input and number of runs."""

    options: CompileOptions
    program_input: bytes
    rounds: int
    machine: str  # measure on this machine only; "" for all metrics
    parameters: str = ""


def ready(path: Path, request: KbenchRequest, progress: Progress) -> tuple[Program, ProcessRun]:
    """Compile a program and run it as a process. Return the program and its run.

    If the program fails as a process, also run it in machine qemu, which it may crash, to show the
    effect in a kernel. LabError then reports both results.
    """
    progress.step(f"compile {paths.shown(path)}")
    program = prepare(path, request.options)
    progress.step(f"run {program.name} as a process")
    ran = native.run(program, request.program_input)
    if ran.ok:
        return program, ran
    raise LabError(
        f"{program.name}: as a process: {ran.fault}; {_in_a_kernel(program, request, ran)}",
        "correct the program",
    )


def _in_a_kernel(program: Program, request: KbenchRequest, ran: ProcessRun) -> str:
    """Run a program, which has failed as a process, in a kernel. Describe the result."""
    machine = machines.get("qemu")
    seconds = kernel.HOPELESS_SECONDS if ran.endless else kernel.DOOMED_SECONDS
    task = ProgramTask(program, request.program_input, seconds)
    try:
        with kernel.session(machine, [task]) as session:
            run = session.run(task)
    except program_failure.ProgramFailure as error:
        return f"in a kernel: {error}"
    return f"in a kernel: {run.why or f'it ends, with status {run.status}'}"


def story(program: Program, ran: ProcessRun, run: KernelRun | None, where: str) -> str:
    """Return a description of a program's run, with the beginning of its output."""
    log = paths.BUILD / "kbench" / f"{_stem(program)}.out"
    log.write_text(ran.output)
    lines = ran.output.splitlines()
    count = len(program.functions)
    rows = [
        f"{program.name}: {count} function{'s' if count > 1 else ''}, by LLVM {tools.version()}"
    ]
    if lines:
        rows.append(f"  output     {len(lines):,} lines, {paths.shown(log)}")
        rows += [f"    | {line[:90]}" for line in lines[:LINES]]
        if len(lines) > LINES:
            rows.append("    | ...")
    else:
        rows.append("  output     none")
    both = f"the same as a process and in {where}" if where else "as a process"
    rows.append(f"  exit       {ran.status}, {both}")
    if run and run.why:
        rows.append(f"  why        {run.why}")
    if run:
        left = "nothing"
        if run.left_blocks:
            left = f"{run.left_blocks:,} blocks, {run.left_bytes:,} bytes: a kernel keeps them"
        rows.append(f"  not freed  {left}")
        if not run.same_current:
            rows.append(
                "  current    is wrong on the program's stack: this kernel finds it by the stack"
            )
    return "\n".join(rows)


def _stem(program: Program) -> str:
    return re.sub(r"[^\w.+-]", "_", Path(program.name).name, flags=re.ASCII)


def run_one(path: Path, request: KbenchRequest) -> int:
    """Run and measure one program, and print the results."""
    chosen = chosen_metrics(request)
    progress = Progress()
    program, ran = ready(path, request, progress)
    task = ProgramTask.after(program, request.program_input, ran, request.parameters)
    measured = metrics.measure([task], [ran], chosen, request.rounds, progress.step)
    progress.clear()
    where = " and ".join(measured.runs)
    last = next((found[0] for found in measured.runs.values()), None)
    print(story(program, ran, last, where))
    print()
    if measured.values:
        print(show.table(measured))
        picture = paths.BUILD / "kbench" / f"{_stem(program)}.svg"
        show.picture_of_one(measured, program.name, picture)
        print(f"\nPicture: {paths.shown(picture)}")
    for note in measured.notes:
        print("\n".join(textwrap.wrap(f"note: {note}", 100)))
    return 0 if measured.runs else 1


def chosen_metrics(request: KbenchRequest) -> tuple[metrics.Metric, ...]:
    """Return all metrics, or the metric of the requested machine."""
    if not request.machine:
        return metrics.ALL
    for metric in (metrics.UML, metrics.QEMU, metrics.HOST):
        if metric.key == request.machine:
            return (metric,)
    raise LabError(
        f"machine={request.machine}: kbench does not support it", "choose uml, qemu or host"
    )


def load(path: Path, request: KbenchRequest) -> int:
    """Load a program on the persistent machine."""
    machine = machines.get(request.machine or "uml")
    program = prepare(path, request.options)
    kernel.load(program, request.program_input, machine)
    print(
        f"{program.name} is loaded: make shell, then echo 1 >{kernel.DOOR}/run and"
        f" cat {kernel.DOOR}/status {kernel.DOOR}/output; it runs once after each load"
    )
    return 0
