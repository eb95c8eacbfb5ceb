# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Hold the samples of a metric: series of values, by workload, phase and n."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# The boot of the machine in which a value was measured, and the round in that boot.
Round = tuple[int, int]


@dataclass
class Series:
    """The values of one workload, phase and n: the costs of a call in the metric's unit."""

    values: list[float] = field(default_factory=list)
    allocations: float | None = None  # Allocations per call; None if instructions are counted.
    peak_bytes: int | None = None
    shortest_batch: float = math.inf  # Total cost of a batch of calls, in the metric's unit.
    # The round of each value; empty if all values are from one boot, in order.
    rounds: list[Round] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median of the values, which represents the series."""
        return statistics.median(self.values)


def added(parts: Sequence[Series]) -> Series:
    """Add series value by value. All parts must have the same rounds."""
    missing = any(part.allocations is None or part.peak_bytes is None for part in parts)
    return Series(
        [sum(values) for values in zip(*(part.values for part in parts))],
        None if missing else sum(part.allocations or 0 for part in parts),
        None if missing else max(part.peak_bytes or 0 for part in parts),
        min(part.shortest_batch for part in parts),
        list(parts[0].rounds),
    )


# Series by (key of the workload, phase, n).
Samples = dict[tuple[str, str, int], Series]


def add_wholes(samples: Samples, key: str, wholes: Mapping[str, tuple[str, ...]]) -> None:
    """Add the series of sums of phases to the samples. wholes: the phases of each sum."""
    for whole, phases in wholes.items():
        for n in sorted({n for k, _, n in samples if k == key}):
            samples[key, whole, n] = added([samples[key, phase, n] for phase in phases])
