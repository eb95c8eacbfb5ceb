# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a metric measures: a module, how to make it work, and how to read what it says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from grader.base.finding import Failure, Finding, failed
from grader.lab.machines import Running
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
    allocations: Mapping[str, int]
    peak_bytes: int  # the most held at once by any one call
    outside_ns: int  # the whole call by its caller's clock
    # What whoever times the work does besides, at the most. bare: nothing else is in the call;
    # otherwise the work is tried beforehand.
    own_ns: float
    bare: bool


class WrongAnswer(Exception):
    """The work was not done, or not right."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.title)
        self.finding = failed(failure)


class Workload(Protocol):
    """A module to be measured. A metric does not know what it is."""

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
    def vectors(self) -> bool:
        """Return whether an emulated CPU must have AVX2 and FMA for it."""

    @property
    def wholes(self) -> Mapping[str, tuple[str, ...]]:
        """Sums of phases that are figures of their own, by name."""

    @property
    def client(self) -> str:
        """The program there that takes requests, a line each, and answers each by a line."""

    @property
    def before(self) -> tuple[str, ...]:
        """Requests that come first; each is answered by "0"."""


class TimedWorkload(Workload, Protocol):
    """A module that a clock measures: it reports how long its work took."""

    @property
    def phases(self) -> tuple[str, ...]:
        """Return the phases that it times separately."""

    def spread(self, n: int) -> int:
        """Return how far n varies between repetitions, so that a kept result gains nothing."""

    def request(self, work: Work) -> str:
        """The request for some work."""

    def reading(self, answer: str, work: Work) -> Reading:
        """Understand its answer; raises WrongAnswer."""


class CountedWorkload(Workload, Protocol):
    """A module whose call the emulator counts, between the markers of guest/marker.h."""

    @property
    def needed(self) -> tuple[int, ...]:
        """Those n that a run counts even where it leaves out what takes long."""

    @property
    def call_sites(self) -> tuple[tuple[str, int], ...]:
        """The calls whose instructions are a phase: its name, and where the call instruction is.

        In the order in which they are executed, as offsets in the module's section .text.
        """

    def count_request(self, n: int) -> str:
        """The request for one call, which speaks the digits of its answer."""

    def digits(self, n: int) -> str:
        """The digits that it must speak."""

    def machine_finding(self, guest: Running, n: int) -> Finding | None:
        """Return what the machine that counted a call for n shows to be wrong, or None."""
