# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test whether a metric detects a difference of one percent without false alarms.

Each metric measures three programs that differ only in the number of loops: 98, 99 or 100. They are
measured in rounds, and each round has its own random order. Each program is measured as two
identical copies, so a difference between two copies is a false alarm.

For a clock, the Kolmogorov-Smirnov test decides whether two sets of runs have different
distributions; Holm's method corrects its p values for the number of comparisons. For the exact
metric two counts differ if their difference exceeds the resolution.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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
# Repetitions in one run. A timed run takes about two milliseconds, so that the system call in it
# does not matter.
REPEAT = {"ns": 20, "instructions": 1}
# Seconds until a run in a machine times out.
TIMEOUT = 60.0

# Results of the runs in the metric's unit, by (loops, copy).
Runs = dict[tuple[int, str], list[float]]
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class SensitivityVerdict:
    """The result for one metric: a text for each pair, detection (sees) and false alarm (wolf)."""

    metric: str
    cells: dict[tuple[int, int], str]
    sees: bool
    wolf: bool


def order(runs: int, seed: int) -> list[tuple[int, str]]:
    """Return the order of all runs: each round has each copy once, shuffled."""
    rng = random.Random(seed)
    everything = [(loops, copy) for loops in LOOPS for copy in COPIES]
    return [which for _ in range(runs) for which in rng.sample(everything, len(everything))]


def user_runs(todo: list[tuple[int, str]], prefix: list[str], what: str, tell: Tell) -> Runs:
    """Measure user programs by their own wall clock; each run is a new process."""
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
    """Return a command prefix that pins a program to one CPU, an isolated one if available."""
    isolated = Path("/sys/devices/system/cpu/isolated").read_text().strip()
    cpu = isolated.split(",")[0].split("-")[0] or str(max(os.sched_getaffinity(0)))
    return ["taskset", "--cpu-list", cpu]


def recipe(loops: int) -> Recipe:
    """Return the recipe of a module with this number of loops: see loops/module.c."""
    files = {name: (SOURCES / name).read_bytes() for name in ("loops.h", "module.c")}
    flags = (f"-DLOOPS={loops}",)
    return Recipe(
        f"loops{loops}", f"loops-{loops}", files, ("module",), flags, labels={"": "loops"}
    )


def machine_runs(machine: Machine, todo: list[tuple[int, str]], tell: Tell) -> Runs:
    """Measure the modules in a machine. Each run loads a module, measures it and unloads it."""
    modules = {loops: module.build(recipe(loops), machine.kernel()) for loops in LOOPS}
    for made in modules.values():
        if not made.ok:
            raise LabError(f"the loops do not build: {made.cause}", "run make doctor")
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
        raise LabError(f"machine {machine.name}: {error}", "run the command again") from error
    finally:
        guest.stop()
    return found


def judge_clock(metric: str, runs: Runs) -> SensitivityVerdict:
    """Judge a clock by the Kolmogorov-Smirnov test.

    Compare first copies of different programs for detection, and both copies of the same program
    for false alarms.
    """
    from scipy.stats import ks_2samp  # imported late, because it takes a second

    pairs = [*PAIRS, *((loops, loops) for loops in LOOPS)]
    raw = [float(ks_2samp(runs[x, "a"], runs[y, "b" if x == y else "a"]).pvalue) for x, y in pairs]
    cells, significant = {}, {}
    for (x, y), p in zip(pairs, holm(raw)):
        cells[x, y] = "-" if p is None else f"{p:.1e}" if p < 0.001 else f"{p:.3f}"
        longer = x == y or statistics.median(runs[x, "a"]) < statistics.median(runs[y, "a"])
        # A difference in the wrong direction does not count as detection.
        significant[x, y] = p is not None and p < ALPHA and longer
    return SensitivityVerdict(
        metric,
        cells,
        sees=all(significant[pair] for pair in PAIRS),
        wolf=any(significant[loops, loops] for loops in LOOPS),
    )


def judge_exact(metric: str, runs: Runs) -> SensitivityVerdict:
    """Judge an exact metric by its resolution, and compare all runs, not only the medians."""
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
    """Return a table of all verdicts as text."""
    pairs = [*PAIRS, *((loops, loops) for loops in LOOPS)]
    heads = ["metric", *(f"{x}-{y}" for x, y in pairs), "sees 1 %", "cries wolf"]
    rows = [
        [v.metric, *(v.cells[p] for p in pairs), *("yes" if b else "no" for b in (v.sees, v.wolf))]
        for v in verdicts
    ]
    return aligned([heads, *rows])
