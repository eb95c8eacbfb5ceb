# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Can a metric see one percent, and does it cry wolf?

Three programs that differ in nothing but doing 98, 99 or 100 loops are measured by each metric,
in rounds, in an order that is shuffled anew for each. Each is there twice: what a metric says of
two copies of the same is a false alarm.

For a clock, the Kolmogorov-Smirnov test says whether two sets of runs come from one distribution;
its p are corrected (Holm) for the number of comparisons. The exact metric has no distribution: two
counts differ by more than its resolution, or they do not.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import ks_2samp

from grader.base import paths
from grader.base.columns import aligned
from grader.base.errors import LabError, MachineError
from grader.lab import cost, machines, module
from grader.lab.machines import Contents, Machine
from grader.lab.module import Recipe
from grader.measure import instructions
from grader.measure.stats import ALPHA, holm

LOOPS = (98, 99, 100)
COPIES = ("a", "b")
PAIRS = ((98, 99), (99, 100), (98, 100))
SOURCES = Path(__file__).resolve().parent / "loops"
# Calls in one run: two milliseconds or so by a clock, since a system call is in it as well.
REPEAT = {"ns": 20, "instructions": 1}
# A round in a machine: seconds after which it is given up.
TIMEOUT = 60.0

# Runs by loops and copy; the figures in the metric's unit.
Runs = dict[tuple[int, str], list[float]]
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class SensitivityVerdict:
    """What a metric says of the pairs."""

    metric: str
    cells: dict[tuple[int, int], str]
    sees: bool
    wolf: bool


def order(runs: int, seed: int) -> list[tuple[int, str]]:
    """All runs of one metric: rounds of each program once, shuffled."""
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


def recipe(loops: int) -> Recipe:
    """A module that does this many loops when it is told to: see loops/module.c."""
    files = {name: (SOURCES / name).read_bytes() for name in ("loops.h", "module.c")}
    flags = (f"-DLOOPS={loops}",)
    return Recipe(
        f"loops{loops}", f"loops-{loops}", files, ("module",), flags, labels={"": "loops"}
    )


def machine_runs(machine: Machine, todo: list[tuple[int, str]], tell: Tell) -> Runs:
    """The modules in a machine, by its metric; each run is a load, a measurement, an unload."""
    modules = {loops: module.build(recipe(loops), machine.kernel()) for loops in LOOPS}
    for made in modules.values():
        if not made.ok:
            raise LabError(f"the loops do not build: {made.cause}")
    what = f"{machine.metric} in {machine.name}"
    found: Runs = {}
    contents = Contents({f"/lib/lab/{m.name}.ko": m.stripped for m in modules.values()})
    exact = machine.metric == "instructions"
    guest = machines.counting().boot(contents, digits=0) if exact else machine.boot(contents)
    measure = cost.count_writes if exact else cost.time_writes
    try:
        for i, (loops, copy) in enumerate(todo):
            tell(what, i, len(todo))
            name = modules[loops].name
            guest.channel.check(f"insmod /lib/lab/{name}.ko", TIMEOUT)
            (one,) = measure(guest, "/proc/loops", str(REPEAT[machine.metric]), 1, TIMEOUT)
            guest.channel.check(f"rmmod {name}", TIMEOUT)
            found.setdefault((loops, copy), []).append(float(one))
    except MachineError as error:
        raise LabError(f"the machine {machine.name}: {error}") from error
    finally:
        guest.stop()
    return found


def judge_clock(metric: str, runs: Runs) -> SensitivityVerdict:
    """By the Kolmogorov-Smirnov test: the first copies against each other, and to the second."""
    pairs = [*PAIRS, *((loops, loops) for loops in LOOPS)]
    raw = [float(ks_2samp(runs[x, "a"], runs[y, "b" if x == y else "a"]).pvalue) for x, y in pairs]
    cells, significant = {}, {}
    for (x, y), p in zip(pairs, holm(raw)):
        cells[x, y] = "-" if p is None else f"{p:.1e}" if p < 0.001 else f"{p:.3f}"
        longer = x == y or statistics.median(runs[x, "a"]) < statistics.median(runs[y, "a"])
        # A difference the wrong way round is none that was seen.
        significant[x, y] = p is not None and p < ALPHA and longer
    return SensitivityVerdict(
        metric,
        cells,
        sees=all(significant[pair] for pair in PAIRS),
        wolf=any(significant[loops, loops] for loops in LOOPS),
    )


def judge_exact(metric: str, runs: Runs) -> SensitivityVerdict:
    """By the resolution: every run must say the same, not only the medians."""
    pairs = [*PAIRS, *((loops, loops) for loops in LOOPS)]
    cells, sees, wolf = {}, True, False
    for x, y in pairs:
        a, b = runs[x, "a"], runs[y, "b" if x == y else "a"]
        if x != y:
            cells[x, y] = f"{(statistics.median(b) / statistics.median(a) - 1) * 100:+.3f} %"
            sees = sees and instructions.differ(max(a), min(b)) and max(a) < min(b)
        else:
            cells[x, y] = f"{(max(*a, *b) / min(*a, *b) - 1) * 100:+.3f} %"
            wolf = wolf or instructions.differ(min(*a, *b), max(*a, *b))
    return SensitivityVerdict(metric, cells, sees, wolf)


def table(verdicts: list[SensitivityVerdict]) -> str:
    """All verdicts as text."""
    pairs = [*PAIRS, *((loops, loops) for loops in LOOPS)]
    heads = ["metric", *(f"{x}-{y}" for x, y in pairs), "sees 1 %", "cries wolf"]
    rows = [
        [v.metric, *(v.cells[p] for p in pairs), *("yes" if b else "no" for b in (v.sees, v.wolf))]
        for v in verdicts
    ]
    return aligned([heads, *rows])
