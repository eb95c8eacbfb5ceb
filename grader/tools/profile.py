# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make stage=N profile: count the instructions of one call, function by function.

callgrind runs the stage's sources as a program; on machine host, perf samples the kernel.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.base import command, paths, scratch
from grader.base.errors import LabError, MachineError
from grader.course import learner_copy
from grader.exercise.build import stage_module
from grader.exercise.conformance.verify import MODULE
from grader.exercise.files import device
from grader.exercise.files.stages import Stage
from grader.exercise.workload.stage_workload import PHASES
from grader.lab import machines, module

# The time of a run without callgrind. Under callgrind, which is 4 to 50 times slower, the run takes
# a few seconds at most.
NATIVE_NS = 50_000_000
# Short calls are repeated until they take this long.
ENOUGH_NS = 10_000_000
MOST_REPEATS = 100_000
# Functions with a smaller percentage are combined into one line.
LEAST_PERCENT = 0.1
PERF_SECONDS = 2


@dataclass(frozen=True)
class ProfileRow:
    """A function: percent spent in it, percent including its callees, and its file."""

    own: float
    total: float | None
    function: str
    file: str


def program(stage: Stage) -> Path:
    """Build the stage as a program, see common/userspace/main.c. Return its path."""
    out = paths.BUILD / "user" / stage.key / "plain"
    make = subprocess.run(
        ["make", "-s", "-C", str(paths.COMMON / "userspace"),
         f"STAGE_DIR={paths.for_make(stage.directory)}", f"OUT={paths.for_make(out)}"],
        capture_output=True,
        text=True,
        env=module.environment(),
    )  # fmt: skip
    if make.returncode:
        lines = re.findall(r"^.*(?:error:|\*\*\*).*$", make.stdout + make.stderr, re.M)
        raise LabError(
            f"stage {stage.number} does not compile: {(lines or ['see make'])[0]}",
            "correct the source",
        )
    return out / "fib"


def native_ns(fib: Path, n: int) -> int:
    """Return the time in nanoseconds of compute and decimal together, without callgrind."""
    done = _run([str(fib), "time", "1", str(n)])
    match = re.search(r"compute +(\d+) decimal +(\d+) ns", done)
    if match is None:
        raise LabError(f"{fib}: time {n}: {done.strip()[:100]}", "run the command again")
    return max(int(match[1]) + int(match[2]), 1)


def _run(call: Sequence[str]) -> str:
    completed = subprocess.run(call, capture_output=True, text=True, errors="replace")
    if completed.returncode:
        lines = (completed.stderr or completed.stdout).strip().splitlines() or [
            "it printed nothing"
        ]
        raise LabError(
            f"{Path(call[0]).name} failed: {lines[-1]}", "run make memcheck for this stage"
        )
    return completed.stdout


def largest_n(stage: Stage, fib: Path) -> int:
    """Return the manifest's largest n that callgrind runs within about a second."""
    best = min(stage.manifest.measure)
    for n in sorted(stage.manifest.measure):
        if native_ns(fib, n) > NATIVE_NS:
            break
        best = n
    return best


def callgrind(fib: Path, n: int, repeat: int, phase: str = "") -> tuple[list[ProfileRow], int]:
    """Return the profile of repeat calls of F(n), and the instructions of one call.

    The most expensive function is first. phase: count only compute or only decimal.
    """
    if shutil.which("valgrind") is None:
        raise LabError("valgrind not found", "run scripts/setup.sh user")
    with tempfile.TemporaryDirectory(prefix="fibdrv-lab-") as folder:
        output = f"{folder}/callgrind.out"
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}"]
        # Count only inside the stage, not in the rest of main.
        tool.append(f"--toggle-collect={f'fib_{phase}' if phase else 'run_profile'}")
        _run([*tool, str(fib), "profile", str(repeat), str(n)])
        annotate = ["callgrind_annotate", "--auto=no", "--threshold=100", "--show-percs=no"]
        own = _run([*annotate, output])
        total = _run([*annotate, "--inclusive=yes", output])
    rows, instructions = table(own, total)
    return rows, instructions // repeat


def table(own: str, inclusive: str) -> tuple[list[ProfileRow], int]:
    """Return the rows, and the total instructions, of callgrind_annotate's two listings.

    A function occurs once for each file whose code was inlined into it. Add up the function's own
    costs. Each inclusive cost is already complete.
    """
    selves, files, all_of = _costs(own)
    totals, _, _ = _costs(inclusive, inclusive=True)
    if not all_of:
        raise LabError("callgrind counted nothing", "give a larger n")
    rows = [
        ProfileRow(
            100 * cost / all_of,
            100 * max(totals.get(name, cost), cost) / all_of,
            name,
            files[name],
        )
        for name, cost in selves.items()
    ]
    return sorted(rows, key=lambda row: (-row.own, row.function)), all_of


def _costs(listing: str, inclusive: bool = False) -> tuple[dict[str, int], dict[str, str], int]:
    """Return cost and file by function, and the total cost."""
    costs: dict[str, int] = {}
    files: dict[str, str] = {}
    largest: dict[str, int] = {}
    all_of = 0
    for line in listing.splitlines():
        match = re.match(r"\s*([\d,]+)\s+(?:\([ \d.]+%\)\s+)?(\S.*)", line)
        if match is None:
            continue
        cost, rest = int(match[1].replace(",", "")), match[2]
        if rest.startswith("PROGRAM TOTALS"):
            all_of = cost
        place = re.match(r"(\S+):(\S+?)(?:'\d+)?(?: \[.*\])?$", rest)
        if place and all_of:
            name = place[2]
            before = costs.get(name, 0)
            costs[name] = max(before, cost) if inclusive else before + cost
            if cost > largest.get(name, -1):
                largest[name] = cost
                files[name] = "" if place[1] == "???" else Path(place[1]).name
    return costs, files, all_of


def perf_rows(listing: str) -> list[ProfileRow]:
    """Return the rows of `perf report --stdio --sort symbol,dso`."""
    rows = []
    for line in listing.splitlines():
        match = re.match(r"\s*(\d+\.\d+)%\s+\[(.)\]\s+(\S+)\s+(\S+)", line)
        if match:
            rows.append(ProfileRow(float(match[1]), None, match[3], match[4]))
    return rows


def perf(stage: Stage, n: int) -> list[ProfileRow]:
    """Return the profile of the kernel while a stage that is loaded on this computer runs."""
    if shutil.which("perf") is None:
        raise LabError("perf not found", "run sudo apt-get install linux-perf")
    machine = machines.get("host")
    built = stage_module.build(stage, machine.kernel())
    if not built.ok:
        raise LabError(
            f"stage {stage.number} does not compile: {built.cause}", "correct the source"
        )
    # Load the module unstripped, because perf takes function names from the loaded module.
    guest = machine.boot(device.contents({device.NAME: built.module.path}))
    try:
        guest.channel.check(f"insmod {MODULE}", 30)
        one = guest.channel.check(f"fibctl user {n} 2", 60)
        took = re.search(r"^median +(\d+)", one, re.M)
        repeat = max(1, min(1 << 20, PERF_SECONDS * 10**9 // max(1, int(took[1] if took else 1))))
        data = scratch.folder() / "perf.data"
        result = guest.channel.run(
            f"perf record -q -e cycles:k -o {data} fibctl measure {n} {repeat}", 60
        )
        if result.status:
            raise LabError(
                "perf is not allowed to sample this kernel"
                f" ({(result.output.strip().splitlines() or ['no reason given'])[-1][:120]})",
                "run sudo sysctl kernel.perf_event_paranoid=1",
            )
        listing = guest.channel.check(f"perf report --stdio --sort symbol,dso -i {data}", 60)
    except MachineError as error:
        raise LabError(f"perf: {error}", "run the command again") from error
    finally:
        guest.stop()
    rows = perf_rows(listing)
    if not rows:
        raise LabError(
            "perf took no sample, as on many virtual computers, which have no counters",
            "use another computer",
        )
    return rows


def shown(rows: list[ProfileRow]) -> str:
    """Return the table as text; functions below LEAST_PERCENT are combined into one line."""
    large = [row for row in rows if row.own >= LEAST_PERCENT]
    width = max(len(row.function) for row in large)
    lines = ["   self    total  function" if rows[0].total is not None else "   self  function"]
    for row in large:
        total = f"  {row.total:5.1f} %" if row.total is not None else ""
        lines.append(f"{row.own:5.1f} %{total}  {row.function:<{width}}  {row.file}".rstrip())
    rest = len(rows) - len(large)
    if rest:
        part = sum(row.own for row in rows) - sum(row.own for row in large)
        lines.append(f"{part:5.1f} %  {rest} other function{'s' if rest > 1 else ''}")
    return "\n".join(lines)


def profile(number: str, requested_n: str, machine: str, phase: str) -> None:
    """Print the profile of a stage, of one phase or of both."""
    if phase and (phase not in PHASES or machine == "host"):
        raise LabError(
            f"phase={phase}: no such phase here",
            "choose compute or decimal; omit phase on machine host",
        )
    stage = learner_copy.with_source(learner_copy.choose_one(number, "profile"))
    if requested_n and not (requested_n.isdigit() and int(requested_n) <= stage.manifest.max_n):
        raise LabError(
            f"n={requested_n}: out of range for stage {stage.number}",
            f"give a number from 0 to {stage.manifest.max_n}",
        )
    fib = program(stage)
    n = int(requested_n) if requested_n else largest_n(stage, fib)
    if machine == "host":
        print(f"stage {stage.number} ({stage.manifest.name}), F({n:,}), by perf in this kernel:")
        print(shown(perf(stage, n)))
        return
    repeat = max(1, min(MOST_REPEATS, ENOUGH_NS // native_ns(fib, n)))
    rows, instructions = callgrind(fib, n, repeat, phase)
    print(
        f"stage {stage.number} ({stage.manifest.name}), F({n:,}): {instructions:,} instructions"
        f" a call{f' of {phase}' if phase else ''} in user space, by callgrind"
    )
    print(shown(rows))
    print("The instructions of an inlined function count for the function that calls it.")


def main() -> int:
    """Profile a stage with the arguments that the Makefile passes."""
    parser = argparse.ArgumentParser(prog="make profile")
    parser.add_argument("--stage", default="")
    parser.add_argument("--n", default="")
    parser.add_argument("--machine", default="")
    parser.add_argument("--phase", default="", help="count only this phase: compute or decimal")
    options = parser.parse_args()
    machine = options.machine or os.environ.get("LAB_MACHINE", "")
    profile(options.stage, options.n, machine, options.phase)
    return 0


if __name__ == "__main__":
    sys.exit(command.end("profile", main))
