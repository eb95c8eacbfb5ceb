# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Detect the instruction sets of this computer's processor, and share its CPUs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
# The CPU flags of the instruction sets in common/cflags-vector, for which vector files are
# compiled.
VECTORS = frozenset({"avx2", "fma"})
MAX_FREQUENCY = "/sys/devices/system/cpu/cpu{}/cpufreq/cpuinfo_max_freq"
# A CPU with less than this share of the highest frequency is a slow one of a hybrid processor.
NEARLY_AS_FAST = 0.8
# Different processes begin at different CPUs.
_TURNS = itertools.count(os.getpid())


def has_vectors() -> bool:
    """Return whether programs may use AVX2 and FMA on this computer."""
    lines = CPUINFO.read_text().splitlines()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return VECTORS.issubset(flags.split())


@contextmanager
def on_one_cpu() -> Iterator[None]:
    """Let the programs that this thread starts run on one CPU only: each fast CPU in turn."""
    cpus = sorted(os.sched_getaffinity(0))
    highest = [_max_frequency(cpu) for cpu in cpus]
    fast = [cpu for cpu, f in zip(cpus, highest) if f >= NEARLY_AS_FAST * max(highest)]
    os.sched_setaffinity(0, {fast[next(_TURNS) % len(fast)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cpus)


def _max_frequency(cpu: int) -> int:
    """Return the highest frequency of a CPU in kHz, or 0 if the kernel does not tell it."""
    try:
        return int(Path(MAX_FREQUENCY.format(cpu)).read_text())
    except (OSError, ValueError):
        return 0
