# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run the grader once, from the sources of the stages to the report.

Each step returns a value that the next one reads: Stage, BuiltStage, Verified, Samples,
JudgedStage, report. Two stages are built and verified at a time. Instructions are counted at the
same time, because other load does not change counts. Time is measured while nothing else runs.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from grader.base.background import Background, WorkerPool
from grader.base.errors import LabError, MachineError
from grader.base.finding import Finding
from grader.base.progress import Progress
from grader.exercise.build import stage_module
from grader.exercise.files.stages import Stage, arithmetic
from grader.exercise.stress import debug_kernel
from grader.exercise.workload import round_trip
from grader.exercise.workload.stage_workload import StageWorkload, contents
from grader.lab import machines
from grader.lab.machines import Machine
from grader.measure import instructions, timing
from grader.measure.guest_session import Measurements
from grader.report import schema
from grader.scoring import par, pipeline, report_rows, speed, speed_inputs, speedups, status
from grader.scoring.pipeline import CheckedStage, JudgedStage
from grader.scoring.points import Line
from grader.scoring.report_rows import ExtraMeasurements
from grader.scoring.speedups import MachineSamples
from grader.scoring.status import ReportedFinding, Status

# The number of stages that are built and verified at the same time.
AT_A_TIME = 2
# A quick run skips calls that take longer than 1/QUICK of the limit of a whole run.
QUICK = 20


@dataclass(frozen=True)
class RunOptions:
    """The options of one run of the grader."""

    stages: list[Stage]
    machines: list[str]  # The first one verifies; each one measures by its own metric.
    needed: bool  # True if the run must end when a machine after the first is missing.
    seed: int
    quick: bool
    measure: bool
    user_time: bool
    command: str


@dataclass(frozen=True)
class MachineMeasurements:
    """The samples and warnings of one machine."""

    machine: Machine
    measured: Measurements
    warnings: tuple[str, ...] = ()
    known: par.Counts | None = None  # the reference's counts, if speed can earn points


def grade(options: RunOptions, progress: Progress) -> dict[str, Any]:
    """Build, verify, measure and judge the stages. Return the report, see report/schema.json."""
    for name in options.machines:
        machines.get(name)  # Check the names first: get() raises LabError for an unknown name.
    started = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    progress.step("set up the machines")
    progress.clear()
    found = _set_up(options, progress)
    rights, metrics = _verify_and_measure(options, found, progress)
    trips, trip_findings = _round_trips(options, found, rights, progress)
    progress.step("judge")
    stages = [_judge(right, metrics, trip_findings, options) for right in rights]
    ruled = [MachineSamples(r.machine.name, r.machine.metric, r.measured.samples) for r in metrics]
    fit = arithmetic(options.stages)
    compared = [speedups.speedups(fit, one, options.seed) for one in ruled]
    found_speedups = [row for more, _ in compared for row in more]
    gaps = {f"{gap['from']}-{gap['to']}": gap for _, some in compared for gap in some}
    besides = ExtraMeasurements(trips, {r.stage.key: r.figures for r in rights})
    progress.clear()
    return {
        "schema": schema.VERSION,
        "commit": report_rows.commit(),
        "started": started,
        "seconds": round(progress.elapsed(), 1),
        "seed": options.seed,
        "quick": options.quick,
        "command": options.command,
        "machines": [report_rows.machine_row(r.machine, r.warnings) for r in metrics],
        "stages": [report_rows.stage_row(stage, ruled, besides, options.seed) for stage in stages],
        "speedups": found_speedups,
        "gaps": list(gaps.values()),
        "disagreements": speedups.disagreements(found_speedups),
    }


def _set_up(options: RunOptions, progress: Progress) -> list[Machine]:
    """Set up the machines, which may take minutes, and return those that are available."""
    found: list[Machine] = []
    for name in options.machines:
        machine = machines.get(name)
        try:
            machine.kernel()
        except LabError as error:
            if not found or options.needed:
                raise
            progress.say(f"note: continuing without machine {name}: {error}")
            continue
        found.append(machine)
    return found


def _verify_and_measure(
    options: RunOptions, found: list[Machine], progress: Progress
) -> tuple[list[CheckedStage], list[MachineMeasurements]]:
    """Verify the stages and measure them on each machine.

    Return the checked stages in the order of options.stages, and the measurements in the order of
    the machines in found.
    """
    works = [partial(_check, options, stage, found[0], progress) for stage in options.stages]
    verifying = WorkerPool(works, AT_A_TIME)
    counting = {
        machine.name: Background(partial(_count, options, machine, verifying, progress))
        for machine in found
        if options.measure and machine.metric == "instructions"
    }
    rights = []
    for i, stage in enumerate(options.stages):
        rights.append(verifying.result(i))
        built = rights[-1].verified.built
        for note in (*built.excluded, *built.module.warnings):
            progress.say(f"note: {_label(stage)}: {note}")
        stands = status.decide_verified(rights[-1].verified)
        cause = stands.cause or f"{rights[-1].verified.passed:,} tests passed"
        progress.say(f"{_label(stage)}: {stands.name}: {cause}")
    metrics = {name: work.result() for name, work in counting.items()}
    for machine in found:
        if options.measure and machine.debug:
            rights, metrics[machine.name] = _stress(options, machine, found[0], rights, progress)
        elif options.measure and machine.metric and machine.name not in metrics:
            fit = [r for r in rights if r.verified.measurable and not _failed(r, metrics.values())]
            metrics[machine.name] = _time(options, machine, found[0], fit, progress)
        elif machine.name not in metrics:
            metrics[machine.name] = MachineMeasurements(machine, Measurements())
    for stage in options.stages:
        for metric in metrics.values():
            finding = metric.measured.findings.get(stage.key)
            if finding is not None:
                message = f"{finding.status}: {metric.machine.name}: {finding.cause}"
                progress.say(f"{_label(stage)}: {message}")
    return rights, [metrics[machine.name] for machine in found]


def _check(options: RunOptions, stage: Stage, machine: Machine, progress: Progress) -> CheckedStage:
    """Build, verify and test a stage, with one compiler at a time because other work runs too."""
    return pipeline.check_stage(
        stage, machine, options.seed, progress.substeps(_label(stage)), jobs=1
    )


def _failed(right: CheckedStage, metrics: Iterable[MachineMeasurements]) -> bool:
    return any(right.stage.key in metric.measured.findings for metric in metrics)


def _whole_read(stages: Sequence[Stage]) -> bool:
    """Return whether a stage uses decimal limbs, so that the read phase is measured too.

    Decimal limbs make compute slower and decimal conversion faster; read shows their sum.
    """
    return any(stage.traits.decimal for stage in stages)


def _subjects(
    stages: Sequence[Stage], machine: Machine, progress: Progress, jobs: int, seed: int
) -> tuple[list[StageWorkload], dict[str, Finding]]:
    """Build the stages for a machine. Return the workloads, and findings if builds failed."""
    subjects, findings, whole = [], {}, _whole_read(stages)
    for stage in arithmetic(stages):
        if not stage.fits(machine.kernel().arch):
            progress.say(
                f"note: {_label(stage)} is here without its source, and has no object for"
                f" machine {machine.name}: not measured there"
            )
            continue
        progress.step(f"build for {machine.name}")
        counts = machine.metric == "instructions"
        speed_at = speed_inputs.judged_at(machine, stage, seed) if counts else None
        needed = (speed_at.n,) if speed_at else ()
        numbers = (*stage.manifest.measure, *needed)
        made = pipeline.build_subject(stage, machine, numbers, needed, whole, jobs)
        if isinstance(made, Finding):
            findings[stage.key] = made
        else:
            subjects.append(made)
    return subjects, findings


def _count(
    options: RunOptions, machine: Machine, verifying: WorkerPool[CheckedStage], progress: Progress
) -> MachineMeasurements:
    """Count instructions of each stage as soon as its verification has passed."""
    try:
        counting = machines.counting()
    except LabError as error:
        progress.say(f"note: {error}")
        return MachineMeasurements(machine, Measurements())
    subjects, findings = _subjects(options.stages, machine, progress, 1, options.seed)
    places = {stage.key: i for i, stage in enumerate(options.stages)}

    def right_ones() -> Iterator[StageWorkload]:
        for subject in subjects:
            if verifying.result(places[subject.key]).verified.ok:
                yield subject

    limit = instructions.LIMIT / QUICK if options.quick else instructions.LIMIT
    measured = instructions.count(
        counting, right_ones(), contents, progress.step, len(subjects), limit
    )
    wrong = {s.key for s in options.stages if not verifying.result(places[s.key]).verified.ok}
    others = {key: finding for key, finding in findings.items() if key not in wrong}
    notes = [f"{note}, leave --quick away" if options.quick else note for note in measured.notes]
    known = speed.reference(options.stages, options.seed, counting, measured.samples, progress)
    measured = replace(measured, findings={**others, **measured.findings})
    return MachineMeasurements(machine, measured, tuple(notes), known)


def _time(
    options: RunOptions,
    machine: Machine,
    verifier: Machine,
    rights: Sequence[CheckedStage],
    progress: Progress,
) -> MachineMeasurements:
    """Measure the time of the stages that passed verification, in nanoseconds."""
    if machine is verifier:
        whole = _whole_read([right.stage for right in rights])
        subjects = [StageWorkload(r.verified.built, whole_read=whole) for r in rights]
        findings: dict[str, Finding] = {}
    else:
        stages = [right.stage for right in rights]
        subjects, findings = _subjects(stages, machine, progress, 2, options.seed)
    effort = timing.QUICK if options.quick else timing.WHOLE
    fit = arithmetic([right.stage for right in rights])
    measured = timing.measure(
        machine,
        subjects,
        contents,
        options.seed,
        progress.step,
        effort,
        undecided=lambda samples: speedups.undecided(fit, samples, options.seed, effort.growth),
    )
    measured = replace(measured, findings={**findings, **measured.findings})
    return MachineMeasurements(machine, measured, tuple(timing.disturbances(measured.samples)))


def _stress(
    options: RunOptions,
    machine: Machine,
    verifier: Machine,
    rights: Sequence[CheckedStage],
    progress: Progress,
) -> tuple[list[CheckedStage], MachineMeasurements]:
    """Run the stress test of make debug instead of measuring."""
    plan = debug_kernel.StressPlan(options.seed, quick=options.quick)
    after: list[CheckedStage] = []
    findings: dict[str, Finding] = {}
    for right in rights:
        stage = right.stage
        # The test driver found a leak, so run the stress test, which shows where the leaked block
        # was allocated.
        if not right.verified.measurable and not debug_kernel.leaks(right.verified):
            after.append(right)
            continue
        tell = progress.substeps(f"debug {_label(stage)}", always=True)
        if machine is verifier:
            examined = debug_kernel.stress(right.verified, machine, plan, tell)
            after.append(replace(right, verified=examined.as_verified(), figures=examined.figures))
        else:
            examined = pipeline.stress(stage, machine, plan, tell)
            after.append(replace(right, figures=examined.figures))
            if examined.findings:
                findings[stage.key] = examined.findings[0]
        kind = f"{examined.findings[0].status}: " if examined.findings else ""
        outcome = f"{kind}{examined.cause}" or "clean"
        progress.say(f"{_label(stage)}: {outcome}: {debug_kernel.in_words(examined.figures)}")
    return after, MachineMeasurements(machine, Measurements({}, findings))


def _round_trips(
    options: RunOptions,
    found: Sequence[Machine],
    rights: Sequence[CheckedStage],
    progress: Progress,
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Finding]]:
    """Measure read() in a user process on the first machine with a clock. Return rows by stage."""
    trips: dict[str, list[dict[str, Any]]] = {}
    findings: dict[str, Finding] = {}
    if not options.user_time:
        return trips, findings
    machine = next((m for m in found if m.metric == "ns"), None)
    if machine is None:
        raise LabError("--user-time needs a machine with a clock", "give --machine uml")
    fit = [right for right in rights if right.verified.measurable]
    for i, right in enumerate(fit):
        progress.step("time read() from user space", i, len(fit))
        built = stage_module.build(right.stage, machine.kernel())
        try:
            trips[built.stage.key] = round_trip.measure_round_trips(machine, built)
        except MachineError as error:
            cause = f"read() from user space: {error}"
            findings[built.stage.key] = Finding("crashed", cause)
    return trips, findings


def _judge(
    right: CheckedStage,
    metrics: Sequence[MachineMeasurements],
    trips: Mapping[str, Finding],
    options: RunOptions,
) -> JudgedStage:
    stage = right.stage
    found = [
        ReportedFinding(metric.machine.name, finding)
        for metric in metrics
        if (finding := metric.measured.findings.get(stage.key)) is not None
    ]
    if stage.key in trips:
        found.append(ReportedFinding("user-time", trips[stage.key]))

    def fast(stands: Status) -> Line | None:
        for metric in metrics:
            samples = metric.measured.samples
            line = speed.by_instructions(
                stage, options.seed, metric.machine, samples, metric.known, stands
            )
            if line is not None:
                return line
        counted = any(metric.known is not None for metric in metrics)
        timed = next((r.measured.samples for r in metrics if r.machine.metric == "ns"), {})
        return None if counted else speed.by_time(stage, timed, stands)

    return pipeline.judge(right, tuple(found), fast)


def _label(stage: Stage) -> str:
    return f"stage {stage.key}"
