# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Exact counts of instructions: callgrind, and what it writes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from electives.memblock import runner
from grader.base import scratch
from grader.base.errors import LabError
from grader.sandbox import ResourceLimits, run

# The tests of 6.12 take a minute or more of a processor that may be shared with others.
LIMITS = ResourceLimits(wall_seconds=1800, cpu_seconds=600)


@dataclass
class ProfilePart:
    """One dump: instructions in each function itself, by (file, function), and of the calls."""

    name: str  # why it was written; empty at the end of the program
    own: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)  # (caller, called)

    def total(self) -> int:
        """All instructions."""
        return sum(self.own.values())

    def inside(self, *files: str) -> int:
        """Instructions in functions that stand in these files, with what was inlined there."""
        return sum(cost for (file, _), cost in self.own.items() if file in files)

    def instructions_of(self, function: str) -> int:
        """Instructions in a function itself; the compiler's .isra.0 and the like belong to it."""
        return sum(cost for (_, name), cost in self.own.items() if _is(name, function))

    def with_called(self, function: str, but: str) -> int:
        """Instructions from entering a function to leaving it, but for calls by another one."""
        return sum(
            cost
            for (caller, called), cost in self.calls.items()
            if _is(called, function) and not _is(caller, but)
        )


def _is(name: str, function: str) -> bool:
    return name == function or name.startswith(f"{function}.")


def parse(text: str) -> ProfilePart:
    """What callgrind has written, with names and positions not compressed."""
    part = ProfilePart("")
    file = function = called = ""
    in_call = False
    for line in text.splitlines():
        if line.startswith("desc: Trigger: "):
            trigger = re.search(r"Client Request: (.*)", line)
            part.name = trigger[1].strip() if trigger else ""
        elif line.startswith("fl="):
            file = Path(line[3:]).name
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
                part.own[file, function] += cost
    return part


def count(program: Path, *arguments: str) -> list[ProfilePart]:
    """Run a program under callgrind; the parts it has asked for, in order, and the last one."""
    folder = scratch.folder()
    output = folder / "out"
    command = [
        "valgrind",
        "--tool=callgrind",
        "--compress-strings=no",
        "--compress-pos=no",
        f"--callgrind-out-file={output}",
        str(program),
        *arguments,
    ]
    # The stack begins with the environment: the same one each time. What is bound at the first
    # call is counted as the caller's: before main, then.
    fixed = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "LD_BIND_NOW": "1"}
    room = runner.sandbox_view(program.parent, folder)
    result = run(command, LIMITS, room, environment=fixed)
    if result.status != 0:
        said = result.error_text.strip().splitlines()
        raise LabError(f"callgrind: {result.cause or (said or ['it said nothing'])[-1]}")
    dumps = sorted(
        folder.glob("out.*"), key=lambda path: int(path.suffix[1:]) if path != output else 0
    )
    parts = [parse(path.read_text()) for path in [*dumps, output] if path.is_file()]
    scratch.remove(folder)
    return parts
