# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""One run of the grader, from the stages' sources to the report."""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.base import paths
from grader.base.errors import LabError, MachineError
from grader.base.progress import Progress
from grader.lab import machines
from grader.lab.machines import Machine
from grader.rulers import clock, counter, round_trip, stats
from grader.stage import build, strain, verify
from grader.stage.stages import Stage
from grader.verdict import judge, par

ROUNDS = 15
QUICK_ROUNDS = stats.FEWEST


@dataclass(frozen=True)
class Options:
    """What to grade, and how."""

    stages: list[Stage]
    machines: list[str]  # the first verifies; each measures by its ruler
    needed: bool  # whether a machine after the first that cannot be had ends the run
    seed: int
    quick: bool
    measure: bool
    user_time: bool
    command: str


def commit() -> str:
    """The commit of the checkout, "-dirty" behind it when files have changed; or ""."""
    git = ["git", "-C", str(paths.ROOT)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    if head.returncode:
        return ""
    status = subprocess.run(
        [*git, "--no-optional-locks", "status", "--porcelain"], capture_output=True, text=True
    )
    return head.stdout.strip() + ("-dirty" if status.stdout.strip() else "")


def cpu_model() -> str:
    """This computer's processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def _label(stage: Stage) -> str:
    return f"stage {stage.key}"


def grade(options: Options, progress: Progress) -> dict[str, Any]:
    """Build, verify, measure and judge; the report as a dict, see report/schema.json."""
    for name in options.machines:
        machines.get(name)  # a name that is none ends the run before it begins
    started = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    progress.step("set up the machines")
    progress.clear()
    found = _set_up(options, progress)
    results = _verify(options, found[0], progress)

    rows = []
    measured = []
    strained: dict[str, dict[str, int]] = {}
    for machine in found:
        samples: clock.Samples = {}
        warnings: list[str] = []
        if options.measure and machine.name == "uml-debug":
            strained = _strain(options, machine, machine is found[0], results, progress)
        elif options.measure and machine.ruler:
            samples, warnings = _measure(options, machine, results, progress)
        measured.append(judge.Measured(machine.name, machine.ruler, samples))
        rows.append(_machine_row(machine, warnings))
    round_trips = _round_trips(found, results, progress) if options.user_time else {}
    par_here = None
    if any(one.ruler == "instructions" and one.samples for one in measured):
        par_here = par.load(machines.get("qemu"))
        if par_here and par_here.scale != 1:
            next(row for row in rows if row["ruler"] == "instructions")["warnings"].append(
                "expected/par.json knows no machine with this kernel, compiler and emulator: par is"
                f" scaled by {par_here.scale:.3f}, and {par_here.tolerance - 1:.0%} above it earns"
                " all points; make par counts the reference anew"
            )
    progress.step("judge")
    speedups: list[dict[str, Any]] = []
    gaps: dict[str, dict[str, Any]] = {}
    for one in measured:
        more, missing = judge.speedups(options.stages, one, options.seed)
        speedups += more
        gaps.update({f"{gap['from']}-{gap['to']}": gap for gap in missing})
    progress.clear()
    return {
        "schema": 1,
        "commit": commit(),
        "started": started,
        "seconds": round(progress.elapsed(), 1),
        "seed": options.seed,
        "quick": options.quick,
        "command": options.command,
        "machines": rows,
        "stages": [
            _stage_row(
                r,
                measured,
                par_here,
                options.seed,
                round_trips.get(r.built.stage.key, []),
                strained.get(r.built.stage.key, {}),
            )
            for r in results
        ],
        "speedups": speedups,
        "gaps": list(gaps.values()),
        "disagreements": judge.disagreements(speedups),
    }


def _set_up(options: Options, progress: Progress) -> list[Machine]:
    """The machines that can be had; set up before anything else, since it may take minutes."""
    found: list[Machine] = []
    for name in options.machines:
        machine = machines.get(name)
        try:
            machine.kernel()
        except LabError as error:
            if not found or options.needed:
                raise
            progress.say(f"note: going on without machine {name}: {error}")
            continue
        found.append(machine)
    return found


def _verify(options: Options, machine: Machine, progress: Progress) -> list[verify.Verified]:
    results = []
    verifier = machine.verifier()
    for i, stage in enumerate(options.stages):
        progress.step(f"build {_label(stage)}", i, len(options.stages))
        built = build.build(stage, machine.kernel())
        for warning in built.warnings:
            progress.say(f"note: {_label(stage)}: {warning}")
        tell = _teller(progress, f"verify {_label(stage)}")
        # The debug kernel is slow: the longer list of large n is for the other machines.
        quick = options.quick or verifier.name == "uml-debug"
        results.append(verify.verify(built, verifier, options.seed, quick, tell))
        if results[-1].status != "ok":
            progress.say(f"{_label(stage)}: {results[-1].status}: {results[-1].cause}")
    return results


def _measure(
    options: Options, machine: Machine, results: list[verify.Verified], progress: Progress
) -> tuple[clock.Samples, list[str]]:
    """The samples of one machine, and warnings; what fails there is noted in results."""
    here: list[tuple[verify.Verified, verify.Verified]] = []
    for result in results:
        if result.status == "ok" and not result.built.stage.fits(machine.kernel().arch):
            progress.say(
                f"note: {_label(result.built.stage)} is here as an object for machine uml: not"
                f" measured on {machine.name}"
            )
        elif result.status == "ok":
            progress.step(f"build for {machine.name}", len(here), len(results))
            built = build.build(result.built.stage, machine.kernel())
            there = verify.Verified(built)
            if not built.ok:
                there.end("build-failed", built.cause, built.log[-4000:])
            here.append((result, there))
    copies = [there for _, there in here]
    if machine.ruler == "instructions":
        limit = counter.LIMIT / 20 if options.quick else counter.LIMIT
        samples, left_out = counter.measure_exact(
            machine, copies, options.seed, progress.step, limit
        )
        warnings = [
            f"F({x.n}) of {x.key} is not counted: it would take {x.instructions / 1e9:.1f} billion"
            " instructions a call" + (", leave --quick away" if options.quick else "")
            for x in left_out
        ]
    else:
        samples = clock.measure(
            machine,
            copies,
            QUICK_ROUNDS if options.quick else ROUNDS,
            options.seed,
            progress.step,
            clock.BATCH_NS // 2 if options.quick else clock.BATCH_NS,
        )
        warnings = judge.warnings(samples)
    for result, there in here:
        if there.status != "ok":
            _add(result, there, machine)
            progress.say(f"{_label(result.built.stage)}: {result.status}: {result.cause}")
    return samples, warnings


def _add(result: verify.Verified, there: verify.Verified, machine: Machine) -> None:
    """Add to a result what came of it on another machine, where it failed."""
    result.end(there.status, f"{machine.name}: {there.cause}", there.log)
    result.failures += there.failures
    for test, (passed, failed) in there.tests.items():
        counts = result.tests.setdefault(test, [0, 0])
        counts[0] += passed
        counts[1] += failed


def _strain(
    options: Options,
    machine: Machine,
    verified: bool,
    results: list[verify.Verified],
    progress: Progress,
) -> dict[str, dict[str, int]]:
    """What make debug does, in place of measuring; its figures by stage.

    verified: whether the results come from this very machine.
    """
    plan = strain.Plan(options.seed, quick=options.quick)
    figures = {}
    for result in results:
        stage = result.built.stage
        # A leak that the driver has counted is looked into: where does the block come from?
        if result.status != "ok" and not strain.leaks(result):
            continue
        tell = _teller(progress, f"debug {_label(stage)}", always=True)
        if verified:
            strained = strain.strain(result, machine, plan, tell)
        else:
            strained = strain.examine(build.build(stage, machine.kernel()), machine, plan, tell)
            if strained.cause:
                _add(result, strained.verified, machine)
        figures[stage.key] = strained.figures
        outcome = f"{result.status}: {result.cause}" if result.cause else "clean"
        progress.say(f"{_label(stage)}: {outcome}: {strain.in_words(strained.figures)}")
    return figures


def _round_trips(
    found: list[Machine], results: list[verify.Verified], progress: Progress
) -> dict[str, list[dict[str, Any]]]:
    """read() as a user process times it, by stage, on the first machine that has a clock."""
    machine = next((m for m in found if m.ruler == "ns"), None)
    if machine is None:
        raise LabError("--user-time needs a machine with a clock: --machine uml")
    rows = {}
    for i, result in enumerate(results):
        if result.status == "ok":
            progress.step("time read() from user space", i, len(results))
            built = build.build(result.built.stage, machine.kernel())
            try:
                rows[built.stage.key] = round_trip.measure_round_trips(machine, built)
            except MachineError as error:
                result.end("crashed", f"read() from user space: {error}")
    return rows


def _machine_row(machine: Machine, warnings: list[str]) -> dict[str, Any]:
    kernel = machine.kernel()
    facts = machine.facts()
    return {
        "name": machine.name,
        "kernel": kernel.release,
        "compiler": kernel.compiler,
        "cpu": facts.get("cpu") or cpu_model(),
        "ruler": machine.ruler or "ns",
        "warnings": warnings,
        "facts": facts,
    }


def _teller(progress: Progress, what: str, always: bool = False) -> Callable[[str], None]:
    """Tells of steps within another; off a terminal not of each, unless always."""

    def tell(detail: str) -> None:
        progress.step(f"{what}: {detail}" if progress.live or always else what)

    return tell


def _stage_row(
    result: verify.Verified,
    measured: list[judge.Measured],
    par_here: par.Par | None,
    seed: int,
    round_trips: list[dict[str, Any]],
    strained: dict[str, int],
) -> dict[str, Any]:
    stage = result.built.stage
    counted = next((one.samples for one in measured if one.ruler == "instructions"), {})
    row: dict[str, Any] = {
        "number": stage.number,
        "name": stage.key.split("-", 1)[1],
        "title": stage.manifest.title,
        "teaches": stage.manifest.teaches,
        "dir": paths.shown(stage.directory),
        "max_n": stage.manifest.max_n,
        "status": result.status,
        "cause": result.cause,
        "correctness": {
            "passed": result.passed,
            "failed": result.failed,
            "failures": [
                {
                    "test": failure.test
                    if not failure.title
                    else f"{failure.test}: {failure.title}",
                    "n": failure.n,
                    "expected": failure.expected,
                    "got": failure.got,
                    "first_difference": failure.first_difference,
                }
                for failure in result.failures
            ],
        },
        "points": judge.points(result, counted, par_here),
        "samples": [row for one in measured for row in judge.sample_rows(stage, one, seed)],
    }
    if result.log:
        row["log"] = result.log
    if round_trips:
        row["round_trips"] = round_trips
    if strained:
        row["debug"] = strained
    return row
