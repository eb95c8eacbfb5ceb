# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run commands on a lab machine: the host's end of the channel that guest/agent.c describes."""

from __future__ import annotations

import os
import secrets
import select
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from grader.base import scratch
from grader.base.errors import LabError, MachineDied, MachineError, MachineTimeout
from grader.base.printable import decoded

PUT_BYTES = 2048
# Limit of unanswered requests, in bytes; a serial line's input buffer holds 4095 bytes.
AHEAD_BYTES = 2000
# The maximum number of retransmissions of a request that arrived damaged.
REPEATS = 3


@dataclass(frozen=True)
class GuestCommandResult:
    """The exit status and the output of a command that has ended."""

    status: int
    output: str


# The longest wait between two checks for a signal and for the end of the machine.
SLICE_SECONDS = 0.2


class Deadline:
    """A time limit that does not count the time in which the guest could not run.

    If this process wakes up late, because the computer was busy or suspended, the guest probably
    did not run either, so that delay does not count. starved() returns for how many seconds the
    guest has waited for a processor since the last call; these seconds do not count either.
    """

    def __init__(self, seconds: float, starved: Callable[[], float] = lambda: 0.0) -> None:
        self._left = seconds
        self._starved = starved

    def shorten(self, seconds: float) -> None:
        """Let the time limit expire in this many seconds at the latest."""
        self._left = min(self._left, seconds)

    def expired(self) -> bool:
        """Return whether the time limit has expired by now."""
        return self._left < 0.001

    def select(self, read: list[int], write: list[int]) -> bool:
        """Wait for at most SLICE_SECONDS. Return whether one of the files is ready."""
        wait = max(0.0, min(self._left, SLICE_SECONDS))
        begin = time.monotonic()
        readable, writable, _ = select.select(read, write, [], wait)
        waited = min(time.monotonic() - begin, wait)
        ready = bool(readable or writable)
        # A tenth of the wait always counts, so that the time limit expires in any case.
        self._left -= waited if ready else max(waited - self._starved(), waited / 10)
        return ready


def _with_checksum(request: str) -> bytes:
    """Return the line for a request: its Adler-32 checksum in hexadecimal, and the request."""
    text = request.encode()
    return b"%08x %s\n" % (zlib.adler32(text), text)


class GuestChannel:
    """The channel to a machine: two FIFOs, and a function that returns whether it is alive."""

    def __init__(
        self,
        to_machine: Path,
        from_machine: Path,
        alive: Callable[[], bool],
        starved: Callable[[], float] = lambda: 0.0,
    ) -> None:
        # Open both for reading and writing, so that open() does not block, and so that read() does
        # not return end of file when the other end is closed.
        self._out = os.open(to_machine, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._in = os.open(from_machine, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._alive = alive
        self._starved = starved
        # This function is called while a request waits. Its argument is the number of seconds since
        # the last bytes from the machine.
        self.silent: Callable[[float], None] = lambda _seconds: None
        # If this function returns a number, an answer may take that many more seconds at most.
        self.hurried: Callable[[], float | None] = lambda: None
        self._buffer = b""
        self._loader = ""  # The name of the client of with_module(), or "".

    def close(self) -> None:
        """Close the FIFOs."""
        os.close(self._out)
        os.close(self._in)

    def _deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds, self._starved)

    def _fill(self, deadline: Deadline) -> None:
        """Wait for more bytes from the machine."""
        begin = time.monotonic()
        hurried = False
        while True:
            if not hurried and (most := self.hurried()) is not None:
                deadline.shorten(most)
                hurried = True
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
                raise MachineTimeout("the program in the machine accepts no more requests")

    def _until(self, marker: bytes, deadline: Deadline) -> bytes:
        """Return the bytes before marker, and consume these bytes and the marker."""
        while marker not in self._buffer:
            self._fill(deadline)
        before, self._buffer = self._buffer.split(marker, 1)
        return before

    def _end(self, name: str, deadline: Deadline) -> GuestCommandResult:
        output = self._until(f"\x02{name} ".encode(), deadline)
        status = int(self._until(b"\n", deadline))
        return GuestCommandResult(status, decoded(output))

    def _begin(self, request: str, name: str, deadline: Deadline) -> None:
        """Send a request, and wait until its command starts."""
        start, damaged = f"\x01{name}\n".encode(), f"\x03{name}\n".encode()
        for _ in range(1 + REPEATS):
            self._send(_with_checksum(request), deadline)
            while start not in self._buffer and damaged not in self._buffer:
                self._fill(deadline)
            if start in self._buffer:
                self._until(start, deadline)
                return
            self._until(damaged, deadline)
        raise LabError("the serial line of the machine damages requests", "run the command again")

    def wait_ready(self, timeout: float) -> None:
        """Wait for at most timeout seconds until the machine has booted."""
        self._end("ready", self._deadline(timeout))

    def run(self, command: str, timeout: float) -> GuestCommandResult:
        """Run a shell command in the machine, with empty standard input."""
        name = secrets.token_hex(8)
        deadline = self._deadline(timeout)
        self._begin(f"run {name} {command}", name, deadline)
        return self._end(name, deadline)

    def check(self, command: str, timeout: float) -> str:
        """Run a shell command and return its output; raise MachineError if it fails."""
        result = self.run(command, timeout)
        if result.status:
            raise MachineError(f"{command}: exit {result.status}: {result.output.strip()}")
        return result.output

    def kill_command(self) -> None:
        """Kill the running command, even if another process started it."""
        self._send(b"kill\n", self._deadline(2))

    def put(self, path: str, content: bytes, timeout: float) -> None:
        """Write a file of the machine; raise MachineError if that fails."""
        for offset in range(0, max(len(content), 1), PUT_BYTES):
            chunk = content[offset : offset + PUT_BYTES]
            name = secrets.token_hex(8)
            deadline = self._deadline(timeout)
            request = f"put {name} {path} {offset} {len(chunk)}"
            self._send(_with_checksum(request) + chunk, deadline)
            if self._end(name, deadline).status:
                raise MachineError(f"{path}: the machine could not store it")

    def stream_requests(
        self,
        client: str,
        requests: Iterable[str],
        timeout: float,
        ahead: int = AHEAD_BYTES,
    ) -> Iterator[str]:
        """Send requests to a client program in the machine; yield its answers, one line each.

        timeout, ahead: see answers().
        """
        name = self.begin_client(f"exec {client}", timeout)
        yield from self.answers(client, requests, timeout, ahead)
        self.end_client(client, name, timeout)

    def with_module(
        self, path: str, name: str, client: str, requests: Sequence[str], timeout: float
    ) -> Iterator[str]:
        """Load a module, send requests to its client, unload it; yield the answers to requests.

        client: a program with the requests "load" and "unload" of common/batch.h. It is kept for
        all modules, because to start a program takes longer than to load a module. The machine can
        run no other command after the first module.
        """
        if not self._loader:
            self._loader = self.begin_client(f"exec {client}", timeout)
        everything = [f"load {path}", *requests, "close-all", f"unload {name}"]
        answers = self.answers(client, everything, timeout)
        self._must(next(answers), f"insmod {path}")
        yield from islice(answers, len(requests))
        *_, unloaded = answers
        self._must(unloaded, f"rmmod {name}")

    @staticmethod
    def _must(answer: str, what: str) -> None:
        if answer.strip() != "0":
            number = answer.strip().removeprefix("-")
            error = os.strerror(int(number)) if number.isdecimal() else answer.strip()
            raise MachineError(f"{what}: {error}")

    def begin_client(self, command: str, timeout: float) -> str:
        """Start a client program by a shell command; return its name for end_client().

        The client must answer each line at once with one line, and end at the line "quit". Until
        end_client() the machine can run no other command.
        """
        name = secrets.token_hex(8)
        self._begin(f"feed {name} {command}", name, self._deadline(timeout))
        return name

    def answers(
        self, client: str, requests: Iterable[str], timeout: float, ahead: int = AHEAD_BYTES
    ) -> Iterator[str]:
        """Send requests to the running client; yield its answers, one line each.

        timeout: seconds for one answer. ahead: the maximum number of bytes in requests that are
        sent before the first of them is answered; 0: one request at a time.
        """
        waiting: list[int] = []
        for request in requests:
            line = request.encode() + b"\n"
            while waiting and sum(waiting) + len(line) > ahead:
                yield self._answer(client, timeout)
                waiting.pop(0)
            self._send(line, self._deadline(timeout))
            waiting.append(len(line))
            if not ahead:  # Do not take the next request from the iterator before this answer.
                yield self._answer(client, timeout)
                waiting.pop()
        for _ in waiting:
            yield self._answer(client, timeout)

    def end_client(self, client: str, name: str, timeout: float) -> None:
        """End the running client. Raise MachineError if its exit status is not 0."""
        self._send(b"quit\n", self._deadline(timeout))
        self._result(client, name, timeout)

    def run_script(self, client: str, path: str, count: int, timeout: float) -> Iterator[str]:
        """Let a program read its requests from a file of the machine; yield its count answers.

        timeout: seconds for one answer.
        """
        name = secrets.token_hex(8)
        deadline = self._deadline(timeout)
        self._begin(f"run {name} exec {client} <{path}", name, deadline)
        for _ in range(count):
            yield self._answer(client, timeout)
        self._result(client, name, timeout)

    def _result(self, client: str, name: str, timeout: float) -> None:
        result = self._end(name, self._deadline(timeout))
        if result.status:
            raise MachineError(f"{client}: exit {result.status}: {result.output.strip()}")

    def _answer(self, client: str, timeout: float) -> str:
        answer = self._until(b"\n", self._deadline(timeout))
        if answer.startswith(b"\x02"):
            name = client.split(maxsplit=1)[0]
            raise MachineError(f"{name} ended early, exit {decoded(answer).split()[-1]}")
        return decoded(answer)
