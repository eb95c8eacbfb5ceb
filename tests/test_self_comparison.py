# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test on recorded rounds how rare false positives are, and how often a 10 % difference is found.

A stage and its copy are measured in many boots. Comparisons use boots and rounds drawn from the
recorded ones, by the rules of grader/compare.sh and of the report. On a shared computer with two
cores and 16 recorded boots for each stage, stages 2 and 5, whose rounds scattered by 1.5 %, gave no
false positive in 600 comparisons, and a difference of 10 % was found in all of them. Stage 7, whose
rounds scattered by 4 %, gave 1 false positive in 300 comparisons by the report's rule, and 10 % was
found in 95 % of them. On simulated rounds with a scatter of 8 % (and one outlier of 40 % in ten
rounds), there were 2 false positives in 240, and 10 % was found 74 to 91 times in 100. The earlier
rule, one evaluation of up to three times as many rounds, gave 9 false positives with these rounds,
and found 10 % 58 to 84 times in 100.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest

from grader import compare
from grader.base import paths
from grader.exercise.build import stage_module
from grader.exercise.files import stages
from grader.exercise.workload.stage_workload import StageWorkload, contents
from grader.lab.machines import Machine
from grader.measure import comparison, stats, timing
from grader.measure.comparison import Compared
from grader.measure.samples import Series
from grader.measure.timing import SamplingPlan
from grader.scoring import stage_comparison

RECORDED = (2, 5, 7)
RECORDED_BOOTS, RECORDED_ROUNDS = 16, 12
COMPARISONS = 600
FOUND = 100

# The rounds of a stage and of its copy in one boot, by phase and n.
Place = tuple[str, int]
Boot = dict[Place, tuple[list[float], list[float]]]


def record(number: int, uml: Machine) -> list[Boot]:
    """Measure a stage and its copy in many boots."""
    (stage,) = stages.find(paths.STAGES, [number])
    both = compare.pair(stage.directory, stage.directory, None)
    n = compare.chosen_n(*both, [])
    built = stage_module.build(both[0], uml.kernel())
    subjects = [StageWorkload(replace(built, stage=one), n) for one in both]
    effort = SamplingPlan(RECORDED_BOOTS * RECORDED_ROUNDS, boots=RECORDED_BOOTS)
    measured = timing.measure(
        uml, subjects, contents, number, lambda *_: None, effort, equal_repetitions=True
    )
    assert not measured.findings, measured.findings
    boots: list[Boot] = [{} for _ in range(RECORDED_BOOTS)]
    for phase, size in [(phase, size) for phase in subjects[0].phases for size in n]:
        one, other = (measured.samples[s.key, phase, size] for s in subjects)
        both_rounds = comparison.paired(one, other)
        for boot, a, b in zip(both_rounds.boots, both_rounds.before, both_rounds.after):
            values = boots[boot].setdefault((phase, size), ([], []))
            values[0].append(a)
            values[1].append(b)
    return boots


def drawn(
    rng: random.Random, boots: list[Boot], effort: SamplingPlan, margin: float, slower: float
) -> list[Compared]:
    """Return a possible comparison: random boots, random rounds of each, and one or two looks."""
    chosen = rng.sample(boots, 2 * effort.boots)
    first, second = chosen[: effort.boots], chosen[effort.boots :]
    swap = rng.random() < 0.5
    series = {place: (Series(), Series()) for place in chosen[0]}

    def add(boot: Boot, number: int, begin: int, rounds: int, places: list[Place]) -> None:
        recorded = range(len(next(iter(boot.values()))[0]))
        for i, pick in enumerate(rng.sample(recorded, rounds)):
            for place in places:
                sides = [side[pick] for side in boot[place]]
                for one, value, more in zip(
                    series[place], reversed(sides) if swap else sides, (1, slower)
                ):
                    one.values.append(value * more)
                    one.rounds.append((number, begin + i))

    def machine_finding() -> list[Compared]:
        pairs = list(series.values())
        return comparison.compare("ns", pairs, len(pairs), margin, timing.LOOKS)

    shares = [timing._share(effort.rounds, effort.boots, boot) for boot in range(effort.boots)]
    for number, (boot, share) in enumerate(zip(first, shares)):
        add(boot, number, 0, share, list(series))
    found = machine_finding()
    more = comparison.undecided(found, margin, effort.growth)
    again = {n for (_, n), maybe in zip(series, more) if maybe}
    if not again:
        return found
    for number, (boot, share) in enumerate(zip(second, shares)):
        add(boot, number, share, effort.second, [p for p in series if p[1] in again])
    return machine_finding()


def judged(
    pool: list[list[Boot]], effort: SamplingPlan, margin: float, slower: float, times: int
) -> list[list[str]]:
    rng = random.Random(effort.rounds)
    return [
        [one.verdict for one in drawn(rng, pool[i % len(pool)], effort, margin, slower)]
        for i in range(times)
    ]


@pytest.mark.machine
@pytest.mark.skipif(os.environ.get("LAB_TESTS") != "long", reason="LAB_TESTS=long runs it")
def test_a_stage_is_not_called_faster_than_itself(uml: Machine) -> None:
    pool = [record(number, uml) for number in RECORDED]
    for effort, margin in (
        (compare.EFFORT, stage_comparison.NS_MARGIN),
        (timing.WHOLE, stats.MARGIN),
    ):
        made = judged(pool, effort, margin, 1.0, COMPARISONS)
        claims = [v for v in made if set(v) != {"~"}]
        # The aim is no false positive in 600. Two are allowed, because only few boots are recorded,
        # and one unusual boot would be drawn in a third of the comparisons.
        assert len(claims) <= 2, claims
        found = [v for some in judged(pool, effort, margin, 1.1, FOUND) for v in some]
        assert found.count("faster") == 0
        assert found.count("slower") >= 0.9 * len(found)


def test_the_resampling_sees_a_boot_and_a_difference() -> None:
    """In simulated rounds, a difference in one boot is not significant, but one in all boots is."""
    rng = random.Random(3)

    def boot(shift: float) -> Boot:
        rows = [[100 * rng.lognormvariate(0, 0.01) for _ in range(8)] for _ in range(2)]
        return {("compute", 100): (rows[0], [value * shift for value in rows[1]])}

    odd_effort = timing.SamplingPlan(20, second=8)
    odd = [boot(1.08 if i % 4 == 0 else 1.0) for i in range(16)]
    assert all(v == ["~"] for v in judged([odd], odd_effort, 0.03, 1.0, 200))
    assert judged([odd], odd_effort, 0.03, 1.1, 100).count(["slower"]) >= 85
    # With a single boot, the effect of the boot looks like a difference between the stages.
    assert stats.unanimous("slower", [0.92]) == "slower"
