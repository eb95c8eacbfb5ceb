# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure read() in a user process, to compare with the kernel's own clock: `fibctl user`."""

from __future__ import annotations

from typing import Any

from grader.base.errors import MachineError
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.conformance.verify import CALL_TIMEOUT, MODULE
from grader.exercise.files import device
from grader.lab.machines import Machine, Running

COUNT = 101
FEWEST = 5
# The time limit for all calls with the same n.
LIMIT_NS = 300_000_000
COLUMNS = ("user", "compute", "decimal", "difference", "faults")


def parse(table: str) -> tuple[dict[str, float], dict[str, float], int]:
    """Return the times of the first call, the medians of the other calls and the number of calls.

    table is the output of fibctl. Raise MachineError if it is incomplete.
    """
    rows: dict[str, dict[str, float]] = {}
    count = 0
    for line in table.splitlines():
        name, *words = line.split()
        if name in ("first", "median"):
            rows[name] = dict(zip(COLUMNS, map(float, words), strict=True))
        elif name == "calls":
            count = int(words[0].rstrip(","))
    if "first" not in rows or "median" not in rows or not count:
        raise MachineError(f"fibctl user answered {table.strip()[:80]!r}")
    return rows["first"], rows["median"], count


def _trips(guest: Running, n: int, count: int, locked: bool) -> str:
    command = f"{device.CLIENT} user {n} {count}" + (" --lock" if locked else "")
    return guest.channel.check(command, CALL_TIMEOUT * guest.speed_factor)


def measure_round_trips(
    machine: Machine, built: BuiltStage, locked: bool = True
) -> list[dict[str, Any]]:
    """Measure read() in a new machine, at each n of the manifest that takes less than 17 ms.

    Return rows of the report's round_trips; times are in nanoseconds. kernel is the sum of compute
    and decimal. The rest of read() is the system call, the allocation of a buffer and the copy of
    the digits.
    """
    rows = []
    guest = machine.boot(device.contents({device.NAME: built.module.stripped}))
    try:
        guest.channel.check(f"insmod {MODULE}", CALL_TIMEOUT * guest.speed_factor)
        for n in sorted(built.stage.manifest.measure):
            # Make two calls to find out how long one call takes.
            _, median, _ = parse(_trips(guest, n, 2, locked))
            # For each call, fibctl also makes a write() and a measurement that computes twice.
            possible = int(LIMIT_NS / (3.5 * max(median["user"], 1.0)))
            if possible < FEWEST:
                break
            first, median, count = parse(_trips(guest, n, min(COUNT, possible), locked))
            rows.append(
                {
                    "machine": machine.name,
                    "n": n,
                    "user": median["user"],
                    "kernel": median["compute"] + median["decimal"],
                    "difference": median["difference"],
                    "first": first["user"],
                    "count": count - 1,
                    "locked": locked,
                }
            )
        guest.channel.check(f"rmmod {device.NAME}", CALL_TIMEOUT * guest.speed_factor)
    finally:
        guest.stop()
    return rows
