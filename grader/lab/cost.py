# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Time and instructions around a write to a module's file, from outside: see guest/cost.c."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from grader.base.errors import MachineError
from grader.lab.machines import Running


@dataclass(frozen=True)
class Cost:
    """One write, its system call included."""

    ns: int  # by the machine's clock: on machine qemu no time
    cycles: int  # of the TSC, which on machine qemu counts instructions


def of_write(
    guest: Running, file: str, text: str, times: int, timeout: float, behind_tick: bool = False
) -> list[Cost]:
    """Write text to a file of the machine so many times, and what each write cost.

    behind_tick: each begins right behind a timer tick, which on machine qemu keeps ticks out of
    what is counted, up to 4,000,000 instructions. timeout in seconds, for all of them.
    """
    words = ["cost", file, text, str(times), *(["tick"] if behind_tick else [])]
    lines = guest.wire.check(shlex.join(words), timeout).splitlines()
    try:
        found = [Cost(int(ns), int(cycles)) for ns, cycles in map(str.split, lines)]
    except ValueError:
        found = []
    if len(found) != times:
        raise MachineError(f"cost {file}: {lines[-1] if lines else 'no answer'}")
    return found
