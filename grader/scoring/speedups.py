# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""From samples to the report's figures: each stage against the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.exercise.files.stages import Stage
from grader.exercise.workload.stage_workload import PHASES, READ
from grader.measure import comparison, stats, timing
from grader.measure.samples import Samples


@dataclass(frozen=True)
class MachineSamples:
    """All samples of one machine, in the unit of its metric."""

    machine: str
    metric: str
    samples: Samples


@dataclass(frozen=True)
class _Pair:
    """Two stages at one phase and n, both measured there."""

    before: Stage
    after: Stage
    phase: str
    n: int


def _neighbours(stages: Sequence[Stage]) -> list[tuple[Stage, Stage]]:
    """Each stage and the one before it, by number; of several of a number the first."""
    by_number: dict[int, Stage] = {}
    for stage in stages:
        by_number.setdefault(stage.number, stage)
    ordered = [by_number[number] for number in sorted(by_number)]
    return list(zip(ordered, ordered[1:]))


def _pairs(stages: Sequence[Stage], samples: Samples) -> list[_Pair]:
    """All that can be compared of each stage and the one before it."""
    return [
        _Pair(before, after, phase, n)
        for before, after in _neighbours(stages)
        for phase in (*PHASES, READ)
        for n in after.manifest.measure
        if (before.key, phase, n) in samples and (after.key, phase, n) in samples
    ]


def _compared(
    pairs: Sequence[_Pair], metric: str, samples: Samples, seed: int
) -> list[comparison.Compared]:
    series = [
        (samples[pair.before.key, pair.phase, pair.n], samples[pair.after.key, pair.phase, pair.n])
        for pair in pairs
    ]
    return comparison.compare(metric, series, seed, looks=timing.LOOKS)


def undecided(
    stages: Sequence[Stage], samples: Samples, seed: int, growth: float
) -> set[tuple[str, int]]:
    """Return the stages, by key, and n whose times are to be measured again: see clock.measure."""
    pairs = _pairs(stages, samples)
    compared = _compared(pairs, "ns", samples, seed)
    maybe = comparison.undecided(compared, stats.MARGIN, growth)
    return {
        (stage.key, pair.n)
        for pair, more in zip(pairs, maybe)
        if more
        for stage in (pair.before, pair.after)
    }


def speedups(
    stages: Sequence[Stage], source: MachineSamples, seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Each stage against the one before it; and the pairs that cannot be compared."""
    if not source.samples:
        return [], []
    pairs = _pairs(stages, source.samples)
    gaps = [
        _gap(before, after, source)
        for before, after in _neighbours(stages)
        if not any(pair.after is after for pair in pairs)
    ]
    compared = _compared(pairs, source.metric, source.samples, seed)
    rows = [
        {
            "machine": source.machine,
            "metric": source.metric,
            "phase": pair.phase,
            "n": pair.n,
            "from": pair.before.number,
            "to": pair.after.number,
            "ratio": one.ratio,
            "ci95": [one.low, one.high],
            "p": one.p,
            "verdict": one.verdict,
        }
        for pair, one in zip(pairs, compared)
    ]
    return rows, gaps


def disagreements(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where time and instructions do not name the same winner, and why that can be."""
    by_place: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in rows:
        place = (row["phase"], row["n"], row["from"], row["to"])
        by_place.setdefault(place, {})[row["metric"]] = row["verdict"]
    found = []
    for (phase, n, before, after), verdicts in by_place.items():
        if {verdicts.get("ns"), verdicts.get("instructions")} == {"faster", "slower"}:
            fewer = verdicts["instructions"] == "faster"
            found.append(
                {
                    "phase": phase,
                    "n": n,
                    "from": before,
                    "to": after,
                    "ns_verdict": verdicts["ns"],
                    "instructions_verdict": verdicts["instructions"],
                    "why": (
                        "fewer instructions, but each takes longer: they wait for one another, a"
                        " branch is guessed wrong, or a division counts as one"
                        if fewer
                        else "more instructions, but more of them at the same time: the processor"
                        " runs independent ones side by side"
                    ),
                }
            )
    return found


def _gap(before: Stage, after: Stage, source: MachineSamples) -> dict[str, Any]:
    measured = {key for key, _, _ in source.samples}
    missing = [s for s in (before, after) if s.key not in measured]
    shipped = [s for s in missing if s.shipped]
    if shipped:
        reason = (
            f"{source.machine} has no {source.metric} of stage {shipped[0].number}, which is"
            " here without its source"
        )
    elif missing:
        reason = f"stage {missing[0].number} was not measured: it is not ok"
    else:
        reason = "the two share no n at which both are measured"
    return {"from": before.number, "to": after.number, "reason": reason}


def sample_rows(stage: Stage, source: MachineSamples, seed: int) -> list[dict[str, Any]]:
    """The samples of a stage as the report has them."""
    rows = []
    for (key, phase, n), series in source.samples.items():
        # Where points alone are judged is another n each time: no place in a table or a picture.
        if key != stage.key or n not in stage.manifest.measure:
            continue
        summary = stats.summarise(series.values, seed)
        rows.append(
            {
                "machine": source.machine,
                "metric": source.metric,
                "phase": phase,
                "n": n,
                "median": summary.median,
                "ci95": [summary.low, summary.high],
                "count": summary.count,
                "mean": summary.mean,
                "trimmed_mean": summary.trimmed_mean,
                "min": summary.minimum,
                "max": summary.maximum,
                "outliers": summary.outliers,
                "allocations": series.allocations,
                "peak_bytes": series.peak_bytes,
            }
        )
    return sorted(rows, key=lambda row: (row["phase"], row["n"]))
