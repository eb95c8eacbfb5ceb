# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compare the samples of each stage with those of the stage before it, for the report."""

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
    """Two successive stages at one phase and n, measured on the same machine."""

    before: Stage
    after: Stage
    phase: str
    n: int


def _neighbours(stages: Sequence[Stage]) -> list[tuple[Stage, Stage]]:
    """Return each stage with its predecessor. Of stages with the same number, take the first."""
    by_number: dict[int, Stage] = {}
    for stage in stages:
        by_number.setdefault(stage.number, stage)
    ordered = [by_number[number] for number in sorted(by_number)]
    return list(zip(ordered, ordered[1:]))


def _pairs(stages: Sequence[Stage], samples: Samples) -> list[_Pair]:
    """Return each stage with its predecessor at every phase and n where both have samples."""
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
    """Return the (stage key, n) whose times must be measured again, see timing.measure."""
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
    """Return rows that compare each stage with its predecessor, and the pairs without a row."""
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
    """Return the rows where time and instructions name different winners, with an explanation."""
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
    """Return the samples of a stage as rows of the report."""
    rows = []
    for (key, phase, n), series in source.samples.items():
        # The n at which speed is judged depends on the seed, so this n is left out of the report.
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
