# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Axes of pictures: logarithmic ones with readable tick labels, and axes of labelled rows."""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

MOST_TICKS = 7


class Axis(NamedTuple):
    """An axis: its range, its labelled ticks and its ticks without a label."""

    low: float
    high: float
    major: list[tuple[float, str]]
    minor: list[float]


def log_axis(values: Iterable[float], label: Callable[[float], str], least_span: float) -> Axis:
    """Return an axis around positive values that spans at least the factor least_span."""
    ordered = sorted(values)
    low, high = ordered[0], ordered[-1]
    widen = max(1.0, math.sqrt(least_span * low / high))
    low, high = low / widen, high * widen
    margin = (high / low) ** 0.04
    low, high = low / margin, high * margin
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    decades = [10.0**p for p in powers]
    inside = [x for x in decades if low <= x <= high]
    steps = (2, 5) if len(inside) > 3 else range(2, 10)
    fine = [m * d for d in decades for m in steps if low <= m * d <= high]
    if len(inside) >= 3:
        step = math.ceil(len(inside) / MOST_TICKS)
        major = inside[::step]
        minor = [x for x in inside if x not in major] if step > 1 else fine
    else:
        known = [m * d for d in decades for m in (1, 2, 5)]
        high = min((x for x in known if high <= x < 1.5 * high), default=high)
        major = [x for x in known if low <= x <= high]
        minor = [x for x in fine if x not in major]
        if len(major) < 3:
            major, minor = _even(low, high), []
    return Axis(low, high, [(x, label(x)) for x in major], minor)


def row_axis(labels: list[str]) -> Axis:
    """Return an axis with a row for each label; row 1 is at the top."""
    return Axis(
        len(labels) + 0.6, 0.4, [(float(i), label) for i, label in enumerate(labels, 1)], []
    )


def _even(low: float, high: float) -> list[float]:
    """Return about five evenly spaced round values between low and high."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
