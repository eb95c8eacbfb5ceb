# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure writes to a module's file by their caller's clock, or by the emulator: guest/cost.c."""

from __future__ import annotations

import shlex

from grader.base.errors import MachineError
from grader.lab import plugin
from grader.lab.machines import Running


def time_writes(guest: Running, file: str, text: str, times: int, timeout: float) -> list[int]:
    """Write text to a file of the machine this many times. Return the nanoseconds of each write.

    Each is by the machine's clock and includes the system call. timeout: seconds for all of them.
    """
    lines = guest.channel.check(shlex.join(["cost", file, text, str(times)]), timeout).splitlines()
    if len(lines) != times or not all(line.isdecimal() for line in lines):
        raise MachineError(f"cost {file}: {lines[-1] if lines else 'no answer'}")
    return [int(line) for line in lines]


def count_writes(guest: Running, file: str, text: str, times: int, timeout: float) -> list[int]:
    """Do the same on a machine that counts. Return the instructions of modules in each write.

    Those of the kernel are left out: after a timer interrupt it may do other work first.
    """
    time_writes(guest, file, text, times, timeout)
    events = plugin.events(guest.folder)[-2 * times :]
    if [event.name for event in events] != [plugin.BEGIN, plugin.END] * times:
        raise MachineError(f"cost {file}: other events than those of {times} writes")
    pairs = zip(events[::2], events[1::2])
    return [(end.counts - begin.counts).module for begin, end in pairs]
