# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What make elective=kbench can do, and how its tasks are tried."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from electives.kbench import __main__ as door
from electives.kbench import ends, kernel, native, rulers
from electives.kbench.program import Options, prepare
from electives.tasks import Elective, Tried
from grader.base.errors import LabError
from grader.lab import machines

# A program for each task, and what it reads, if it reads anything.
TRIES = Path(__file__).with_name("tries")


def tried(elective: Elective) -> list[Tried]:
    """Run each task's program in machine qemu, which may die of it."""
    return [Tried(task, _wrong(TRIES / f"{task.number}.c")) for task in elective.tasks]


def _wrong(path: Path) -> str:
    program = prepare(path, Options())
    words = path.with_suffix(".txt")
    given = words.read_bytes() if words.is_file() else b""
    ran = native.run(program, given)
    task = kernel.Task.after(program, given, ran)
    try:
        with kernel.session(machines.get("qemu"), [task]) as session:
            run = session.run(task)
    except ends.Ended as error:
        return f"{path.name}: {error}"
    except LabError as error:
        return str(error)
    said = rulers.differs(run, ran)
    if not said and run.left_blocks:
        said = f"{run.left_blocks} blocks are not freed, and all were given back"
    return f"{path.name}: {said}" if said else ""


def load(words: list[str]) -> int:
    """Load a program on the machine that stays up."""
    return door.main([*words, "--load"])


VERBS: dict[str, Callable[[list[str]], int]] = {"run": door.main, "load": load}
