# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a ruler measures: a module, how to make it work, and how to read what it says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from grader.base.finding import Failure, failed
from grader.lab.module import Module


@dataclass(frozen=True)
class Work:
    """One request: do it for n, so many times."""

    n: int
    repeat: int
    nonce: int  # goes into the digest of the results: no answer can be known beforehand
    spread: int = 0  # repetition i is for n - i % (spread + 1)


@dataclass(frozen=True)
class Reading:
    """What a subject says of its work, checked: totals of all repetitions, by phase."""

    ns: Mapping[str, int]  # by the clock of the machine's kernel
    cycles: Mapping[str, int]  # of the TSC; where instructions are counted, those
    allocations: Mapping[str, int]
    peak_bytes: int  # the most held at once by any one call
    # No call can take fewer instructions than this, by phase: what does not fit is no figure.
    least: Mapping[str, int] = field(default_factory=dict)
    # What its caller's clocks say of the whole call; one of them moves at timer ticks only.
    outside_ns: int = 0
    outside_cycles: int = 0
    ticks_ns: int = 0
    # What whoever times the work does besides, for each repetition; in instructions, and in time
    # at the most. bare: nothing else is in the call; otherwise the work is tried beforehand.
    own: float = 0
    own_ns: float = 0
    bare: bool = False


class WrongAnswer(Exception):
    """The work was not done, or not right."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.title)
        self.finding = failed(failure)


class Subject(Protocol):
    """One thing to be measured. What it is, a ruler does not know."""

    @property
    def key(self) -> str:
        """Its name in the samples."""

    @property
    def module(self) -> Module:
        """The module, to be loaded when it is its turn."""

    @property
    def path(self) -> str:
        """Where the module is in the machine."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The n that it is to be measured at."""

    @property
    def needed(self) -> tuple[int, ...]:
        """Those of them that a run counts even where it leaves out what takes long."""

    @property
    def right_to(self) -> int:
        """It must be right for every n to this one, wherever a count hangs on it."""

    def spread(self, n: int) -> int:
        """How far n varies from one repetition to the next, that remembering earns nothing."""

    @property
    def phases(self) -> tuple[str, ...]:
        """What it times apart."""

    @property
    def wholes(self) -> Mapping[str, tuple[str, ...]]:
        """Sums of phases that are figures of their own, by name."""

    @property
    def client(self) -> str:
        """The program there that takes requests, a line each, and answers each by a line."""

    @property
    def before(self) -> tuple[str, ...]:
        """Requests that come first; each is answered by "0"."""

    @property
    def tick(self) -> str:
        """The request to wait for a timer tick, and instructions behind it; answered by "0"."""

    def request(self, work: Work) -> str:
        """The request for some work."""

    def reading(self, answer: str, work: Work) -> Reading:
        """Understand its answer; raises WrongAnswer."""

    def lone_request(self, work: Work) -> str:
        """The request for the first phase alone, so often; "" if that cannot be asked for."""

    def lone_reading(self, answer: str, work: Work) -> tuple[float, int]:
        """Instructions of each by its caller's clocks, less what is around it; ticks meanwhile."""
