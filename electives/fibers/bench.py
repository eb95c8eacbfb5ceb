# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a switch costs: the module against the user-space library, by a machine's own metric.

Machine qemu counts instructions: the programs here read them from its TSC, since nobody's points
depend on them. Time is measured only where it means something: on this computer
itself, or under a KVM that works. A switch of machine uml would be that of its system call.
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
# Of the source's benchmark: what each fiber does, in slices with a switch behind each.
SLICES = 20
SLICE = 5_000
# Instructions of work between two switches, for the ratio; of this many fibers.
WORKS = (0, 100, 500, 1_000, 5_000, 50_000)
RATIO_SIZE = 128
# So many switches are measured at once: with all of them below the 4,000,000 instructions
# between two ticks of machine qemu.
SWITCHES = 1024
LIBRARIES = ("module", "userspace")
RUNS = {"instructions": 3, "ns": 10}
SECONDS = 300.0

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Cost:
    """One way to be called, by one library: the values of all runs."""

    begin: tuple[float, ...]  # of making the fibers, each
    switch: tuple[float, ...]  # of a switch with the work behind it


@dataclass(frozen=True)
class SwitchCosts:
    """All that was measured on a machine."""

    metric: str  # "instructions" or "ns"
    bare: dict[tuple[str, int], Cost]  # by library and number of fibers: nothing but switches
    whole: dict[tuple[str, int], Cost]  # and with the source's work
    ratio: dict[int, float]  # by work between switches: module over user space


def middle(values: tuple[float, ...]) -> float:
    """What stands for some runs: what adds to a count adds to some of them only."""
    return statistics.median(values)


def chosen(name: str) -> Machine:
    """A machine with a metric that fits; LabError says why there is none."""
    if name in ("uml", "uml-debug"):
        raise LabError(
            f"machine={name} has no metric for a switch: its system calls take 100 times what a"
            " processor's take; say qemu, qemu-kvm or host"
        )
    machine = machines.get(name or "qemu")
    if not machine.metric:
        raise LabError(f"machine={name} measures nothing: say qemu, qemu-kvm or host")
    return machine


def measure(machine: Machine, tell: Tell) -> SwitchCosts:
    """Everything, in one boot."""
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
    """A machine with both programs on board."""

    def __init__(self, guest: Running, metric: str) -> None:
        self.guest = guest
        self.metric = metric

    def run(self, library: str, size: int, slices: int, work: int) -> Cost:
        """Some runs of one program."""
        command = f"fibers-bench_{library} {size} {slices} {work}"
        begin, switch = [], []
        for _ in range(RUNS[self.metric]):
            said = self.guest.channel.check(command, SECONDS)
            try:
                (made, made_ns), (all_, all_ns) = (map(int, x.split()) for x in said.splitlines())
            except ValueError:
                raise MachineError(f"{command}: {said.strip()}") from None
            begin.append((made if self.metric == "instructions" else made_ns) / size)
            count = slices * (size + 1)
            switch.append((all_ if self.metric == "instructions" else all_ns) / count)
        return Cost(tuple(begin), tuple(switch))
