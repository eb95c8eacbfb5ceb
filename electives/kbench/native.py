# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run a program as an ordinary process: its output, exit status and duration."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from electives.kbench.program import Program
from grader import sandbox
from grader.base import scratch
from grader.sandbox import ResourceLimits, SandboxView

# Seconds for one run. A longer run counts as an endless loop.
SECONDS = 10
MB = 1 << 20
# The same limit as OUTPUT_BYTES in kernel/kbench.h.
OUTPUT_BYTES = MB
STACK_NEAR = 1 << 20  # a fault within this many bytes of the stack pointer is a stack overflow


@dataclass(frozen=True)
class ProcessRun:
    """The result of a run as a process."""

    output: str
    status: int
    ns: float = 0.0
    counted: int = 0  # instructions counted by callgrind
    fault: str = ""  # description of the fault that ended it, and its function

    @property
    def ok(self) -> bool:
        """Return True if the run ended without a fault."""
        return not self.fault

    @property
    def endless(self) -> bool:
        """Return True if the run reached its time limit."""
        return bool(self.fault) and self.status == 128 + signal.SIGALRM


def run(
    program: Program, program_input: bytes, prefix: Sequence[str] = (), seconds: int = 0
) -> ProcessRun:
    """Run the program once.

    prefix: a command that starts the program. seconds: the time limit; 0 for SECONDS.
    """
    seconds = seconds or SECONDS
    limits = ResourceLimits(
        wall_seconds=seconds + 10,
        cpu_seconds=seconds + 10,
        memory_bytes=1024 * MB,
        processes=16,
        open_files=64,
        file_bytes=16 * MB,
        store_bytes=64 * MB,
        store_files=1000,
        output_bytes=OUTPUT_BYTES + MB // 16,
    )
    scratch.check_stopped()
    room = SandboxView(read=(program.folder,)) if program.isolated else None
    result = sandbox.run([*prefix, program.native, str(seconds)], limits, room, stdin=program_input)
    errors = result.error_text
    if result.ended_by:
        what = result.cause
        if result.ended_by == "output":
            what = f"it prints more than {OUTPUT_BYTES:,} bytes"
        return ProcessRun(result.text, 1, fault=what)
    if match := re.findall(r"^kbench: ns (\d+)$", errors, re.MULTILINE):
        return ProcessRun(
            result.text, result.status or 0, float(match[-1]), counted=_counted(errors)
        )
    if match := re.findall(r"^kbench: signal (\d+) (\w+) (\w+) (\w+)$", errors, re.MULTILINE):
        number, address, place, stack = match[-1]
        where = f" in {function}" if (function := function_at(program, int(place, 16))) else ""
        message = _in_words(int(number), int(address, 16), int(stack, 16))
        return ProcessRun(result.text, 128 + int(number), fault=f"{message}{where}")
    if result.status is not None and result.status >= 0:  # the program called _exit()
        return ProcessRun(result.text, result.status)
    return ProcessRun(result.text, 1, fault=f"it was ended by signal {-(result.status or 0)}")


def _counted(errors: str) -> int:
    match = re.search(r"^==\d+== Collected : (\d+)", errors, re.MULTILINE)
    return int(match[1]) if match else 0


def _in_words(number: int, address: int, stack: int) -> str:
    if number == signal.SIGALRM:
        return f"it was not done after {SECONDS} s: a loop without end?"
    if number == signal.SIGSEGV:
        if address < 4096:
            return "a null pointer is followed"
        if abs(address - stack) < STACK_NEAR:
            return "the stack is full: recursion without end, or very large variables"
        return f"a bad pointer is followed ({address:#x})"
    if number == signal.SIGFPE:
        return "a division by zero, or a quotient that is too large"
    return f"it was ended by {signal.Signals(number).name}"


def function_at(program: Program, address: int) -> str:
    """Return the name of the program's own function at an address, or "" if there is none."""
    found = ""
    for begin, name in _symbols(program.native):
        if begin > address:
            break
        found = name
    return found if found != "kbench_main" else "main"


@cache
def _symbols(native: Path) -> list[tuple[int, str]]:
    listing = subprocess.run(["nm", "-n", str(native)], capture_output=True, text=True).stdout
    return [
        (int(match[1], 16), match[2])
        for match in re.finditer(r"^([0-9a-f]+) [tT] (\S+)$", listing, re.MULTILINE)
    ]
