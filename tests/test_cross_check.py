# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that the times which a stage reports are compared with the time that its caller measures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.measure import cross_check
from grader.measure.workload import Reading, WrongAnswer


def reading(repeat: int) -> Reading:
    """Return an honest reading: 200 ns of compute and 133 ns of decimal for each repetition."""
    ns = {"compute": 200 * repeat, "decimal": 133 * repeat}
    own_ns = 50.0 * repeat
    return Reading(
        ns, {"compute": 0, "decimal": 0}, 0, sum(ns.values()) + 60_000, own_ns=own_ns, bare=False
    )


def test_times_fit_coarsely() -> None:
    honest = reading(20_000)
    assert cross_check.times_fit([honest], 20_000)
    hidden = replace(honest, ns={phase: ns // 5 for phase, ns in honest.ns.items()})
    assert not cross_check.times_fit([hidden], 20_000)
    # A stage that reports more time than its caller measured is also rejected.
    assert not cross_check.times_fit(
        [replace(honest, outside_ns=sum(honest.ns.values()) // 2)], 20_000
    )
    cross_check.check_times(93, [True] * 8 + [False] * 7, [honest] * 15)
    with pytest.raises(WrongAnswer, match=r"the time of F\(93\), in 8 of 15 rounds"):
        cross_check.check_times(93, [True] * 7 + [False] * 8, [honest] * 15)
