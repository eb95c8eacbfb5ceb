# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A stage as a workload for the metrics: requests to its driver and checks of the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import LabError
from grader.base.finding import Failure, Finding, failed
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.conformance import system_calls
from grader.exercise.files import device, expected_values
from grader.exercise.static_contract import elf
from grader.lab.machines import Contents, Running
from grader.lab.module import Module
from grader.measure.workload import Reading, Work, Workload, WrongAnswer

PHASES = ("compute", "decimal")
READ = "read"
# The driver checks numbers of up to this many digits before it measures them (driver.c,
# CHECKED_DIGITS).
TRIED_DIGITS = 2_000
# Upper bounds of the driver's own time for each repetition and for each digit.
OWN_NS, OWN_NS_DIGIT = 1_000, 10
# The module parameter with the length of the longest section of vector code, and the limit of this
# length: 0.1 ms as a number of instructions, because no other task gets the CPU during a section.
# See common/vector.c.
LONGEST_SECTION = f"/sys/module/{device.NAME}/parameters/longest_section"
SECTION_INSTRUCTIONS = 300_000
LOOK_TIMEOUT = 10


# The calls of the stage that the driver makes in one read(), in order. Each row has the phase of
# the call, the function called, and the functions of driver.c that may contain the call.
CALLS = (
    ("compute", "fib_compute", ("fibdrv_read",)),
    ("decimal", "fib_decimal", ("guarded_decimal", "fibdrv_read")),
    ("compute", "fib_release", ("fibdrv_read",)),
)


def call_sites(driver: Path) -> tuple[tuple[str, int], ...]:
    """Return the phase and address of each call of the stage in read().

    driver is driver.o, the first object of a module. Raise LabError unless each call is found
    exactly once.
    """
    found = elf.read(driver)
    (text,) = (section for section in found.sections if section.name == ".text")
    sites = []
    for phase, function, callers in CALLS:
        calls = [
            relocation.offset - 1
            for relocation in text.relocations
            if relocation.symbol.name == function
            and found.function_at(text, relocation.offset) in callers
        ]
        if len(calls) != 1:
            raise LabError(
                f"{driver.name} has {len(calls)} calls of {function} in read(), not one",
                "correct common/driver.c",
            )
        sites.append((phase, calls[0]))
    return tuple(sites)


@dataclass(frozen=True)
class StageWorkload:
    """A built stage, measured at the n of its manifest or at the given numbers."""

    built: BuiltStage
    numbers: tuple[int, ...] = ()
    label: str = ""
    whole_read: bool = False  # whether the sum of compute and decimal is measured, too
    needed: tuple[int, ...] = ()  # the n whose instructions are counted even if this takes long

    client = f"{device.CLIENT} batch"
    before = ("open 0 rw",)
    phases = PHASES

    @property
    def key(self) -> str:
        """Return a name that is unique among the workloads."""
        return self.label or self.built.stage.key

    @property
    def wholes(self) -> Mapping[str, tuple[str, ...]]:
        """Return the phases of each sum that is reported in addition, by the name of the sum."""
        return {READ: PHASES} if self.whole_read else {}

    @property
    def module(self) -> Module:
        """Return the stage's module with the driver."""
        return self.built.module

    @property
    def path(self) -> str:
        """Return the path of the module in the machine."""
        return f"{device.MODULES}/{self.key}.ko"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the n at which the stage is measured."""
        return self.numbers or self.built.stage.manifest.measure

    @property
    def trusted(self) -> bool:
        """Return whether the stage belongs to the kit or to the user of this copy."""
        return not self.built.stage.isolated

    @property
    def call_sites(self) -> tuple[tuple[str, int], ...]:
        """Return the phase and address of each call of the stage in the driver's read()."""
        return call_sites(self.built.module.directory / "kit" / "driver.o")

    @property
    def vectors(self) -> bool:
        """Return whether the stage has vector files."""
        return bool(self.built.stage.traits.vector)

    def spread(self, n: int) -> int:
        """Return the range of n in a batch; n varies so that a stage cannot reuse a result."""
        return min(7, n // 100)

    def request(self, work: Work) -> str:
        """Return the request for a measurement by the driver."""
        spread = f"spread={work.spread}"
        return f"measure 0 n={work.n} {spread} repeat={work.repeat} nonce={work.nonce}"

    def reading(self, answer: str, work: Work) -> Reading:
        """Return the figures in an answer. Raise WrongAnswer if the digest or digits are wrong."""
        got = system_calls.fields(answer)
        n, spread = work.n, work.spread
        numbers = f"F({n - spread}) to F({n})" if spread else f"F({n})"
        title = f"a measurement of {numbers}, {work.repeat} times"
        if got["returned"]:
            raise WrongAnswer(Failure("measure", n, "0", str(got["returned"]), title))
        want = expected_values.digest(n, spread, work.repeat, work.nonce)
        if got["digest"] != want or got["digits"] != expected_values.digit_total(
            n, spread, work.repeat
        ):
            digests = f"digest {want:016x}", f"{got['digest']:016x}"
            raise WrongAnswer(Failure("measure", n, *digests, title))
        return Reading(
            {phase: got[f"{phase}_ns"] for phase in PHASES},
            {phase: got[f"{phase}_allocations"] for phase in PHASES},
            got["peak_bytes"],
            got["outside_ns"],
            own_ns=OWN_NS * work.repeat + OWN_NS_DIGIT * got["digits"],
            bare=work.repeat == 1 and n * 2089877 // 10000000 + 1 > TRIED_DIGITS,
        )

    def count_request(self, n: int) -> str:
        """Return the request for one pread() whose instructions are counted."""
        return f"count 0 {n}"

    def digits(self, n: int) -> str:
        """Return the digits of F(n)."""
        return expected_values.digits(n)

    def machine_finding(self, guest: Running, n: int) -> Finding | None:
        """Return a finding if a section of vector code took too many instructions."""
        if not self.vectors:
            return None
        longest = guest.channel.check(f"cat {LONGEST_SECTION}", LOOK_TIMEOUT * guest.speed_factor)
        if int(longest) <= SECTION_INSTRUCTIONS:
            return None
        title = f"instructions from fib_fpu_begin to fib_fpu_end, F({n})"
        most = f"{SECTION_INSTRUCTIONS:,} at most"
        return failed(Failure("measure", n, most, f"{int(longest):,}", title))


def contents(subjects: Sequence[Workload]) -> Contents:
    """Return the contents of a machine with all of these stages."""
    modules = {subject.key: subject.module.stripped for subject in subjects}
    return device.contents(modules, vectors=any(subject.vectors for subject in subjects))
