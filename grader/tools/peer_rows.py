# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Store the results of compare_gmp.py, read them again, and make ratios and tables of them.

A ratio divides two times of the same round; the result is the median of the ratios of all rounds.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from grader.base.errors import LabError
from grader.report import text

COMPUTE, DECIMAL, READ = "compute", "decimal", "whole read"
PHASES = (READ, COMPUTE, DECIMAL)
WHAT = {
    READ: "mpz_fib_ui and mpz_get_str",
    COMPUTE: "mpz_fib_ui",
    DECIMAL: "mpz_get_str",
}
GMP = "GMP"
PYTHON = "Python decimal (libmpdec)"
FLINT = "FLINT radix"
# Below this n, Python's own overhead dominates the measurement.
PYTHON_FROM = 100_000

NAME_WIDTH, CELL_WIDTH = 32, 11
HEADING = "n\tround\tcontender\tcompute_ns\tdecimal_ns"


@dataclass(frozen=True)
class Memory:
    """The peak memory in bytes of a call of F(n), and the number of digits of F(n)."""

    n: int
    digits: int
    bytes: int


@dataclass
class PeerRun:
    """A run: the computer, the contenders' names (GMP is the first), and the times by round."""

    computer: str
    names: list[str]
    rows: dict[tuple[int, str, str], list[float]] = field(default_factory=dict)
    memory: dict[str, Memory] = field(default_factory=dict)

    def add(self, n: int, name: str, compute: float, decimal: float) -> None:
        """Add a contender's round."""
        for phase, ns in ((COMPUTE, compute), (DECIMAL, decimal), (READ, compute + decimal)):
            self.rows.setdefault((n, name, phase), []).append(ns)

    def numbers(self) -> list[int]:
        """Return the values of n that were measured."""
        return sorted({n for n, _, _ in self.rows})

    def ratios(self, n: int, name: str, phase: str, base: str = GMP) -> list[float]:
        """Return the sorted ratios of a contender's time to the base's in each round; or []."""
        own, theirs = self.rows.get((n, name, phase), []), self.rows.get((n, base, phase), [])
        return sorted(a / b for a, b in zip(own, theirs, strict=False))

    def stages(self) -> list[str]:
        """Return the contenders that are stages, in order."""
        return [name for name in self.names if name not in (GMP, PYTHON, FLINT)]


def write(run: PeerRun, path: Path) -> None:
    """Store a run in a file."""
    lines = [f"# computer\t{run.computer}", *(f"# contender\t{name}" for name in run.names)]
    lines += [f"# memory\t{k}\t{m.n}\t{m.digits}\t{m.bytes}" for k, m in run.memory.items()]
    lines.append(HEADING)
    for (n, name, phase), computing in run.rows.items():
        if phase == COMPUTE:
            both = zip(computing, run.rows[n, name, DECIMAL], strict=True)
            lines += [f"{n}\t{i}\t{name}\t{c:.2f}\t{d:.2f}" for i, (c, d) in enumerate(both)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read(path: Path) -> PeerRun:
    """Return a stored run. Raise LabError if the file cannot be read."""
    run = PeerRun("", [])
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.split("\t")
            if words[0] == "# computer":
                run.computer = words[1]
            elif words[0] == "# contender":
                run.names.append(words[1])
            elif words[0] == "# memory":
                run.memory[words[1]] = Memory(*(int(word) for word in words[2:]))
            elif line != HEADING:
                n, _, name, compute, decimal = words
                run.add(int(n), name, float(compute), float(decimal))
    except (OSError, ValueError, TypeError, IndexError) as error:
        raise LabError(f"{path}: {error}", "run make compare-gmp") from None
    if not run.rows or not {name for _, name, _ in run.rows} <= set(run.names):
        raise LabError(f"{path} is not a result file of make compare-gmp", "run make compare-gmp")
    return run


def times(ratio: float) -> str:
    """Format a ratio: no decimals from 100 on, one from 10 on, three below 0.095, otherwise two."""
    if ratio >= 100:
        return f"{ratio:,.0f}"
    if ratio >= 10:
        return f"{ratio:.1f}"
    return f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.3f}"


def _line(name: str, cells: Iterable[str]) -> str:
    return (f"{name:{NAME_WIDTH}}" + "".join(f"{cell:>{CELL_WIDTH}}" for cell in cells)).rstrip()


def _decades(numbers: list[int]) -> list[int]:
    """Return the powers of ten among the numbers, or all numbers if there are none."""
    return [n for n in numbers if str(n).rstrip("0") == "1"] or numbers


def table(run: PeerRun) -> str:
    """Return a table for each phase: GMP's time, and each contender's time as a multiple of it."""
    numbers = _decades(run.numbers())
    lines = []
    for phase in PHASES:
        lines.append(f"{phase}, times as long as GMP ({WHAT[phase]}), median of the rounds")
        lines.append(_line("n", (f"{n:,}" for n in numbers)))
        medians = (statistics.median(run.rows[n, GMP, phase]) for n in numbers)
        lines.append(_line("GMP itself", map(text.duration, medians)))
        for name in run.names[1:]:
            found = (run.ratios(n, name, phase) for n in numbers)
            lines.append(_line(name, (times(statistics.median(f)) if f else "" for f in found)))
        lines.append("")
    lines.append("A field is empty if a stage does not support that n" + _python_begins(run) + ".")
    return "\n".join(lines)


def _python_begins(run: PeerRun) -> str:
    if PYTHON not in run.names:
        return ""
    return f",\nand for Python below {PYTHON_FROM:,}, where Python's own overhead dominates"


def versus_peer(run: PeerRun, peer: str) -> list[str]:
    """Return a line for each n: the speedup of the last stage over the peer."""
    if peer not in run.names or not run.stages():
        return []
    last = run.stages()[-1]
    who = "Python's decimal" if peer == PYTHON else peer
    return [
        f"stage {last.split()[0]} is {times(statistics.median(found))} times as fast as"
        f" {who} at n = {n:,} (whole read)"
        for n in _decades(run.numbers())
        if (found := run.ratios(n, peer, READ, last))
    ]


def memory_lines(run: PeerRun) -> list[str]:
    """Return the peak memory of a call, and its ratio to the size of the digits as text."""
    lines: list[str] = []
    for name, used in run.memory.items():
        if not lines:
            lines.append(
                f"Peak memory of a call at n = {used.n:,}, over its {used.digits:,} digits as text:"
            )
        share = times(used.bytes / used.digits)
        lines.append(f"{name:{NAME_WIDTH}}{used.bytes / 1e6:8.2f} MB  {share:>6} times")
    return lines
