#!/usr/bin/env python3
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run a stage as a program under valgrind or the sanitizers.

usage: check.py memcheck|sanitize [--n N --fail K|--kill K] STAGE_DIR...

Build each stage by common/userspace/Makefile, and compare its numbers with Python's integers and
with expected/. Make its allocations fail, and its yields report that the caller was killed. With
--fail or --kill, only compute F(N) once, with a failure at allocation K or yield K. Exit status: 0
if all is right, 1 if a stage is wrong, 2 if the check could not run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from grader.base import command, paths  # noqa: E402  (the package is found by the line above)
from grader.base.errors import LabError  # noqa: E402
from grader.base.finding import Fault  # noqa: E402
from grader.exercise.files import expected_values  # noqa: E402
from grader.exercise.operations import sanitizer_report  # noqa: E402

VALGRIND = (
    "valgrind",
    "--quiet",
    "--leak-check=full",
    "--show-leak-kinds=all",
    "--errors-for-leak-kinds=all",
    "--error-exitcode=99",
)
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


# The commands of main.c that make one call fail, and the kind of the failing call.
AT = {"fail-at": "fail", "kill-at": "kill"}


class Wrong(Exception):
    """The stage failed a check; the message describes the failure."""


@dataclass(frozen=True)
class Run:
    """One run of the program: a command of main.c, the n, and the number of injected failures."""

    command: str
    n: tuple[str, ...]
    most: int | None = None
    native: bool = False  # without valgrind, which would take minutes

    def arguments(self) -> list[str]:
        """Return the program's arguments."""
        return [self.command, *([] if self.most is None else [str(self.most)]), *self.n]

    def __str__(self) -> str:
        return " ".join(self.arguments()) + (" (at full speed)" if self.native else "")


@dataclass(frozen=True)
class Plan:
    """The runs that check one build of a stage."""

    flavour: str
    wrapper: tuple[str, ...]
    runs: list[Run] = field(default_factory=list)


def numbers(text: str) -> list[int]:
    """Return each n in an argument such as 5 or 0-300."""
    low, _, high = text.partition("-")
    return list(range(int(low), int(high or low) + 1))


def up_to(max_n: int, *candidates: int) -> tuple[str, ...]:
    """Return the candidates that are at most max_n, as text."""
    return tuple(str(n) for n in candidates if n <= max_n)


def plans(check: str, stage: Path, max_n: int) -> list[Plan]:
    """Return the runs of this check. If a stage has assembly, also check its plain C."""
    small = f"0-{min(300, max_n)}"
    failing = f"100-{min(300, max_n)}" if max_n >= 100 else f"0-{max_n}"
    large = up_to(max_n, 1000, 4658, 9999, 10000, 30000, 100000, 300000)
    failing_large = up_to(max_n, 1000, 3000, 10000, 100000)
    if max_n > 1000000:  # these stages use transforms from about n = 120,000 on
        failing_large += up_to(max_n, 300000)
    if check == "memcheck":
        # Inject failures into all allocations and yields only without valgrind; the program's own
        # counters detect leaks.
        every = 10**9
        runs = [Run("check", (small,)), Run("fail", (failing,), 5), Run("kill", (failing,), 5)]
        runs += [Run(command, (failing,), every, native=True) for command in ("fail", "kill")]
        if large:
            runs += [Run("check", large), Run("fail", failing_large, 10)]
            runs += [Run("kill", failing_large, 5)]
        if max_n > 300000:
            runs += [Run("check", (str(max_n),), native=True)]
        return [Plan("plain", VALGRIND, runs)]
    runs = [Run("check", (small,)), Run("fail", (failing,), 200), Run("kill", (failing,), 100)]
    if large:
        runs += [Run("check", large + up_to(max_n, 1000000, 10000000))]
        runs += [Run("fail", failing_large, 50), Run("kill", failing_large, 20)]
    flavours = ["asan"]
    if any("FIB_NO_ASM" in path.read_text() for path in stage.glob("*.[ch]")):
        flavours.append("asan-noasm")
    return [Plan(flavour, (), runs) for flavour in flavours]


def build(stage: Path, flavour: str) -> Path:
    """Build the program and return its path."""
    out = paths.BUILD / "user" / stage.name / flavour
    variables = [
        f"STAGE_DIR={paths.for_make(stage)}",
        f"FLAVOUR={flavour}",
        f"OUT={paths.for_make(out)}",
    ]
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
    made = subprocess.run(
        ["make", "-s", "-C", str(ROOT / "common/userspace"), *variables],
        capture_output=True,
        text=True,
        env=environment,
    )
    if made.returncode:
        errors = [line for line in made.stderr.splitlines() if "error" in line]
        raise Wrong(f"does not build ({flavour}): {(errors or [made.stderr.strip()])[0]}")
    return out / "fib"


def compare(output: str, run: Run) -> None:
    """Compare lines of n and F(n) with the expected values."""
    wanted = [n for text in run.n for n in numbers(text)]
    lines = output.splitlines()
    if len(lines) != len(wanted):
        raise Wrong(f"{run}: {len(lines)} lines instead of {len(wanted)}")
    for n, line in zip(wanted, lines, strict=True):
        expected = f"{n} {expected_values.digits(n)}"
        if line != expected:
            at = next(
                (i for i, (a, b) in enumerate(zip(expected, line)) if a != b),
                min(len(expected), len(line)),
            ) - len(str(n))
            raise Wrong(f"F({n}) is wrong from digit {at} of {len(expected) - len(str(n)) - 1} on")


def execute(program: Path, plan: Plan, run: Run) -> None:
    """Run the program once. Raise Wrong if it reports an error or prints wrong numbers."""
    wrapper = () if run.native else plan.wrapper
    try:
        result = subprocess.run(
            [*wrapper, str(program), *run.arguments()],
            capture_output=True,
            text=True,
            env={**os.environ, **SANITIZER_OPTIONS},
            timeout=600,
        )
    except subprocess.TimeoutExpired:
        raise Wrong(f"{run}: not done after 10 minutes") from None
    asked, stderr = sanitizer_report.asked_for(result.stderr)
    if result.returncode or stderr:
        said = stderr.strip().splitlines()
        log = program.parent / f"{run.command}.log"
        log.write_text(result.stderr)
        if run.command in AT:
            raise Wrong(f"{_when(run, asked)}, {_what(stderr, said)} (see {paths.shown(log)})")
        shown = next((s for s in said if "ERROR" in s or "runtime error" in s), (said or ["?"])[0])
        shown = re.sub(r"==\d+==\s*| on (?:unknown )?address 0x.*", "", shown)
        shown += sanitizer_report.place(stderr)
        raise Wrong(f"{run}: status {result.returncode}, {shown} (see {paths.shown(log)})")
    if run.command in ("fib", "check"):
        compare(result.stdout, run)


def _when(run: Run, asked: str) -> str:
    """Return the description of the failure that was injected into a run for one n."""
    return sanitizer_report.when(Fault(int(run.n[0]), AT[run.command], run.most or 0, 0), asked)


def _what(stderr: str, said: list[str]) -> str:
    """Return the first error that a run printed, in one line."""
    pointer = sanitizer_report.bad_pointer(stderr)
    first = next((s for s in said if "ERROR" in s or "runtime error" in s or "fib:" in s), "?")
    first = re.sub(r"^fib: F\(\d+\): (?:when [^,]*, )?|==\d+==\s*", "", first)
    return (pointer or first) + sanitizer_report.place(stderr)


def check_place(stage: Path, run: Run) -> None:
    """Run one call of a stage in which one allocation or yield fails."""
    program = build(stage, "asan")
    execute(program, Plan("asan", ()), run)
    print(f"{stage.name}: {run}: the error is returned, and all is released", flush=True)


def check_stage(check: str, stage: Path) -> None:
    """Run one check for one stage in all its variants, and print each step."""
    flavour = "plain" if check == "memcheck" else "asan"
    program = build(stage, flavour)
    max_n = int(subprocess.check_output([str(program), "max_n"], text=True))
    for plan in plans(check, stage, max_n):
        program = build(stage, plan.flavour)
        for run in plan.runs:
            begin = time.monotonic()
            print(f"{stage.name} {plan.flavour}: {run} ... ", end="", flush=True)
            execute(program, plan, run)
            print(f"{time.monotonic() - begin:.1f} s", flush=True)


class _Parser(argparse.ArgumentParser):
    """A parser that raises LabError, so that a wrong argument is reported in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise LabError."""
        raise LabError(message, "run common/userspace/check.py --help")


def main(arguments: list[str]) -> int:
    """Run the check that the command line names. Return the exit status."""
    parser = _Parser(prog="check.py", description=__doc__)
    parser.add_argument("check", choices=("memcheck", "sanitize"))
    parser.add_argument("--n", type=int)
    parser.add_argument("--fail", type=int, metavar="K")
    parser.add_argument("--kill", type=int, metavar="K")
    parser.add_argument("stages", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    check, begin = options.check, time.monotonic()
    wrong = 0
    stages = [path.resolve() for path in options.stages]
    at: Run | None = None
    if options.fail or options.kill:
        if options.n is None:
            raise LabError("n is missing", "give it, like make stage=3 sanitize n=1000 fail=5")
        name = "fail-at" if options.fail else "kill-at"
        at = Run(name, (str(options.n),), options.fail or options.kill)
    if check == "memcheck" and not shutil.which("valgrind"):
        raise LabError("valgrind not found", "run scripts/setup.sh user")
    for stage in stages:
        if not (stage / "exercise.toml").is_file():
            raise LabError(
                f"{stage} is not a stage: it has no exercise.toml",
                "give a directory like stages/3-bignum-u32",
            )
    for stage in stages:
        try:
            if at:
                check_place(stage, at)
            else:
                check_stage(check, stage)
        except Wrong as reason:
            wrong += 1
            print(f"WRONG\n{check}: {stage.name}: {reason}", flush=True)
    what = "no error, no byte lost" if check == "memcheck" else "nothing found"
    took = f"{time.monotonic() - begin:.0f} s"
    names = ", ".join(stage.name for stage in stages)
    verdict = f"{wrong} of {len(stages)} wrong" if wrong else what
    print(f"{check}: {names}: {verdict} ({took})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(command.end("check", lambda: main(sys.argv[1:])))
