# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the guest's agent: a request during a command, and a kill request right after a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.lab.guest_channel import Deadline, _with_checksum
from grader.lab.machines import Machine

pytestmark = pytest.mark.machine
SECONDS = 60.0


def test_requests_wait_their_turn_and_kills_do_not(uml: Machine, booted: list[Path]) -> None:
    guest = uml.boot()
    try:
        channel = guest.channel
        deadline = Deadline(SECONDS)
        # The agent must keep the second request; otherwise the grader would wait for it forever.
        send = channel._send
        send(_with_checksum("run a sleep 0.5; echo one"), deadline)
        send(_with_checksum("run b echo two"), deadline)
        for name, output in (("a", "one\n"), ("b", "two\n")):
            channel._until(f"\x01{name}\n".encode(), deadline)
            assert channel._end(name, deadline).output == output
        # The kill request follows at once, often before the command has its own process group.
        for i in range(5):
            killed, later = (
                _with_checksum(f"run k{i} sleep 1000"),
                _with_checksum(f"run l{i} echo on"),
            )
            send(killed + b"kill\n" + later, deadline)
            channel._until(f"\x01k{i}\n".encode(), deadline)
            assert channel._end(f"k{i}", deadline).status == 128 + 9
            channel._until(f"\x01l{i}\n".encode(), deadline)
            assert channel._end(f"l{i}", deadline).output == "on\n"
        # The agent quotes a damaged request and does not run its command.
        send(_with_checksum("run d echo whole").replace(b"whole", b"w"), deadline)
        assert b"echo" not in channel._until(b"\x03d\n", deadline)
        assert channel.run("echo on", SECONDS).output == "on\n"
    finally:
        guest.stop()
