# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test a variant: by the kernel's own tests, and by random operations against a model."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from electives import source_folder
from electives.memblock.kernels import PASSED
from grader.base import test_record
from grader.base.errors import ProgramKilled
from grader.sandbox import CommandResult, ResourceLimits, SandboxView, run

# The kernel's tests take 10 ms, the random test about a second.
LIMITS = ResourceLimits(wall_seconds=120, cpu_seconds=60)

# Kinds of operations in the random test: see harness/random.c.
ALL = "ogbfx"
# The kinds for delayed allocation, which may insert pieces before it returns -ENOMEM, and may put
# the new array into the range that is being added.
GIVEN_UP = "ogbxi"
# The mode letter for ranges with gaps and overlaps of one byte, and for ranges that end above all
# addresses although arrays grow, see harness/random.c.
SINGLE_BYTES = "y"
# The mode letter for arrays of up to 8,000 regions. The arrays of all other tests have at most
# 128 regions or begin with few.
MANY_REGIONS = "m"
# The mode letters for an array of more than 2^16 regions, and the number of operations in it, each
# of which takes some milliseconds.
HUGE, FEW_OPERATIONS = "mh", 30
OPERATIONS = 150


@dataclass(frozen=True)
class TestOutcome:
    """The result of a test: a summary, and the problem, if any."""

    did: str
    wrong: str = ""


def sandbox_view(out: Path, *write: Path) -> SandboxView | None:
    """Return the sandbox view for an untrusted program in `out`; None for a learner's own one."""
    return SandboxView(read=(out,), write=write) if source_folder.submission() else None


def _run(program: Path, words: list[str], checks: Sequence[int]) -> tuple[CommandResult, str, str]:
    """Run a program of a variant. Return its result, its output, and the problem of its record."""
    alone = SandboxView(program=program) if source_folder.submission() else None
    nonce = test_record.draw()
    result = run(
        [program, *words],
        LIMITS,
        alone,
        stdin=test_record.line(nonce).encode(),
        environment=_ENVIRONMENT,
    )
    text, record = test_record.split(result.text)
    return result, text.strip(), test_record.fault(record, nonce, checks)


def kernels_tests(out: Path) -> TestOutcome:
    """Run all tests of tools/testing/memblock. Return the number of passed tests in `did`."""
    checks = test_record.unvalued(int((out / PASSED).read_text()))
    result, text, unproved = _run(out / "main", ["-v"], checks)
    passed = len(re.findall(r"^ok \d+", text, re.MULTILINE))
    if result.status == 0:
        return TestOutcome(str(passed), unproved)
    errors = result.error_text
    failed = re.search(r"(\w+\.c:\d+): (\w+): Assertion", errors)
    if failed:
        return TestOutcome(str(passed), f"{failed[2]} ({failed[1]}) fails")
    return TestOutcome(str(passed), _ending(result))


def random_test(out: Path, mode: str, seed: int, seeds: int) -> TestOutcome:
    """Run random operations with `seeds` seeds. The result's `did` summarises them."""
    operations = FEW_OPERATIONS if mode.endswith(HUGE) else OPERATIONS
    words = [str(seed), str(seeds), str(operations), mode]
    checks = [
        one << 32 | operation
        for one in range(seed, seed + seeds)
        for operation in range(1, operations + 1)
    ]
    result, text, unproved = _run(out / "random", words, checks)
    if result.status == 0:
        return TestOutcome("" if unproved else text, unproved)
    return TestOutcome("", text if text.startswith("seed ") else _ending(result))


# detect_leaks=0: the kernel's tests do not free their memory, which is not an error.
_ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0", "LC_ALL": "C"}


def _ending(result: CommandResult) -> str:
    if result.cause:
        return result.cause
    if result.status == -signal.SIGKILL:
        raise ProgramKilled
    errors = result.error_text
    found = re.search(r"^.*(?:ERROR: |runtime error: )(.*)$", errors, re.MULTILINE)
    if found:
        frame = re.search(r"#\d+ \S+ in (memblock_\w+)", errors)
        return found[1][:100] + (f", in {frame[1]}" if frame else "")
    last = errors.strip().splitlines()
    return last[-1][:120] if last else f"it ends with status {result.status}"
