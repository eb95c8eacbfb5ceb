# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Is a variant right? The kernel's own tests, and random operations against a model."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path

from electives import tasks
from grader.base.errors import ProgramKilled
from grader.sandbox import Ended, Limits, Room, run

# The kernel's tests take 10 ms, the random test about a second.
LIMITS = Limits(wall_seconds=120, cpu_seconds=60)

# What may happen in the random test: see harness/random.c.
ALL = "ogbfx"
# What the idea of delayed allocation gives up left out: that nothing is in after -ENOMEM, and that
# the array is not put into what is just being added.
GIVEN_UP = "ogbxi"
OPERATIONS = 150


@dataclass(frozen=True)
class Outcome:
    """What came of a test: what it did, and what is wrong, if anything is."""

    did: str
    wrong: str = ""


def room(out: Path, *write: Path) -> Room | None:
    """Where a program in out runs: a stranger's in the sandbox."""
    return Room(read=(out,), write=write) if tasks.submission() else None


def kernels_tests(out: Path) -> Outcome:
    """All tests of tools/testing/memblock; did is how many have passed."""
    ended = run([out / "main", "-v"], LIMITS, room(out), environment=_ENVIRONMENT)
    passed = len(re.findall(rb"^ok \d+", ended.output, re.MULTILINE))
    if ended.status == 0:
        return Outcome(str(passed))
    errors = ended.error_text
    failed = re.search(r"(\w+\.c:\d+): (\w+): Assertion", errors)
    if failed:
        return Outcome(str(passed), f"{failed[2]} ({failed[1]}) fails")
    return Outcome(str(passed), _ending(ended))


def random_test(out: Path, mode: str, seed: int, seeds: int) -> Outcome:
    """So many seeds of random operations; did is what happened in them."""
    words = [str(seed), str(seeds), str(OPERATIONS), mode]
    ended = run([out / "random", *words], LIMITS, room(out), environment=_ENVIRONMENT)
    said = ended.text.strip()
    if ended.status == 0:
        return Outcome(said)
    return Outcome("", said if said.startswith("seed ") else _ending(ended))


# The address sanitizer ends a program by a status of its own; leaks are none of ours.
_ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0", "LC_ALL": "C"}


def _ending(ended: Ended) -> str:
    if ended.cause:
        return ended.cause
    if ended.status == -signal.SIGKILL:
        raise ProgramKilled
    errors = ended.error_text
    found = re.search(r"^.*(?:ERROR: |runtime error: )(.*)$", errors, re.MULTILINE)
    if found:
        frame = re.search(r"#\d+ \S+ in (memblock_\w+)", errors)
        return found[1][:100] + (f", in {frame[1]}" if frame else "")
    last = errors.strip().splitlines()
    return last[-1][:120] if last else f"it ends with status {ended.status}"
