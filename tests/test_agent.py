# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The guest's agent: requests that come while a command runs, and kills that come early."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.lab.machines import Machine
from grader.lab.wire import Deadline

pytestmark = pytest.mark.machine
SECONDS = 60.0


def test_requests_wait_their_turn_and_kills_do_not(uml: Machine, booted: list[Path]) -> None:
    guest = uml.boot()
    try:
        wire = guest.wire
        deadline = Deadline(SECONDS)
        # Two at once: whoever waits for the second must not wait for ever.
        wire._send(b"run a sleep 0.5; echo one\nrun b echo two\n", deadline)
        for name, output in (("a", "one\n"), ("b", "two\n")):
            wire._until(f"\x01{name}\n".encode(), deadline)
            assert wire._end(name, deadline).output == output
        # A kill right behind its command, before that has a process group of its own.
        for i in range(5):
            wire._send(f"run k{i} sleep 1000\nkill\nrun l{i} echo on\n".encode(), deadline)
            wire._until(f"\x01k{i}\n".encode(), deadline)
            assert wire._end(f"k{i}", deadline).status == 128 + 9
            wire._until(f"\x01l{i}\n".encode(), deadline)
            assert wire._end(f"l{i}", deadline).output == "on\n"
    finally:
        guest.stop()
