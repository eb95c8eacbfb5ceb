# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A stage as the rulers see it: how its driver is asked to measure, and what must come of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.base.finding import Failure
from grader.lab.machines import Contents
from grader.lab.module import Module
from grader.rulers.subject import Reading, Subject, Work, WrongAnswer
from grader.stage import device, oracle, places, system_calls
from grader.stage.build import Built

PHASES = ("compute", "decimal")
READ = "read"
# From here on stages trade compute for decimal: what is won shows in the whole read. The stage
# before is what the first of them is compared with.
WHOLE_READ_FROM = 8
# Up to so many digits the driver tries a number beforehand (see driver.c, CHECKED_DIGITS).
TRIED_DIGITS = 5_000
# A timer tick, in ns of the machine that counts.
TICK_NS = 4_000_000
# What the driver does for each repetition takes less on any computer, and for each digit.
OWN_NS, OWN_NS_DIGIT = 1_000, 10


@dataclass(frozen=True)
class DriverWork:
    """Instructions of the driver itself: they hang on the compiler. These are gcc 12's."""

    repetition: float = 160.0  # guards, in a measurement
    digit: float = 6.0  # the hash of the digits there
    write: float = 787.0  # a write(), but for computing


def least_instructions(n: int) -> dict[str, int]:
    """What no way to F(n) can do without: an instruction a limb, and one a chunk of digits."""
    digits = len(oracle.digits(n))
    # 3.32 bits a digit, 64 a limb; a product of two limbs prints 19 digits at the most.
    return {"compute": digits * 332 // 100 // 64, "decimal": digits // 19}


@dataclass(frozen=True)
class StageSubject:
    """A built stage, measured at the n of its manifest unless others are named."""

    built: Built
    numbers: tuple[int, ...] = ()
    label: str = ""
    whole_read: bool = False  # whether compute and decimal together are a figure of their own
    needed: tuple[int, ...] = ()  # of the numbers, those that are counted whatever they take
    driver: DriverWork = DriverWork()

    client = f"{device.CLIENT} batch"
    before = ("open 0 rw",)
    tick = "tick"
    phases = PHASES

    @property
    def key(self) -> str:
        """The stage's."""
        return self.label or self.built.stage.key

    @property
    def wholes(self) -> Mapping[str, tuple[str, ...]]:
        """A whole read, if asked for."""
        return {READ: PHASES} if self.whole_read else {}

    @property
    def module(self) -> Module:
        """The stage's, with the driver."""
        return self.built.module

    @property
    def path(self) -> str:
        """Where it is in the machine."""
        return f"{device.MODULES}/{self.key}.ko"

    @property
    def sizes(self) -> tuple[int, ...]:
        """The n that it is measured at."""
        return self.numbers or self.built.stage.manifest.measure

    @property
    def right_to(self) -> int:
        """As far as every n is verified."""
        return min(self.built.stage.manifest.max_n, places.EVERY_N_TO)

    def spread(self, n: int) -> int:
        """How far n varies within a batch, so that remembering a number earns nothing."""
        return min(7, n // 100)

    def request(self, work: Work) -> str:
        """A measurement by the driver."""
        spread = f"spread={work.spread}"
        return f"measure 0 n={work.n} {spread} repeat={work.repeat} nonce={work.nonce}"

    def reading(self, answer: str, work: Work) -> Reading:
        """The fields of struct fibdrv_measure, the digest and the digits being right."""
        got = system_calls.fields(answer)
        n, spread = work.n, work.spread
        numbers = f"F({n - spread}) to F({n})" if spread else f"F({n})"
        title = f"a measurement of {numbers}, {work.repeat} times"
        if got["returned"]:
            raise WrongAnswer(Failure("measure", n, "0", str(got["returned"]), title))
        want = oracle.digest(n, spread, work.repeat, work.nonce)
        if got["digest"] != want or got["digits"] != oracle.digit_total(n, spread, work.repeat):
            digests = f"digest {want:016x}", f"{got['digest']:016x}"
            raise WrongAnswer(Failure("measure", n, *digests, title))
        return Reading(
            {phase: got[f"{phase}_ns"] for phase in PHASES},
            {phase: got[f"{phase}_cycles"] for phase in PHASES},
            {phase: got[f"{phase}_allocations"] for phase in PHASES},
            got["peak_bytes"],
            least_instructions(n - spread),
            outside_ns=got["outside_ns"],
            outside_cycles=got["outside_cycles"],
            ticks_ns=got["outside_ticks_ns"],
            own=self.driver.repetition * work.repeat + self.driver.digit * got["digits"],
            own_ns=OWN_NS * work.repeat + OWN_NS_DIGIT * got["digits"],
            bare=work.repeat == 1 and n * 2089877 // 10000000 + 1 > TRIED_DIGITS,
        )

    def lone_request(self, work: Work) -> str:
        """write(), which computes and releases."""
        return f"writes 0 {work.n} {work.repeat}"

    def lone_reading(self, answer: str, work: Work) -> tuple[float, int]:
        """What computing takes, by the caller's clocks."""
        got = system_calls.fields(answer)
        if got["returned"]:
            title = f"write() of F({work.n})"
            raise WrongAnswer(Failure("measure", work.n, "0", str(got["returned"]), title))
        each = got["outside_cycles"] / work.repeat - self.driver.write
        return each, got["outside_ticks_ns"] // TICK_NS


def contents(subjects: Sequence[Subject]) -> Contents:
    """A machine with all of these stages on board."""
    return device.contents({subject.key: subject.module.stripped for subject in subjects})
