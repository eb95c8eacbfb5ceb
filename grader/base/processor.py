# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Detect the instruction sets of this computer's processor."""

from __future__ import annotations

from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
# The CPU flags of the instruction sets in common/cflags-vector, for which vector files are
# compiled.
VECTORS = frozenset({"avx2", "fma"})


def has_vectors() -> bool:
    """Return whether programs may use AVX2 and FMA on this computer."""
    lines = CPUINFO.read_text().splitlines()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return VECTORS.issubset(flags.split())
