# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run callgrind for exact counts of instructions, and parse its output."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from electives.memblock import runner
from grader.base import scratch
from grader.base.errors import LabError
from grader.sandbox import ResourceLimits, run

# The tests of Linux 6.12 take a minute or more of processor time.
LIMITS = ResourceLimits(wall_seconds=1800, cpu_seconds=600)


@dataclass
class ProfilePart:
    """A dump of callgrind: its name, and the instructions of functions and of calls."""

    name: str  # the name that the program gave the dump; "" for the last dump
    # Instructions of each function itself, without its callees, by (program or library, source
    # file, function).
    own: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)  # by (caller, called)

    def total(self) -> int:
        """Return the number of all instructions."""
        return sum(self.own.values())

    def inside(self, program: str, but: Collection[str]) -> int:
        """Return the instructions of the program, except those of its source files `but`.

        The result does not depend on the names of functions, because valgrind changes some names.
        """
        return sum(
            cost
            for (binary, file, _), cost in self.own.items()
            if Path(binary).name == program and Path(file).name not in but
        )

    def instructions_of(self, function: str) -> int:
        """Return a function's own instructions, including compiler-made clones such as .isra.0."""
        return sum(cost for (*_, name), cost in self.own.items() if _is(name, function))

    def with_called(self, function: str, but: str) -> int:
        """Return a function's instructions with its callees, except in calls by one caller.

        but: the excluded caller.
        """
        return sum(
            cost
            for (caller, called), cost in self.calls.items()
            if _is(called, function) and not _is(caller, but)
        )


def _is(name: str, function: str) -> bool:
    return name == function or name.startswith(f"{function}.")


def parse(text: str) -> ProfilePart:
    """Parse callgrind's output, written without compressed names and positions."""
    part = ProfilePart("")
    binary = file = function = called = ""
    in_call = False
    for line in text.splitlines():
        if line.startswith("desc: Trigger: "):
            trigger = re.search(r"Client Request: (.*)", line)
            part.name = trigger[1].strip() if trigger else ""
        elif line.startswith("ob="):
            binary = line[3:]
        elif line.startswith("fl="):
            file = line[3:]
        elif line.startswith("fn="):
            function = line[3:].split("'")[0]
        elif line.startswith("cfn="):
            called = line[4:].split("'")[0]
        elif line.startswith("calls="):
            in_call = True
        elif re.match(r"[+\-*\d]", line):
            cost = int(line.split()[1])
            if in_call:
                part.calls[function, called] += cost
                in_call = False
            else:
                part.own[binary, file, function] += cost
    return part


def count(program: Path, *arguments: str) -> list[ProfilePart]:
    """Run a program under callgrind. Return its requested dumps in order, and the final dump."""
    folder = scratch.folder()
    output = folder / "out"
    command = [
        "valgrind",
        "--tool=callgrind",
        "--compress-strings=no",
        "--compress-pos=no",
        "--demangle=no",
        f"--callgrind-out-file={output}",
        str(program),
        *arguments,
    ]
    # Use a fixed environment, because its size shifts the stack. Bind symbols before main,
    # because the count of a caller would otherwise include the binding at its first call.
    fixed = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "LD_BIND_NOW": "1"}
    room = runner.sandbox_view(program.parent, folder)
    result = run(command, LIMITS, room, environment=fixed)
    if result.status != 0:
        output_lines = result.error_text.strip().splitlines()
        raise LabError(
            f"callgrind: {result.cause or (output_lines or ['it printed nothing'])[-1]}",
            "run make elective=memblock check first",
        )
    dumps = sorted(
        folder.glob("out.*"), key=lambda path: int(path.suffix[1:]) if path != output else 0
    )
    parts = [parse(path.read_text()) for path in [*dumps, output] if path.is_file()]
    scratch.remove(folder)
    return parts
