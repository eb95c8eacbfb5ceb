# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""From what was verified and measured to verdicts: points, speedups, warnings."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.rulers import counter, stats
from grader.rulers.clock import PHASES, Samples
from grader.stage.stages import Stage
from grader.stage.verify import Verified
from grader.verdict import par

# Points by test. Partial credit where a test has many parts, except that a stage
# must load, keep the contract and leave a clean log to have any point of those.
POINTS = {"load": 1.0, "contract": 1.0, "log": 1.0, "abi": 3.0, "value": 4.0}


def points(result: Verified, counted: Samples, par_here: par.Par | None) -> dict[str, float]:
    """Points for correctness, 0 to 10, and, where instructions were counted, for performance.

    Correctness comes first: what is not right earns nothing for being fast.
    """
    earned = 0.0
    for test, worth in POINTS.items():
        passed, failed = result.tests.get(test, [0, 0])
        if passed and not failed:
            earned += worth
        elif passed and test in ("abi", "value"):
            # A tenth is lost with the first fault: nearly right is not right.
            earned += worth * 0.9 * passed / (passed + failed)
    possible = sum(POINTS.values())
    if counted and par_here:
        possible += par.POSSIBLE
        if result.status == "ok":
            stage = result.built.stage
            earned += par.points(stage.number, stage.key, counted, par_here)
    return {"earned": round(earned, 2), "possible": possible}


# The lab kernel's clock moves in such steps; a batch of a hundred of them is right within 1 %.
CLOCK_STEP_NS = 256
CLOCK_STEPS = 100


def _pairs(stages: list[Stage]) -> list[tuple[Stage, Stage]]:
    """Each stage and the one before it, by number; of several of a number the first."""
    by_number: dict[int, Stage] = {}
    for stage in stages:
        by_number.setdefault(stage.number, stage)
    ordered = [by_number[number] for number in sorted(by_number)]
    return list(zip(ordered, ordered[1:]))


@dataclass(frozen=True)
class Measured:
    """All samples of one machine, in the unit of its ruler."""

    machine: str
    ruler: str
    samples: Samples


def _compare(measured: Measured, pairs: list[_Pair], seed: int) -> list[dict[str, Any]]:
    """Verdicts by the measured resolution for counts, by statistics for times."""
    sides = [
        [measured.samples[stage.key, p.phase, p.n].values for stage in (p.before, p.after)]
        for p in pairs
    ]
    if measured.ruler == "instructions":
        return [_by_resolution(*map(statistics.median, side)) for side in sides]
    found = [stats.compare(before, after, seed) for before, after in sides]
    return [
        {
            "ratio": comparison.ratio,
            "ci95": [comparison.low, comparison.high],
            "p": p,
            "verdict": stats.verdict(comparison, p),
        }
        for comparison, p in zip(found, stats.holm([c.p for c in found]))
    ]


def _by_resolution(before: float, after: float) -> dict[str, Any]:
    ratio = before / after
    verdict = "~"
    if counter.differ(before, after):
        verdict = "faster" if ratio > 1 else "slower"
    reach = 1 + counter.RESOLUTION
    return {"ratio": ratio, "ci95": [ratio / reach, ratio * reach], "p": None, "verdict": verdict}


@dataclass(frozen=True)
class _Pair:
    """Two stages at one phase and n, both measured there."""

    before: Stage
    after: Stage
    phase: str
    n: int


def speedups(
    stages: list[Stage], measured: Measured, seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Each stage against the one before it; and the pairs that cannot be compared."""
    samples = measured.samples
    gaps: list[dict[str, Any]] = []
    pairs: list[_Pair] = []
    if not samples:
        return [], gaps
    for before, after in _pairs(stages):
        shared = [
            _Pair(before, after, phase, n)
            for phase in PHASES
            for n in after.manifest.measure
            if (before.key, phase, n) in samples and (after.key, phase, n) in samples
        ]
        if not shared:
            gaps.append(_gap(before, after, samples))
        pairs += shared
    rows = [
        {
            "machine": measured.machine,
            "ruler": measured.ruler,
            "phase": pair.phase,
            "n": pair.n,
            "from": pair.before.number,
            "to": pair.after.number,
            **verdict,
        }
        for pair, verdict in zip(pairs, _compare(measured, pairs, seed))
    ]
    return rows, gaps


def disagreements(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where time and instructions do not name the same winner, and why that can be."""
    by_place: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in rows:
        place = (row["phase"], row["n"], row["from"], row["to"])
        by_place.setdefault(place, {})[row["ruler"]] = row["verdict"]
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


def _gap(before: Stage, after: Stage, samples: Samples) -> dict[str, Any]:
    measured = {key for key, _, _ in samples}
    missing = [s for s in (before, after) if s.key not in measured]
    if missing:
        reason = f"stage {missing[0].number} was not measured: it is not ok"
    else:
        reason = "the two share no n at which both are measured"
    return {"from": before.number, "to": after.number, "reason": reason}


def sample_rows(stage: Stage, measured: Measured, seed: int) -> list[dict[str, Any]]:
    """The samples of a stage as the report has them."""
    rows = []
    for (key, phase, n), series in measured.samples.items():
        if key != stage.key:
            continue
        summary = stats.summarise(series.values, seed)
        rows.append(
            {
                "machine": measured.machine,
                "ruler": measured.ruler,
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


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def warnings(samples: Samples) -> list[str]:
    """What may disturb the figures on this computer, and the cure."""
    said: list[str] = []
    if not samples:
        return said
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > 1.5 * cores:
        said.append(
            f"{load:.1f} processes want {cores} cores: close what else runs, then measure again"
        )
    governor = _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor and governor != "performance":
        said.append(
            f"the CPU governor is {governor}, so that the clock may change while measuring:"
            " scripts/quiet-cpu grader/run.sh sets it to performance and back"
        )
    turbo = _read("/sys/devices/system/cpu/intel_pstate/no_turbo") == "0"
    if turbo or _read("/sys/devices/system/cpu/cpufreq/boost") == "1":
        said.append(
            "turbo is on, so that the first rounds may run faster than the last:"
            " scripts/quiet-cpu grader/run.sh turns it off and back on"
        )
    shortest = min(series.shortest_batch for series in samples.values())
    if shortest < CLOCK_STEPS * CLOCK_STEP_NS:
        said.append(
            f"the shortest batch lasts {shortest / 1000:.1f} us, less than {CLOCK_STEPS} steps of"
            " the clock: raise BATCH_NS in grader/rulers/clock.py, or believe the exact ruler"
        )
    few = [len(series.values) for series in samples.values()]
    if few and min(few) < stats.FEWEST:
        said.append(
            f"only {min(few)} rounds: no claim is made from fewer than {stats.FEWEST},"
            " leave --quick away"
        )
    wide = sum(_noisy(series.values) for series in samples.values())
    if wide > len(samples) / 4:
        said.append(
            f"{wide} of {len(samples)} figures spread by more than a tenth: this computer is"
            " busy or throttles, measure again when it is quiet"
        )
    return said


def _noisy(values: list[float]) -> bool:
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return ordered[-1 - quarter] > 1.1 * ordered[quarter]
