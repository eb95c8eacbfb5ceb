# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a ruler gives: series of figures, by what was measured, phase and size."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field


@dataclass
class Series:
    """The figures of one subject, phase and n: cost of a call in the ruler's unit."""

    values: list[float] = field(default_factory=list)
    allocations: float = 0.0
    peak_bytes: int = 0
    shortest_batch: float = math.inf  # in the ruler's unit, all repetitions of it

    @property
    def median(self) -> float:
        """The figure that stands for the series."""
        return statistics.median(self.values)


# By the subject's key, phase, n.
Samples = dict[tuple[str, str, int], Series]
