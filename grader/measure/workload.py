# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define the interface of workloads: a module, its requests and the parser of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from grader.base.finding import Failure, Finding, failed
from grader.lab.machines import Running
from grader.lab.module import Module


@dataclass(frozen=True)
class Work:
    """One request: compute for n, with this number of repetitions."""

    n: int
    repeat: int
    nonce: int  # Part of the digest of the results, so that no answer is predictable.
    spread: int = 0  # Repetition i computes for n - i % (spread + 1).


@dataclass(frozen=True)
class Reading:
    """A checked answer of a workload: totals of all repetitions, by phase."""

    ns: Mapping[str, int]  # Nanoseconds by the clock of the guest kernel.
    allocations: Mapping[str, int]
    peak_bytes: int  # Largest memory use of any one call.
    outside_ns: int  # Time of the whole call, by its caller's clock.
    # Upper bound of the driver's own time in the call. bare: the call contains no trial run before
    # the work.
    own_ns: float
    bare: bool


class WrongAnswer(Exception):
    """The answer of a workload is wrong or missing, or reports an impossible time."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.title)
        self.finding = failed(failure)


class Workload(Protocol):
    """A module to be measured. Metrics use only this interface."""

    @property
    def key(self) -> str:
        """The name of the workload in the samples."""

    @property
    def module(self) -> Module:
        """The module, which is loaded only while it is measured."""

    @property
    def path(self) -> str:
        """The path of the module in the machine."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The values of n to measure."""

    @property
    def vectors(self) -> bool:
        """True if the module needs an emulated CPU with AVX2 and FMA."""

    @property
    def wholes(self) -> Mapping[str, tuple[str, ...]]:
        """Further metrics that are sums of phases, by name."""

    @property
    def client(self) -> str:
        """The program in the machine that reads requests and answers each with one line."""

    @property
    def before(self) -> tuple[str, ...]:
        """Requests to send first; the client must answer each with "0"."""


class TimedWorkload(Workload, Protocol):
    """A workload that is timed: its answers contain the time of each phase."""

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases that the module times separately."""

    def spread(self, n: int) -> int:
        """Return the range by which n varies between repetitions, so that caching is useless."""

    def request(self, work: Work) -> str:
        """Return the request line for a work."""

    def reading(self, answer: str, work: Work) -> Reading:
        """Parse and check an answer; raise WrongAnswer if it is wrong."""


class CountedWorkload(Workload, Protocol):
    """A workload for which the emulator counts the instructions between two markers."""

    @property
    def trusted(self) -> bool:
        """True if counts may be stored beside the module and read again."""

    @property
    def needed(self) -> tuple[int, ...]:
        """The values of n whose instructions must be counted even if a count is expensive."""

    @property
    def call_sites(self) -> tuple[tuple[str, int], ...]:
        """The function calls that are phases: name and position of each call instruction.

        They are in the order of execution. A position is an offset in the section .text.
        """

    def count_request(self, n: int) -> str:
        """Return the request for one call; the client sends its digits by markers."""

    def digits(self, n: int) -> str:
        """Return the digits of the correct answer for n."""

    def machine_finding(self, guest: Running, n: int) -> Finding | None:
        """Return a finding about the machine after a counted call for n, or None."""
