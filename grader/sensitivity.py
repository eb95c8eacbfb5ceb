# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Can a ruler see one percent, and does it cry wolf?

Three programs that differ in nothing but doing 98, 99 or 100 loops are measured by each ruler,
in rounds, in an order that is shuffled anew for each. Each is there twice: what a ruler says of
two copies of the same is a false alarm.

For a clock, the Kolmogorov-Smirnov test says whether two sets of runs come from one distribution;
its p are corrected (Holm) for the number of comparisons. The exact ruler has no distribution: two
counts differ by more than its resolution, or they do not.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import ks_2samp

from grader.base import command, paths
from grader.base.errors import LabError, MachineError
from grader.base.progress import Progress
from grader.lab import machines
from grader.lab import qemu as qemu_machine
from grader.lab.machines import Machine
from grader.rulers import counter
from grader.rulers.stats import ALPHA, holm
from grader.stage import oracle, system_calls
from grader.stage.build import Built, build
from grader.stage.stages import Manifest, Stage

LOOPS = (98, 99, 100)
COPIES = ("a", "b")
PAIRS = ((98, 99), (99, 100), (98, 100))
SOURCES = Path(__file__).resolve().parent / "rulers" / "loops"
# Calls in one run: half a millisecond or so by a clock; counted, one call of 400,000
# instructions fits between two timer ticks.
REPEAT = {"ns": 4, "instructions": 1}
# A round in a machine: seconds after which it is given up.
TIMEOUT = 60.0

# Runs by loops and copy; the figures in the ruler's unit.
Runs = dict[tuple[int, str], list[float]]
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Verdict:
    """What a ruler says of the pairs."""

    ruler: str
    cells: dict[tuple[int, int], str]
    sees: bool
    wolf: bool


def order(runs: int, seed: int) -> list[tuple[int, str]]:
    """All runs of one ruler: rounds of each program once, shuffled."""
    rng = random.Random(seed)
    everything = [(loops, copy) for loops in LOOPS for copy in COPIES]
    return [which for _ in range(runs) for which in rng.sample(everything, len(everything))]


def user_runs(todo: list[tuple[int, str]], prefix: list[str], what: str, tell: Tell) -> Runs:
    """A user program by its own wall clock; each run is a process."""
    programs = {}
    for loops in LOOPS:
        program = paths.BUILD / "sensitivity" / f"user-{loops}"
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["gcc", "-O2", f"-DLOOPS={loops}", f"-DREPEAT={REPEAT['ns']}",
             "-o", str(program), str(SOURCES / "user.c")],
            check=True,
        )  # fmt: skip
        programs[loops] = str(program)
    found: Runs = {}
    for i, (loops, copy) in enumerate(todo):
        tell(what, i, len(todo))
        run = subprocess.run([*prefix, programs[loops]], capture_output=True, text=True, check=True)
        found.setdefault((loops, copy), []).append(float(run.stdout))
    return found


def pinned() -> list[str]:
    """The command that keeps a program on one CPU: one kept free for this if there is one."""
    isolated = Path("/sys/devices/system/cpu/isolated").read_text().strip()
    cpu = isolated.split(",")[0].split("-")[0] or str(max(os.sched_getaffinity(0)))
    return ["taskset", "--cpu-list", cpu]


def stage(loops: int) -> Stage:
    """A stage that does this many loops."""
    directory = paths.BUILD / "sensitivity" / f"1-loops-{loops}"
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copy(SOURCES / "loops.h", directory)
    shutil.copy(paths.ROOT / "grader" / "verdict" / "par_scale" / "decimal.c", directory)
    source = f"#define LOOPS {loops}\n{(SOURCES / 'fib.c').read_text()}"
    (directory / "fib.c").write_text(source)
    return Stage(directory, Manifest(1, f"loops-{loops}", "Loops", "nothing", 93, (10,)))


def machine_runs(machine: Machine, todo: list[tuple[int, str]], tell: Tell) -> Runs:
    """The stages in a machine, by its ruler; each run is a load, a measurement, an unload."""
    builds: dict[int, Built] = {loops: build(stage(loops), machine.kernel()) for loops in LOOPS}
    for built in builds.values():
        if not built.ok:
            raise LabError(f"the loops do not build: {built.cause}")
    field, repeat = (
        ("compute_ns", REPEAT["ns"])
        if machine.ruler == "ns"
        else ("compute_cycles", REPEAT["instructions"])
    )
    tick = ["tick"] if machine.ruler == "instructions" else []
    lines = ["open 0 rw", *tick, f"measure 0 n=10 repeat={repeat} nonce=7", "quit", ""]
    digest = oracle.digest(10, 0, repeat, 7)
    what = f"{machine.ruler} in {machine.name}"
    found: Runs = {}
    guest = machine.boot({f"loops{loops}": built.stripped for loops, built in builds.items()})
    try:
        guest.wire.put("/tmp/requests", "\n".join(lines).encode(), TIMEOUT)
        # A round at once: a word to the machine takes longer than a run.
        size = len(LOOPS) * len(COPIES)
        for i in range(0, len(todo), size):
            tell(what, i, len(todo))
            script = "; ".join(
                f"insmod /lib/fibdrv/loops{loops}.ko && fibctl batch </tmp/requests && rmmod fibdrv"
                for loops, _ in todo[i : i + size]
            )
            answers = [a for a in guest.wire.check(script, TIMEOUT).splitlines() if "=" in a]
            for which, answer in zip(todo[i : i + size], answers, strict=True):
                got = system_calls.fields(answer)
                if got["returned"] or got["digest"] != digest:
                    raise LabError(f"the loops answered {answer.strip()}")
                found.setdefault(which, []).append(float(got[field]))
    except MachineError as error:
        raise LabError(f"the machine {machine.name}: {error}") from error
    finally:
        guest.stop()
    return found


def judge_clock(ruler: str, runs: Runs) -> Verdict:
    """By the Kolmogorov-Smirnov test: the first copies against each other, and to the second."""
    pairs = [*PAIRS, *((loops, loops) for loops in LOOPS)]
    raw = [float(ks_2samp(runs[x, "a"], runs[y, "b" if x == y else "a"]).pvalue) for x, y in pairs]
    cells, significant = {}, {}
    for (x, y), p in zip(pairs, holm(raw)):
        cells[x, y] = "-" if p is None else f"{p:.1e}" if p < 0.001 else f"{p:.3f}"
        longer = x == y or statistics.median(runs[x, "a"]) < statistics.median(runs[y, "a"])
        # A difference the wrong way round is none that was seen.
        significant[x, y] = p is not None and p < ALPHA and longer
    return Verdict(
        ruler,
        cells,
        sees=all(significant[pair] for pair in PAIRS),
        wolf=any(significant[loops, loops] for loops in LOOPS),
    )


def judge_exact(ruler: str, runs: Runs) -> Verdict:
    """By the resolution: every run must say the same, not only the medians."""
    pairs = [*PAIRS, *((loops, loops) for loops in LOOPS)]
    cells, sees, wolf = {}, True, False
    for x, y in pairs:
        a, b = runs[x, "a"], runs[y, "b" if x == y else "a"]
        if x != y:
            cells[x, y] = f"{(statistics.median(b) / statistics.median(a) - 1) * 100:+.3f} %"
            sees = sees and counter.differ(max(a), min(b)) and max(a) < min(b)
        else:
            cells[x, y] = f"{(max(*a, *b) / min(*a, *b) - 1) * 100:+.3f} %"
            wolf = wolf or counter.differ(min(*a, *b), max(*a, *b))
    return Verdict(ruler, cells, sees, wolf)


def table(verdicts: list[Verdict]) -> str:
    """All verdicts as text."""
    pairs = [*PAIRS, *((loops, loops) for loops in LOOPS)]
    heads = ["ruler", *(f"{x}-{y}" for x, y in pairs), "sees 1 %", "cries wolf"]
    rows = [
        [v.ruler, *(v.cells[p] for p in pairs), *("yes" if b else "no" for b in (v.sees, v.wolf))]
        for v in verdicts
    ]
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        )
        for row in [heads, *rows]
    )


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="grader/sensitivity.sh", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--runs", type=int, default=100, help="runs of each program (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="of the order (default 1)")
    args = parser.parse_args()
    if args.runs < 10:
        raise LabError("--runs: at least 10, the test can say nothing about fewer")
    progress = Progress()
    todo = order(args.runs, args.seed)
    uml = machines.get("uml")
    verdicts = [
        judge_clock("user process", user_runs(todo, [], "user process", progress.step)),
        judge_clock("user, pinned", user_runs(todo, pinned(), "user, pinned", progress.step)),
        judge_clock("kernel clock, uml", machine_runs(uml, todo, progress.step)),
        judge_exact("instructions, qemu", machine_runs(qemu_machine.MACHINE, todo, progress.step)),
    ]
    progress.clear()
    print(f"{args.runs} runs of 98, 99 and 100 loops, twice each.")
    print(f"Clocks: p of Kolmogorov-Smirnov, corrected; below {ALPHA} is a difference.")
    print(f"Instructions: the difference itself; above {counter.RESOLUTION:.1%} it is one;")
    print("of a program and itself the widest between any two runs.")
    print()
    print(table(verdicts))
    print(f"\n{progress.elapsed():.0f} s", file=sys.stderr)
    return 0 if verdicts[-1].sees and not verdicts[-1].wolf else 1


if __name__ == "__main__":
    sys.exit(command.end("sensitivity", main))
