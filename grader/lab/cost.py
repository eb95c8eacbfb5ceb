# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure writes to a module's file in nanoseconds or in emulated instructions (guest/cost.c)."""

from __future__ import annotations

import shlex

from grader.base.errors import MachineError
from grader.lab import plugin
from grader.lab.machines import Running


def time_writes(guest: Running, file: str, text: str, times: int, timeout: float) -> list[int]:
    """Write text to a file of the machine this many times. Return the nanoseconds of each write.

    The guest's clock measures each time, which includes the system call. timeout: seconds for all
    writes.
    """
    lines = guest.channel.check(shlex.join(["cost", file, text, str(times)]), timeout).splitlines()
    if len(lines) != times or not all(line.isdecimal() for line in lines):
        raise MachineError(f"cost {file}: {lines[-1] if lines else 'no answer'}")
    return [int(line) for line in lines]


def count_writes(guest: Running, file: str, text: str, times: int, timeout: float) -> list[int]:
    """Write like time_writes(). Return the number of module instructions in each write.

    The machine must run with the counting plugin. Instructions of the kernel are not counted,
    because a timer interrupt can make the kernel do unrelated work during a write.
    """
    time_writes(guest, file, text, times, timeout)
    events = plugin.events(guest.folder)[-2 * times :]
    if [event.name for event in events] != [plugin.BEGIN, plugin.END] * times:
        raise MachineError(f"cost {file}: the recorded events are not those of {times} writes")
    pairs = zip(events[::2], events[1::2])
    return [(end.counts - begin.counts).module for begin, end in pairs]
