# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""One run of the grader, from the stages' sources to the report."""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import build, judge, machines, measure, paths, verify
from .progress import Progress
from .stages import Stage

ROUNDS = 15
QUICK_ROUNDS = 5


@dataclass(frozen=True)
class Options:
    """What to grade, and how."""

    stages: list[Stage]
    machine: str
    seed: int
    quick: bool
    measure: bool
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
    return f"stage {stage.number} ({stage.key})"


def grade(options: Options, progress: Progress) -> dict[str, Any]:
    """Build, verify, measure and judge; the report as a dict, see report/schema.json."""
    started = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    machine = machines.get(options.machine)
    progress.step("set up the machine")
    progress.clear()
    kernel = machine.kernel()

    results = []
    for i, stage in enumerate(options.stages):
        progress.step(f"build {_label(stage)}", i, len(options.stages))
        built = build.build(stage, kernel)
        for warning in built.warnings:
            progress.say(f"note: {_label(stage)}: {warning}")
        results.append(verify.verify(built, machine, options.seed, options.quick,
                                     _teller(progress, f"verify {_label(stage)}")))  # fmt: skip
        if results[-1].status != "ok":
            progress.say(f"{_label(stage)}: {results[-1].status}: {results[-1].cause}")

    samples: measure.Samples = {}
    if options.measure:
        samples = measure.measure(
            machine,
            results,
            QUICK_ROUNDS if options.quick else ROUNDS,
            options.seed,
            progress.step,
            measure.BATCH_NS // 2 if options.quick else measure.BATCH_NS,
        )
    progress.step("judge")
    warnings = judge.warnings(samples)
    speedups, gaps = judge.speedups(options.stages, samples, machine.name, options.seed)
    progress.clear()
    return {
        "schema": 1,
        "commit": commit(),
        "started": started,
        "seconds": round(progress.elapsed(), 1),
        "seed": options.seed,
        "quick": options.quick,
        "command": options.command,
        "machines": [
            {
                "name": machine.name,
                "kernel": kernel.release,
                "compiler": kernel.compiler,
                "cpu": cpu_model(),
                "ruler": machine.ruler,
                "warnings": warnings,
            }
        ],
        "stages": [_stage_row(r, samples, machine.name, options.seed) for r in results],
        "speedups": speedups,
        "gaps": gaps,
    }


def _teller(progress: Progress, what: str) -> Callable[[str], None]:
    def tell(detail: str) -> None:
        progress.step(f"{what}: {detail}" if progress.live else what)

    return tell


def _stage_row(
    result: verify.Verified, samples: measure.Samples, machine: str, seed: int
) -> dict[str, Any]:
    stage = result.built.stage
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
        "points": judge.points(result),
        "samples": judge.sample_rows(stage, samples, machine, seed),
    }
    if result.log:
        row["log"] = result.log
    return row
