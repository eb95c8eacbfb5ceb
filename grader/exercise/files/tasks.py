# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read the tasks and points of an exercise from tasks.toml in its folder."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.base import paths, toml
from grader.base.errors import LabError
from grader.exercise.files import stages

# The units of counts, with their names in messages.
UNITS = {
    "instructions": "instructions",
    "products": "products",
    "allocations": "allocations",
    "divisions": "divisions",
    "vectors": "instructions on vectors",  # of 256 bits
    "multiplications": "calls of bn_mul and bn_square",
    "calls": "calls of bn_mul",  # also those by a bn_square of one line
    "pause": "products between two yields",
    "stretch": "instructions between two yields",
    "accesses": "loads and stores",
    "share": "thousandths of all instructions in the longest stretch between two calls of bn_mul",
    "assembly": "products in assembly that FIB_NO_ASM and other processors leave out",
}
# The bound on the calls that the table "device" lists as "yields". A product of two limbs takes up
# to 25 instructions, and stage.h allows 100,000 products between two yields. The kit's stages take
# up to 2,700,000 instructions.
YIELDS = {
    "text": "other tasks may run after each 100,000 products; call fib_account_work for all work",
    "unit": "stretch",
    "at_most": 3_000_000,
}
# The calls that are not operations on numbers. The size of a call of COMPUTE is n.
COMPUTE, DECIMAL = "compute", "decimal"
UNBOUNDED = 2**63 - 1
# If a call has a range of sizes, it is counted at one size in each octave, but at least at SIZES
# sizes, unless tasks.toml has a number.
SIZES = 2
# Operands of this many words take long, so their largest size is not counted each time.
ALSO_LARGEST = 10_000
# `make par` counts such a call at SPREAD + 1 sizes.
SPREAD = 6
# A product of factors of different sizes has fewer pairs of limbs than one of two factors of the
# larger size. Its largest allowed count is less by this power of their ratio. It is not less in
# proportion, because code with a row for each limb of the longer factor takes more for each pair.
ROWS = 0.75


@dataclass(frozen=True)
class TaskFunction:
    """A function of the reference that the skeleton leaves out or replaces by a stub."""

    file: str
    function: str  # The name is "" if only lines of the file are left out.
    stub: str | None  # None means that the skeleton omits the whole function.
    text: str
    above: str = ""  # This text replaces a comment that reveals the solution.
    hint: str = ""  # This is the first hint if this function is wrong.


@dataclass(frozen=True)
class CountedCall:
    """A call whose instructions and other costs are counted (operations/ideas.py)."""

    operation: str
    size: int  # This is n, or the size of the first operand in words of 8 bytes.
    second: int = 0  # The size of the second operand, or 0 if both operands have the same size.
    least: int = 0  # If not 0, the call is counted at random sizes from `least` to `size`.
    sizes: int = 1  # the number of these random sizes
    contents: str = ""  # what is special about the call, for messages; "": random numbers

    def drawn(self, seed: int | None) -> tuple[CountedCall, ...]:
        """Return the calls to count, with sizes that the seed determines.

        Divide the range into parts of equal ratio, and draw one size from each part, so that
        different sizes are tested. Count the largest size as well: a last n may have more one bits
        than any other. Without a seed, return sizes that are spread over the range. If `sizes`
        is that of the range, return each size.
        """
        if not self.least:
            return (self,)
        if self.sizes == self.size - self.least + 1 and seed is not None:
            return tuple(map(self._of_size, range(self.least, self.size + 1)))
        ratio = self.size / self.least
        if seed is None:
            places = [i / SPREAD for i in range(SPREAD + 1)]
        else:
            drawing = random.Random(f"{seed} {self}")
            places = [(i + drawing.random()) / self.sizes for i in range(self.sizes)]
            if self.operation == COMPUTE or self.size < ALSO_LARGEST:
                places.append(1)
        return tuple(self._of_size(round(self.least * ratio**place)) for place in places)

    def _of_size(self, size: int) -> CountedCall:
        return CountedCall(self.operation, size, self.second)

    @property
    def call(self) -> str:
        """Return a description of the call for messages."""
        if self.operation == COMPUTE:
            return f"{self.operation} of F({self.size:,}){self.contents and f' {self.contents}'}"
        return f"{self.operation} of {self.words}{self.contents and f', {self.contents},'}"

    @property
    def words(self) -> str:
        """Return the size of each operand as text, for example "3 words"."""
        if self.second:
            return f"{self.size:,} and {self.second:,} words"
        return "one word" if self.size == 1 else f"{self.size:,} words"


@dataclass(frozen=True)
class Plain:
    """A call of a stage of the kit with the method that an idea improves on."""

    stage: int
    takes: CountedCall


@dataclass(frozen=True)
class Idea:
    """A bound on the cost of a call, which only the method that a task teaches meets.

    A bound is an absolute number, because slow code could meet a bound on the ratio of two counts.
    The bounds belong to the largest size of `takes`. At a smaller size they are less: they grow as
    size^grows, except for the part `fixed` of at_most, the cost of a call of any size. The calls of
    bn_mul in a whole call grow as the number of bits of n. If the factors of a product have
    different sizes, its bounds are less, too: see ROWS. The bounds lie between the counts of the
    kit's stage and of `plain`; `make par` checks this at sizes of the whole range.
    """

    text: str  # a description of the method
    takes: CountedCall
    least: int
    at_most: int
    unit: str  # One of UNITS.
    points: int  # The points that are withheld if the bound is not met.
    plain: Plain | None  # None if no stage has the method that the idea improves on.
    grows: float = 0.0
    fixed: int = 0

    @property
    def scaled(self) -> bool:
        """Return whether the bounds are less at smaller sizes."""
        return self.grows > 0 or self._by_bits

    @property
    def _by_bits(self) -> bool:
        """Return whether the bounds grow as the number of bits of n: each doubling makes calls."""
        return self.unit == "calls" and self.takes.operation == COMPUTE

    def bounds(self, counted: CountedCall) -> tuple[int, int]:
        """Return the least and the largest allowed count of a call with a drawn size."""
        part = (counted.size / self.takes.size) ** self.grows
        if self._by_bits:
            part = math.log2(counted.size) / math.log2(self.takes.size)
        # The number of pairs of limbs, relative to two factors of the larger size.
        pairs = 1.0
        if counted.second and not self.takes.second and self.grows > 1:
            pairs = counted.second / counted.size
        most = self.fixed + (self.at_most - self.fixed) * part * pairs**ROWS
        return math.floor(self.least * part * pairs), math.ceil(most)


@dataclass(frozen=True)
class Omission:
    """Lines of the reference that the skeleton of one task leaves out.

    above is the line under the comment with the task's text; "" for no comment.
    """

    file: str
    lines: tuple[str, ...]  # texts of whole lines, each removed wherever it occurs
    above: str = ""


@dataclass(frozen=True)
class Task:
    """One numbered task of a stage."""

    number: int
    name: str
    text: str
    operation: str  # the operation that operations/unit_tests.py tests; "" for a driver's task
    points: int
    hints: tuple[str, ...]
    parts: tuple[TaskFunction, ...]
    ideas: tuple[Idea, ...] = ()
    omitted: Omission | None = None
    # Static variables of a driver. A data race on one of these variables counts against this task.
    variables: tuple[str, ...] = ()
    # Functions that the task needs and a learner may have written, although they belong to no task.
    # Each has a hint, see operations/alone.py.
    uses: Mapping[str, str] = field(default_factory=dict)

    def hints_for(self, function: str) -> tuple[str, ...]:
        """Return the hints in order. function: the wrong function, or "" if it is not known."""
        if function in self.uses:
            return (self.uses[function],)  # The other hints are about the task's own functions.
        own = {part.function: part.hint for part in self.parts if part.hint}
        return (own[function], *self.hints) if function in own else self.hints


@dataclass(frozen=True)
class Speed:
    """The points for speed relative to the stage before."""

    points: int
    before: int
    n: int
    phase: str
    par: float  # the speedup in time that earns all points


@dataclass(frozen=True)
class Course:
    """The tasks of an exercise; the points add up to 100."""

    tasks: tuple[Task, ...]
    device_points: int
    speed: Speed | None
    # Bounds on whole calls, without which the device and the speed earn nothing.
    device_ideas: tuple[Idea, ...] = ()


# The number of n in expected/par.json for the speed of a stage.
CHOICES = 8


def choices(n: int) -> tuple[int, ...]:
    """Return the n in expected/par.json at which speed may be judged, the course's n first."""
    return tuple(round(n / 2 ** (i / CHOICES)) for i in range(CHOICES))


def listed(speed: Speed, seed: int) -> Speed:
    """Return speed with the n of choices() that the seed selects; seed 1 selects the course's n.

    No other n is possible here: the bits of n decide about up to a quarter of the instructions, so
    the count of the reference at a neighbour says little.
    """
    return replace(speed, n=choices(speed.n)[(seed - 1) % CHOICES])


def drawn(speed: Speed, seed: int) -> Speed:
    """Return speed with a random n between half of the course's n and the course's n.

    The seed determines the random n; seed 1 gives the course's n.
    """
    below = 0 if seed == 1 else random.Random(seed).randint(0, speed.n // 2)
    return replace(speed, n=speed.n - below)


def judged_speed(number: int, seed: int) -> Speed | None:
    """Return the phase, n and points of a stage's speed for this seed; None if not judged."""
    speed = course(number).speed
    return drawn(speed, seed) if speed else None


def course(stage: int) -> Course:
    """Read the tasks of a stage."""
    return read(stages.directory_of(stage) / "tasks.toml", str(stage))


def read(path: Path, name: str) -> Course:
    """Read the tasks of the exercise with that name. Raise LabError if they are not valid."""
    try:
        table = toml.read(path)
        tasks = tuple(_task(i, t) for i, t in enumerate(table["task"], 1))
        speed = Speed(**table["speed"]) if "speed" in table else None
        device = table.get("device", {"points": 0})
        between = ({**YIELDS, "takes": takes} for takes in device.get("yields", []))
        rows = (*device.get("idea", []), *between)
        ideas = tuple(_idea(row, device["points"]) for row in rows)
        found = Course(tasks, int(device["points"]), speed, ideas)
    except FileNotFoundError:
        raise LabError(f"there are no tasks for {name}", f"write {paths.shown(path)}") from None
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise LabError(f"{paths.shown(path)}: {error}", "correct the file") from error
    total = sum(t.points for t in tasks) + found.device_points + (speed.points if speed else 0)
    if total != 100:
        raise LabError(
            f"{paths.shown(path)}: the sum of the points is {total}, not 100", "correct the file"
        )
    return found


def _task(number: int, table: dict[str, Any]) -> Task:
    text = " ".join(str(table.get("text", "")).split())
    omitted = None
    if "omit" in table:
        omit = table["omit"]
        omitted = Omission(omit["file"], tuple(omit.get("lines", ())), omit.get("above", ""))
    parts = _functions(number, table, text)
    file = table.get("file") or (omitted.file if omitted else "")
    if file and not parts:
        parts = [TaskFunction(file, "", None, text)]
    return Task(
        number,
        str(table["name"]),
        text,
        str(table.get("operation", "")),
        int(table["points"]),
        tuple(table["hints"]),
        tuple(parts),
        tuple(_idea(idea, int(table["points"])) for idea in table.get("idea", [])),
        omitted,
        tuple(table.get("variables", ())),
        dict(table.get("uses", {})),
    )


def _idea(table: dict[str, Any], points: int) -> Idea:
    unit = str(table.get("unit", "instructions"))
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r}, not one of {', '.join(UNITS)}")
    return Idea(
        " ".join(str(table["text"]).split()),
        _count(table["takes"]),
        int(table.get("least", 0)),
        int(table["at_most"]) if "at_most" in table else UNBOUNDED,
        unit,
        int(table.get("points", points)),
        _plain(table["plain"]) if "plain" in table else None,
        float(table.get("grows", 0)),
        int(table.get("fixed", 0)),
    )


def _plain(text: str) -> Plain:
    stage, takes = text.split(maxsplit=1)
    return Plain(int(stage), _count(takes))


def _count(text: str) -> CountedCall:
    """Read a call such as "mul 16", "mul 300..512x200", or "compute 50..93 8" with 8 sizes."""
    operation, size, *count = text.split()
    size, _, second = size.partition("x")
    least, _, most = size.rpartition("..")
    octaves = math.log2(int(most) / int(least)) if least else 0
    sizes = int(count[0]) if count else max(SIZES, math.ceil(octaves)) if least else 1
    return CountedCall(operation, int(most), int(second or 0), int(least or 0), sizes)


def _functions(number: int, table: dict[str, Any], text: str) -> list[TaskFunction]:
    parts = [
        TaskFunction(
            p["file"],
            p["function"],
            str(p["stub"]),
            p.get("text", text if i == 0 else f"belongs to task {number} as well."),
            p.get("above", ""),
            str(p.get("hint", "")),
        )
        for i, p in enumerate(table.get("replace", []))
    ]
    return parts + [
        TaskFunction(p["file"], p["function"], None, "") for p in table.get("remove", [])
    ]
