# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a metric gives: series of figures, by what was measured, phase and size."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# In which boot of the machine a figure was measured, and in which round of that.
Round = tuple[int, int]


@dataclass
class Series:
    """The figures of one subject, phase and n: cost of a call in the metric's unit."""

    values: list[float] = field(default_factory=list)
    allocations: float | None = None  # not known where instructions are counted
    peak_bytes: int | None = None
    shortest_batch: float = math.inf  # in the metric's unit, all repetitions of it
    rounds: list[Round] = field(default_factory=list)  # of each value; none: one boot, by place

    @property
    def median(self) -> float:
        """The figure that stands for the series."""
        return statistics.median(self.values)


def added(parts: Sequence[Series]) -> Series:
    """The series of a sum, measurement by measurement: its parts have as many, made together."""
    missing = any(part.allocations is None or part.peak_bytes is None for part in parts)
    return Series(
        [sum(values) for values in zip(*(part.values for part in parts))],
        None if missing else sum(part.allocations or 0 for part in parts),
        None if missing else max(part.peak_bytes or 0 for part in parts),
        min(part.shortest_batch for part in parts),
        list(parts[0].rounds),
    )


# By the subject's key, phase, n.
Samples = dict[tuple[str, str, int], Series]


def add_wholes(samples: Samples, key: str, wholes: Mapping[str, tuple[str, ...]]) -> None:
    """Add to a subject's samples those of its sums of phases."""
    for whole, phases in wholes.items():
        for n in sorted({n for k, _, n in samples if k == key}):
            samples[key, whole, n] = added([samples[key, phase, n] for phase in phases])
