# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure the cost of a switch: the module against the user-space library.

Machine qemu counts instructions: these programs read them from its TSC, because no points depend
on them. Time is measured only where it is meaningful: on this computer itself, or in a working KVM.
On machine uml, the cost of a switch would mostly be that of the emulated system call.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from electives.fibers import build
from grader.base.errors import LabError, MachineError
from grader.lab import machines
from grader.lab.machines import Machine, Running

SIZES = (128, 256, 512, 1024)
# Parameters of the benchmark that this elective is based on: slices of each fiber, and instructions
# of work in a slice. A switch follows each slice.
SLICES = 20
SLICE = 5_000
# The ratio is measured with RATIO_SIZE fibers and these numbers of instructions between switches.
WORKS = (0, 100, 500, 1_000, 5_000, 50_000)
RATIO_SIZE = 128
# The number of switches in one measurement. It is small enough that all switches fit into the
# 4,000,000 instructions between two timer ticks of machine qemu.
SWITCHES = 1024
LIBRARIES = ("module", "userspace")
RUNS = {"instructions": 3, "ns": 10}
SECONDS = 300.0

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Cost:
    """The costs of one library in one setting: the values of all runs."""

    begin: tuple[float, ...]  # cost of creating a fiber
    switch: tuple[float, ...]  # cost of a switch with the work that follows


@dataclass(frozen=True)
class SwitchCosts:
    """The costs of both libraries on one machine."""

    metric: str  # "instructions" or "ns"
    bare: dict[tuple[str, int], Cost]  # switches without work, by library and number of fibers
    whole: dict[tuple[str, int], Cost]  # switches with the benchmark's work
    ratio: dict[int, float]  # module's cost / library's cost, by work between switches


def middle(values: tuple[float, ...]) -> float:
    """Return the median, because disturbances slow down only a few of the runs."""
    return statistics.median(values)


def chosen(name: str) -> Machine:
    """Return the machine to measure on. Raise LabError if it has no suitable metric."""
    if name in ("uml", "uml-debug"):
        raise LabError(
            f"machine={name} cannot measure a switch: its emulated system calls take 100"
            " times as long as a processor's",
            "choose qemu, qemu-kvm or host",
        )
    machine = machines.get(name or "qemu")
    if not machine.metric:
        raise LabError(f"machine={name} has no metric", "choose qemu, qemu-kvm or host")
    return machine


def measure(machine: Machine, tell: Tell) -> SwitchCosts:
    """Run all measurements in one boot."""
    made = build.built(machine.kernel())
    programs = [f"bench_{library}" for library in LIBRARIES]
    with build.machine_with(machine, made, programs) as guest:
        one = _Bench(guest, machine.metric)
        bare, whole, ratio = {}, {}, {}
        for size in SIZES:
            for library in LIBRARIES:
                tell(f"{size} fibers, {library}")
                bare[library, size] = one.run(library, size, SWITCHES // size, 0)
                whole[library, size] = one.run(library, size, SLICES, SLICE)
        for work in WORKS:
            tell(f"{work} instructions between switches")
            slices = SWITCHES // RATIO_SIZE // 4
            module, userspace = (
                middle(one.run(library, RATIO_SIZE, slices, work).switch) for library in LIBRARIES
            )
            ratio[work] = module / userspace
    return SwitchCosts(machine.metric, bare, whole, ratio)


class _Bench:
    """A running machine with both benchmark programs."""

    def __init__(self, guest: Running, metric: str) -> None:
        self.guest = guest
        self.metric = metric

    def run(self, library: str, size: int, slices: int, work: int) -> Cost:
        """Run one program several times. Return its costs."""
        command = f"fibers-bench_{library} {size} {slices} {work}"
        begin, switch = [], []
        for _ in range(RUNS[self.metric]):
            output = self.guest.channel.check(command, SECONDS)
            try:
                (made, made_ns), (all_, all_ns) = (map(int, x.split()) for x in output.splitlines())
            except ValueError:
                raise MachineError(f"{command}: {output.strip()}") from None
            begin.append((made if self.metric == "instructions" else made_ns) / size)
            count = slices * (size + 1)
            switch.append((all_ if self.metric == "instructions" else all_ns) / count)
        return Cost(tuple(begin), tuple(switch))
