# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the agent in the guest: requests during a command, and kills right after a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.lab.guest_channel import Deadline
from grader.lab.machines import Machine

pytestmark = pytest.mark.machine
SECONDS = 60.0


def test_requests_wait_their_turn_and_kills_do_not(uml: Machine, booted: list[Path]) -> None:
    guest = uml.boot()
    try:
        channel = guest.channel
        deadline = Deadline(SECONDS)
        # The second request must be kept, or a caller would wait for it for ever.
        channel._send(b"run a sleep 0.5; echo one\nrun b echo two\n", deadline)
        for name, output in (("a", "one\n"), ("b", "two\n")):
            channel._until(f"\x01{name}\n".encode(), deadline)
            assert channel._end(name, deadline).output == output
        # The kill comes before its command has a process group.
        for i in range(5):
            channel._send(f"run k{i} sleep 1000\nkill\nrun l{i} echo on\n".encode(), deadline)
            channel._until(f"\x01k{i}\n".encode(), deadline)
            assert channel._end(f"k{i}", deadline).status == 128 + 9
            channel._until(f"\x01l{i}\n".encode(), deadline)
            assert channel._end(f"l{i}", deadline).output == "on\n"
    finally:
        guest.stop()
