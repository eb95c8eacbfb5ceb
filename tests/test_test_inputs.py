# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that the verified n include each size class and each threshold with every seed."""

from __future__ import annotations

import random
import re

import pytest

from grader.exercise.build import stage_module
from grader.exercise.conformance import test_inputs
from grader.exercise.files import expected_values, near_numbers, octaves, stages
from grader.lab.module import Kernel

KNOWN = stages.manifests()


def test_small_n() -> None:
    assert test_inputs.small_n(93) == list(range(94))
    assert test_inputs.small_n(100_000) == list(range(1001))


@pytest.mark.parametrize("number", KNOWN)
@pytest.mark.parametrize("quick", [False, True])
def test_large_n(number: int, quick: bool) -> None:
    manifest = KNOWN[number]
    chosen = test_inputs.large_n(manifest, (), 1, quick)
    if manifest.max_n <= test_inputs.EVERY_N_TO:
        assert chosen == []
        return
    assert chosen == sorted(set(chosen)) and chosen[0] == 1001
    assert chosen[-1] == manifest.max_n
    assert test_inputs.large_n(manifest, (), 1, quick) == chosen
    assert test_inputs.large_n(manifest, (), 2, quick) != chosen
    if not quick:
        assert {n for n in expected_values.golden_n() if 1000 < n <= manifest.max_n} <= set(chosen)


def test_each_size_class_has_a_verified_n() -> None:
    """Above 1,000 the drawn n are at most a quarter of an octave apart."""
    for seed in range(50):
        drawn = octaves.drawn(1000, 10_000_000, 8, random.Random(seed))
        ends = [1000, *drawn, 10_000_000]
        assert all(after / before < 2**0.2501 for before, after in zip(ends, ends[1:]))


def test_each_length_of_a_transform_has_a_verified_n() -> None:
    """Each transform length, 3 points per limb rounded up to 4, 5 or 6 * 2^k, has a verified n."""
    manifest = KNOWN[11]
    lengths = [part << k for k in range(30) for part in (4, 5, 6)]

    def length(n: int) -> int:
        points = 3 * -(-expected_values.digit_count(n) // expected_values.LIMB_DIGITS)
        return min(size for size in lengths if size >= points)

    wanted = {length(n) for n in range(30_000, manifest.max_n, 997)}
    assert len(wanted) > 25
    for seed in range(20):
        rng = random.Random(seed)
        drawn = octaves.drawn(1000, manifest.max_n, test_inputs.PARTS_OF_OCTAVE, rng)
        assert wanted <= {length(n) for n in [*drawn, manifest.max_n]}


@pytest.mark.skipif(stages.exported(), reason="the thresholds stand in solved stages")
@pytest.mark.parametrize("number", [n for n in KNOWN if n >= 8])
def test_each_threshold_has_a_verified_n(number: int, kernel: Kernel) -> None:
    """Each threshold has verified numbers and factors of as many limbs, and of one fewer.

    The grader finds the thresholds in the objects, this test in the sources.
    """
    manifest, stage = KNOWN[number], stages.kit(number)
    text = "".join(path.read_text() for path in stage.directory.glob("*.[ch]"))
    thresholds = [int(n) for n in re.findall(r"#define \w*LIMBS\w* ([0-9]{2,})\n", text)]
    assert thresholds
    compared = stage_module.build(stage, kernel).compared
    chosen = test_inputs.large_n(manifest, compared, 3, False)

    def limbs(n: int) -> int:
        return -(-expected_values.digit_count(n) // expected_values.LIMB_DIGITS)

    numbers, factors = {limbs(n) for n in chosen}, {limbs(n // 2) for n in chosen}
    for threshold in thresholds:
        around = {threshold - 1, threshold}
        assert around <= numbers
        # Accept a missing factor if its n is larger than the stage's max_n.
        assert (
            around <= factors
            or 2 * threshold * expected_values.LIMB_DIGITS
            > expected_values.digit_count(manifest.max_n)
        )


def test_n_near_a_number_that_is_compared() -> None:
    """A number may count n or limbs of 32 or 64 bits, and its ends may be in or out."""
    manifest = KNOWN[5]
    near = set(near_numbers.n_near(manifest, (5000, 700), random.Random(1)))
    assert {4999, 5000, 5001, 699, 700, 701} <= near
    for width in (32, 64):
        limbs = {-(-expected_values.bits(n) // width) for n in near}
        factors = {-(-expected_values.bits(n // 2) // width) for n in near}
        assert {699, 700, 701} <= limbs
        assert width > 32 or {699, 700, 701} <= factors  # The others are longer than F(100,000).


def test_runs_are_where_they_should_be() -> None:
    assert test_inputs.chosen_runs(KNOWN[1], 1) == []
    hits = {n: 0 for n in (1001, 1100, 5000, 10_000, 10_001, 16_365, 30_000)}
    for seed in range(400):
        runs = test_inputs.chosen_runs(KNOWN[10], seed)
        assert all(1000 < first <= last <= 100_000 for first, last in runs)
        for n in hits:
            hits[n] += sum(first <= n <= last for first, last in runs)
    # Each n of a range has the same probability: 128 / 250, or 128 / 1,250.
    assert all(150 < hits[n] < 260 for n in hits if n <= 10_000), hits
    assert all(15 < hits[n] < 75 for n in hits if n > 10_000), hits
