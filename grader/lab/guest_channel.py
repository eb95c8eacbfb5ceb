# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run commands on a lab machine: the host's end of the channel; guest/agent.c has the protocol."""

from __future__ import annotations

import os
import secrets
import select
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.base import scratch
from grader.base.errors import MachineDied, MachineError, MachineTimeout
from grader.base.printable import decoded

PUT_BYTES = 2048
# What may be on its way to a client at once; a terminal line holds 4095 bytes.
AHEAD_BYTES = 2000


@dataclass(frozen=True)
class GuestCommandResult:
    """A command that has ended: its exit status and what it printed."""

    status: int
    output: str


# How long we wait at a time: in between there may be a signal, or the machine's end.
SLICE_SECONDS = 0.2


class Deadline:
    """When to give up waiting, by the time that this computer has really run.

    Where we ourselves wake late, since other machines have its processors or it stood still, the
    machine that we wait for has not run either: that is not its time.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    def expired(self) -> bool:
        """Whether it is time to give up."""
        return self._left < 0.001

    def select(self, read: list[int], write: list[int]) -> bool:
        """Wait a while for one of these files; whether it is ready."""
        wait = max(0.0, min(self._left, SLICE_SECONDS))
        begin = time.monotonic()
        readable, writable, _ = select.select(read, write, [], wait)
        self._left -= min(time.monotonic() - begin, wait)
        return bool(readable or writable)


class GuestChannel:
    """The two FIFOs of a machine, and whether that machine still lives."""

    def __init__(self, to_machine: Path, from_machine: Path, alive: Callable[[], bool]) -> None:
        # Read and write on both: a FIFO then neither blocks nor ends when the other end goes.
        self._out = os.open(to_machine, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._in = os.open(from_machine, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._alive = alive
        # Called with the seconds in which the machine has sent nothing, while a request waits.
        self.silent: Callable[[float], None] = lambda _seconds: None
        self._buffer = b""

    def close(self) -> None:
        """Let go of the FIFOs."""
        os.close(self._out)
        os.close(self._in)

    def _fill(self, deadline: Deadline) -> None:
        """Wait for more bytes from the machine."""
        begin = time.monotonic()
        while True:
            if deadline.select([self._in], []):
                self._buffer += os.read(self._in, 65536)
                return
            scratch.check_stopped()
            if not self._alive():
                raise MachineDied("the machine ended")
            self.silent(time.monotonic() - begin)
            if deadline.expired():
                raise MachineTimeout("no answer in time")

    def _send(self, data: bytes, deadline: Deadline) -> None:
        begin = time.monotonic()
        while data:
            if deadline.select([], [self._out]):
                data = data[os.write(self._out, data[:PUT_BYTES]) :]
            elif not self._alive():
                raise MachineDied("the machine ended")
            elif not deadline.expired():
                self.silent(time.monotonic() - begin)
            else:
                raise MachineTimeout("it takes no more requests")

    def _until(self, marker: bytes, deadline: Deadline) -> bytes:
        """What comes before marker, which is taken as well."""
        while marker not in self._buffer:
            self._fill(deadline)
        before, self._buffer = self._buffer.split(marker, 1)
        return before

    def _end(self, name: str, deadline: Deadline) -> GuestCommandResult:
        output = self._until(f"\x02{name} ".encode(), deadline)
        status = int(self._until(b"\n", deadline))
        return GuestCommandResult(status, decoded(output))

    def wait_ready(self, timeout: float) -> None:
        """Wait for a machine that boots."""
        self._end("ready", Deadline(timeout))

    def run(self, command: str, timeout: float) -> GuestCommandResult:
        """Run a shell command in the machine, with nothing to read."""
        name = secrets.token_hex(8)
        deadline = Deadline(timeout)
        self._send(f"run {name} {command}\n".encode(), deadline)
        self._until(f"\x01{name}\n".encode(), deadline)
        return self._end(name, deadline)

    def check(self, command: str, timeout: float) -> str:
        """Run a shell command that must succeed; return what it printed."""
        result = self.run(command, timeout)
        if result.status:
            raise MachineError(f"{command}: exit {result.status}: {result.output.strip()}")
        return result.output

    def kill_command(self) -> None:
        """Kill the command that runs, whoever started it."""
        self._send(b"kill\n", Deadline(2))

    def put(self, path: str, content: bytes, timeout: float) -> None:
        """Write a file in the machine."""
        for offset in range(0, max(len(content), 1), PUT_BYTES):
            chunk = content[offset : offset + PUT_BYTES]
            name = secrets.token_hex(8)
            deadline = Deadline(timeout)
            self._send(f"put {name} {path} {offset} {len(chunk)}\n".encode() + chunk, deadline)
            if self._end(name, deadline).status:
                raise MachineError(f"{path}: the machine could not store it")

    def stream_requests(
        self, client: str, requests: Iterable[str], timeout: float, whole: str = ""
    ) -> Iterator[str]:
        """Feed requests to a program there; yield its answers, one line each.

        The client answers each line at once with one line, and ends at the line "quit". timeout is
        for one answer, in seconds. whole: a command that runs the client among other things, where
        what comes before it prints nothing.
        """
        name = secrets.token_hex(8)
        deadline = Deadline(timeout)
        self._send(f"feed {name} {whole or f'exec {client}'}\n".encode(), deadline)
        self._until(f"\x01{name}\n".encode(), deadline)
        waiting: list[int] = []
        for request in requests:
            line = request.encode() + b"\n"
            while waiting and sum(waiting) + len(line) > AHEAD_BYTES:
                yield self._answer(client, timeout)
                waiting.pop(0)
            self._send(line, Deadline(timeout))
            waiting.append(len(line))
        for _ in waiting:
            yield self._answer(client, timeout)
        self._send(b"quit\n", Deadline(timeout))
        result = self._end(name, Deadline(timeout))
        if result.status:
            raise MachineError(f"{client}: exit {result.status}: {result.output.strip()}")

    def run_script(self, client: str, path: str, count: int, timeout: float) -> Iterator[str]:
        """Have a program there read its requests from a file of the machine; as converse does."""
        name = secrets.token_hex(8)
        deadline = Deadline(timeout)
        self._send(f"run {name} exec {client} <{path}\n".encode(), deadline)
        self._until(f"\x01{name}\n".encode(), deadline)
        for _ in range(count):
            yield self._answer(client, timeout)
        result = self._end(name, Deadline(timeout))
        if result.status:
            raise MachineError(f"{client}: exit {result.status}: {result.output.strip()}")

    def _answer(self, client: str, timeout: float) -> str:
        answer = self._until(b"\n", Deadline(timeout))
        if answer.startswith(b"\x02"):
            name = client.split(maxsplit=1)[0]
            raise MachineError(f"{name} ended early, exit {decoded(answer).split()[-1]}")
        return decoded(answer)
