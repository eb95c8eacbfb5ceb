# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run make mutation: plant the small faults of tests/faults/ and report which check finds each.

The operand tests (user-space build of the stage) and the grader (the module in the lab kernel)
check every mutant. The sanitizers with failing allocations (user space) and make debug (the debug
kernel) check only the mutants that the first two do not find. Exit status: 0 if the catalogue gives
a reason for every mutant that no check finds, 1 if not, 2 if the run failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
# Every run uses the same operands. test_operands.py reads the variable when it is imported.
os.environ["OPERANDS_SEED"] = "1"

import catalogue  # noqa: E402
import test_operands  # noqa: E402
from catalogue import Fault  # noqa: E402

from grader.base import command, paths  # noqa: E402
from grader.base.errors import LabError  # noqa: E402
from grader.base.progress import Progress  # noqa: E402
from grader.exercise.build import stage_module  # noqa: E402
from grader.exercise.conformance import verify  # noqa: E402
from grader.exercise.files import stages  # noqa: E402
from grader.exercise.files.stages import Stage  # noqa: E402
from grader.exercise.stress.debug_kernel import StressPlan, examine  # noqa: E402
from grader.lab import machines  # noqa: E402
from grader.scoring import status  # noqa: E402

FAULTS = catalogue.found_by("mutation")
PARTS = ("operands", "grader", "sanitizers", "debug")
OPERAND_SECONDS = 20
# The maximum length of a mutant's factors in limbs. The usual operand tests use longer factors.
LONG_DIGITS = 200_000
CALL_TIMEOUT = 3.0


@dataclass
class Result:
    """The findings of all checks about one mutant; "" for a check that found nothing."""

    fault: Fault
    stage: int
    caught: dict[str, str]

    @property
    def reason(self) -> str:
        """Return the reason why no check can find the fault, or "" if no reason is known."""
        return str(self.fault.options.get("survives", ""))

    @property
    def alive(self) -> bool:
        """Return True if no check has found the fault."""
        return not any(self.caught.values())


def faulty(fault: Fault, number: int) -> Stage:
    """Return the stage with the fault. Mutants of a stage share a directory for fast builds."""
    folder = paths.BUILD / "mutation"
    shutil.rmtree(folder / catalogue.directory(fault, number).name, ignore_errors=True)
    copy = catalogue.plant(fault, folder, number)
    return Stage(copy, stages.manifests()[number])


def by_operands(stage: Stage) -> str:
    """Run the operand tests. Return the operation that failed, or ""."""
    out = paths.BUILD / "mutation" / f"operands-{stage.number}"
    try:
        program = test_operands.build(stage.number, stage.directory, "plain", out)
    except subprocess.CalledProcessError as error:
        raise LabError(
            f"{stage.key}: a mutant does not compile in user space", "correct it"
        ) from error
    cases = test_operands.cases(stage.number)
    try:
        lines = [case.line(stage.number) for case in cases]
        done = test_operands.run(program, lines, OPERAND_SECONDS)
    except subprocess.TimeoutExpired:
        return "hangs"
    answers = done.stdout.splitlines()
    for case, answer in zip(cases, answers, strict=False):
        if answer != case.result(stage.number):
            return case.op
    if "Assertion" in done.stderr:
        return "assertion"
    if done.returncode or len(answers) != len(cases):
        return "crash"
    if stage.number not in test_operands.DECIMAL:
        return ""
    pairs = [p for p in test_operands.long_pairs(stage.number) if len(p[0]) < LONG_DIGITS]
    try:
        return "long product" if test_operands.long_wrong(program, pairs) else ""
    except subprocess.TimeoutExpired:
        return "hangs"


def by_grader(stage: Stage, thorough: bool) -> str:
    """Run the grader, with the long list of n if `thorough`. Return the first failure, or ""."""
    machine = machines.get("uml")
    built = stage_module.build(stage, machine.kernel(), jobs=1)
    if not built.ok:
        raise LabError(f"{stage.key}: a mutant does not compile: {built.cause}", "correct it")
    found = verify.verify(built, machine, 1, True, lambda what: None)
    if found.ok and thorough:
        found = verify.verify(built, machine, 1, False, lambda what: None)
    stands = status.decide_verified(found).name
    if stands == "ok":
        return ""
    if stands != "wrong":
        return stands
    first = found.failures[0]
    return f"F({first.n})" if first.test == "value" else first.title or first.test


def by_sanitizers(stage: Stage) -> str:
    """Run the user-space build with sanitizers and failing allocations. Return a finding or ""."""
    completed = subprocess.run(
        [sys.executable, str(paths.COMMON / "userspace/check.py"), "sanitize",
         str(stage.directory)],
        env={**os.environ, "LAB_BUILD": str(paths.BUILD)},
        capture_output=True, text=True, errors="replace", timeout=900,
    )  # fmt: skip
    return {0: "", 1: "sanitizers"}.get(completed.returncode, "not done")


def by_debug(stage: Stage) -> str:
    """Run make debug in its short form. Return "debug" if it finds the fault, else ""."""
    machine = machines.get("uml-debug")
    built = stage_module.build(stage, machine.kernel(), jobs=1)
    return "debug" if examine(built, machine, StressPlan(calls=2000, quick=True), str).cause else ""


def one(fault: Fault, number: int) -> Result:
    """Run the checks on one mutant. Run the slow checks only if the fast ones find nothing."""
    stage = faulty(fault, number)
    result = Result(fault, number, dict.fromkeys(PARTS, ""))
    result.caught["operands"] = by_operands(stage)
    # Use the long list of n only for a mutant that the operand tests have missed.
    result.caught["grader"] = by_grader(stage, thorough=result.alive)
    if result.alive:
        result.caught["sanitizers"] = by_sanitizers(stage)
        result.caught["debug"] = by_debug(stage)
    return result


class Run:
    """A run over all mutants: two stages in parallel, the mutants of each stage in sequence."""

    def __init__(self, total: int) -> None:
        self.progress = Progress()
        self.lock = threading.Lock()
        self.total = total
        self.results: list[Result] = []

    def stage(self, number: int, faults: list[Fault]) -> None:
        """Check the mutants of one stage and print the findings."""
        for fault in faults:
            result = one(fault, number)
            with self.lock:
                self.results.append(result)
                caught = ", ".join(f"{p}: {by}" for p, by in result.caught.items() if by)
                text = f"stage {number}: {fault.name}: {caught or 'SURVIVES'}"
                self.progress.step(text, len(self.results), self.total)


def table(results: list[Result], seconds: float) -> str:
    """Return the report in Markdown."""
    results = sorted(results, key=lambda r: (r.stage, FAULTS.index(r.fault)))
    alive = [r for r in results if r.alive]
    counts = Counter(part for r in results for part, by in r.caught.items() if by)
    lines = [
        "# Mutation proof",
        "",
        "Made by `make mutation`; the faults are in `tests/faults/`. Each is compiled",
        " as a program and as a module, and the module is loaded. `operands` and `grader`",
        "look at each mutant, `sanitizers` and `debug` at what these let pass (a dash: not tried).",
        "",
        f"{len(results)} mutants, {len(results) - len(alive)} caught, {len(alive)} survive."
        f" Time: {seconds / 60:.0f} minutes on two CPUs.",
        "",
        "| caught by | what it is | mutants |",
        "|---|---|---|",
        f"| operands | operand tests of the user-space build | {counts['operands']} |",
        f"| grader | `grader/run.sh`: values, ABI, log, contract | {counts['grader']} |",
        f"| sanitizers | `common/userspace/check.py sanitize` | {counts['sanitizers']} |",
        f"| debug | `make debug`: KASAN, failing allocations, leaks | {counts['debug']} |",
        "",
        "## Survivors",
        "",
    ]
    lines += [f"- Stage {r.stage}, {r.fault.name}: {r.reason or 'NO REASON'}."
              for r in alive] or ["None."]  # fmt: skip
    lines += ["", "## All", "", "| stage | file | fault | operands | grader | sanitizers | debug |",
              "|---|---|---|---|---|---|---|"]  # fmt: skip
    for r in results:
        tried = not (r.caught["operands"] or r.caught["grader"])
        cells = [r.caught["operands"] or "no", r.caught["grader"] or "no"]
        cells += [r.caught[part] or ("no" if tried else "-") for part in PARTS[2:]]
        file = r.fault.changes[0].file
        lines.append(f"| {r.stage} | {file} | {r.fault.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(words: list[str]) -> int:
    """Run the mutants and return the exit status."""
    parser = argparse.ArgumentParser(prog="make mutation", description=__doc__.splitlines()[0])
    parser.add_argument("--stage", default="", help="only these stages (those that have faults)")
    parser.add_argument("--name", default="", help="only faults whose name contains this")
    options = parser.parse_args(words)
    verify.CALL_TIMEOUT = CALL_TIMEOUT
    numbers = sorted({n for m in FAULTS for n in m.stages})
    if options.stage:
        numbers = stages.parse_numbers(options.stage)
    chosen = {n: [m for m in FAULTS if n in m.stages and options.name in m.name] for n in numbers}
    for name in ("uml", "uml-debug"):
        machines.get(name).kernel()
    run = Run(sum(map(len, chosen.values())))
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(run.stage, n, chosen[n]) for n in numbers if chosen[n]]
        for job in jobs:
            job.result()
    run.progress.clear()
    text = table(run.results, run.progress.elapsed())
    report = paths.BUILD / "mutation/MUTATION.md"
    report.write_text(text)
    print(f"{paths.shown(report)}:\n")
    print(text.split("## All")[0])
    return 1 if any(r.alive and not r.reason for r in run.results) else 0


if __name__ == "__main__":
    sys.exit(command.end("mutation", lambda: main(sys.argv[1:])))
