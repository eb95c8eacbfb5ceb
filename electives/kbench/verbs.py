# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Commands of make elective=kbench, and the tests of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from electives.kbench import __main__ as command
from electives.kbench import kernel, metrics, native, program_failure
from electives.kbench.kernel import KernelRun, ProgramTask
from electives.kbench.native import ProcessRun
from electives.kbench.program import CompileOptions, prepare
from grader.base.errors import LabError
from grader.base.finding import Finding
from grader.lab import machines

# A program for each task, and its input, if any.
TRIES = Path(__file__).with_name("test_programs")


def judge(machine: str) -> list[Finding | None]:
    """Run each task's program in QEMU, in a new machine after one that a program ended.

    Return the problem of each task, or None, in order. machine is not used, because there is only
    one way to test.
    """
    runs = []
    for source in sorted(TRIES.glob("[0-9]*.c"), key=lambda path: int(path.stem)):
        program = prepare(source, CompileOptions())
        words = source.with_suffix(".txt")
        given = words.read_bytes() if words.is_file() else b""
        ran = native.run(program, given)
        runs.append((kernel.ProgramTask.after(program, given, ran), ran))
    try:
        wrong = [_wrong(run, ran, task) for run, (task, ran) in zip(_outcomes(runs), runs)]
    except LabError as error:  # the learner's sources do not compile
        wrong = [str(error)] * len(runs)
    return [Finding("wrong", message) if message else None for message in wrong]


def _outcomes(
    runs: list[tuple[ProgramTask, ProcessRun]],
) -> Iterator[KernelRun | program_failure.ProgramFailure]:
    """Yield the result of each program in a kernel: a run, or the machine's failure."""
    todo = [task for task, _ in runs]
    while todo:
        with kernel.session(machines.get("qemu"), todo) as session:
            while todo:
                try:
                    yield session.run(todo.pop(0))
                except program_failure.ProgramFailure as error:
                    yield error
                    break


def _wrong(
    run: KernelRun | program_failure.ProgramFailure, ran: ProcessRun, task: ProgramTask
) -> str:
    name = Path(task.program.name).name
    if isinstance(run, program_failure.ProgramFailure):
        return f"{name}: {run}"
    message = metrics.differs(run, ran)
    if not message and run.left_blocks:
        message = f"{run.left_blocks} blocks are not freed; as a process it frees all"
    return f"{name}: {message}" if message else ""


def load(words: list[str]) -> int:
    """Load a program on the persistent machine."""
    return command.main([*words, "--load"])


VERBS: dict[str, Callable[[list[str]], int]] = {"run": command.main, "load": load}
