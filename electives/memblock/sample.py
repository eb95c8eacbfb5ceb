# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure the function's share by sampling repeated runs of the kernel's tests.

The author of the patch measured it in the same way, on the build with sanitizers. perf samples by a
clock if the processor has no counters, as in most virtual machines.
"""

from __future__ import annotations

import re
import shutil
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from electives.memblock import splice
from grader.base import scratch
from grader.base.errors import LabError
from grader.sandbox import ResourceLimits, run

LIMITS = ResourceLimits(wall_seconds=60, cpu_seconds=60)
# Samples per second. The tests of Linux 6.1 take 10 ms, which gives 200 samples, 2 of them in the
# function.
HERTZ = "20000"


@dataclass(frozen=True)
class Sampled:
    """The function's share in percent in each run."""

    event: str
    shares: tuple[float, ...]

    @property
    def line(self) -> str:
        """Return the average and the range as text, in the form that the patch uses."""
        average = statistics.fmean(self.shares)
        return (
            f"{average:.2f} % on average of {len(self.shares)} runs, {min(self.shares):.2f} to"
            f" {max(self.shares):.2f} % ({self.event})"
        )


def share(text: str) -> float:
    """Return the function's percentage in perf report's output; 0 without samples."""
    found = re.findall(rf"^\s*(\d+\.\d+)%.*\b{splice.FUNCTION}\b", text, re.MULTILINE)
    return sum(float(one) for one in found)


def _record(main: Path, event: str, data: Path) -> str:
    """Record one run. Return the problem if it cannot be sampled, or ""."""
    command = ["perf", "record", "-q", "-e", event, "-F", HERTZ, "-o", str(data), str(main)]
    result = run(command, LIMITS)
    if result.status == 0 and data.is_file() and data.stat().st_size:
        return ""
    lines = result.error_text.strip().splitlines()
    return (lines or [result.cause or "no reason given"])[0]


def sample(out: Path, runs: int, tell: Callable[[str, int, int], None]) -> Sampled:
    """Sample the kernel's tests with perf, runs times. Raise LabError if perf cannot sample."""
    if shutil.which("perf") is None:
        raise LabError("perf not found", "run sudo apt-get install linux-perf")
    data = scratch.folder() / "perf.data"
    events = ("cycles", "cpu-clock")
    for event in events:
        why = _record(out / "main", event, data)
        if not why:
            break
    else:
        raise LabError(f"perf takes no samples here: {why}", "omit --sample")
    shares = []
    for number in range(runs):
        tell(f"sample the kernel's tests by {event}", number + 1, runs)
        why = _record(out / "main", event, data)
        if why:
            raise LabError(f"perf: {why}", "run the command again")
        report = ["perf", "report", "--stdio", "--sort", "symbol", "-i", str(data)]
        shares.append(share(run(report, LIMITS).text))
    return Sampled(event, tuple(shares))
