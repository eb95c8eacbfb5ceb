# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Provide the interface of GuestChannel for commands that run on this computer."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from grader.base.errors import MachineDied, MachineError, MachineTimeout
from grader.base.printable import decoded
from grader.lab.guest_channel import AHEAD_BYTES, GuestChannel, GuestCommandResult

# Seconds to wait for the end of a killed command; a system call may delay it.
PATIENCE = 2.0


class LocalChannel(GuestChannel):
    """A channel that runs each command in a shell on this computer, without FIFOs."""

    def __init__(
        self,
        command: Callable[[str], str],
        environment: dict[str, str],
        store: Callable[[str], Path],
        alive: Callable[[], bool],
    ) -> None:
        self._command = command
        self._environment = environment
        self._store = store
        self._alive = alive
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """Kill a command that still runs."""
        self.kill_command()

    def wait_ready(self, timeout: float) -> None:
        """Return at once, because this computer is always ready."""

    def _start(self, command: str, feed: bool) -> subprocess.Popen[bytes]:
        if not self._alive():
            raise MachineDied("the machine has been stopped")
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", self._command(command)],
            stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
            start_new_session=True,
        )
        return self._process

    def run(self, command: str, timeout: float) -> GuestCommandResult:
        """Run a shell command on this computer, with empty standard input."""
        process = self._start(command, feed=False)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.kill_command()
            raise MachineTimeout("no answer in time") from None
        except BaseException:
            self.kill_command()
            raise
        return GuestCommandResult(process.returncode, decoded(output))

    def kill_command(self) -> None:
        """Kill the running command and its whole process group."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        try:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
        except (ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
            pass

    def put(self, path: str, content: bytes, timeout: float) -> None:
        """Write a file to the path on this computer that stands for the guest's path."""
        self._store(path).write_bytes(content)

    def stream_requests(
        self,
        client: str,
        requests: Iterable[str],
        timeout: float,
        ahead: int = AHEAD_BYTES,
    ) -> Iterator[str]:
        """Send requests to a program on this computer; yield its answers, one line each."""
        yield from self._stream(f"exec {client}", client, requests, timeout, ahead)

    def with_module(
        self, path: str, name: str, client: str, requests: Sequence[str], timeout: float
    ) -> Iterator[str]:
        """Load a module by insmod, which may be a wrapper, as the client has no right to load."""
        whole = f"insmod {path} && {client} && rmmod {name}"
        return self._stream(whole, client, requests, timeout, AHEAD_BYTES)

    def _stream(
        self, whole: str, client: str, requests: Iterable[str], timeout: float, ahead: int
    ) -> Iterator[str]:
        process = self._start(whole, feed=True)
        name = client.split(maxsplit=1)[0]
        assert process.stdin is not None
        try:
            waiting: list[int] = []
            buffer = b""
            for request in requests:
                while waiting and sum(waiting) + len(request) > ahead:
                    answer, buffer = self._line(process, name, buffer, timeout)
                    yield answer
                    waiting.pop(0)
                self._feed(process, name, request)
                waiting.append(len(request))
            for _ in waiting:
                answer, buffer = self._line(process, name, buffer, timeout)
                yield answer
            self._feed(process, name, "quit")
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise MachineTimeout(f"{name} does not end") from None
        finally:
            self.kill_command()
            with contextlib.suppress(BrokenPipeError):  # the program may end early
                process.stdin.close()
            assert process.stdout is not None
            process.stdout.close()
        if status:
            raise MachineError(f"{client}: exit {status}")

    def run_script(self, client: str, path: str, count: int, timeout: float) -> Iterator[str]:
        """Let a program read its requests from a file; yield its count answers, one line each."""
        process = self._start(f"exec {client} <{path}", feed=False)
        name = client.split(maxsplit=1)[0]
        try:
            buffer = b""
            for _ in range(count):
                answer, buffer = self._line(process, name, buffer, timeout)
                yield answer
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise MachineTimeout(f"{name} does not end") from None
        finally:
            self.kill_command()
            assert process.stdout is not None
            process.stdout.close()
        if status:
            raise MachineError(f"{client}: exit {status}")

    @staticmethod
    def _feed(process: subprocess.Popen[bytes], name: str, request: str) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(request.encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise MachineError(f"{name} ended early, exit {process.wait()}") from None

    @staticmethod
    def _line(
        process: subprocess.Popen[bytes], name: str, buffer: bytes, timeout: float
    ) -> tuple[str, bytes]:
        """Return the next line of output, and the bytes that were read after that line."""
        assert process.stdout is not None
        until = time.monotonic() + timeout
        while b"\n" not in buffer:
            ready, _, _ = select.select([process.stdout], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise MachineTimeout("no answer in time")
            more = os.read(process.stdout.fileno(), 65536)
            if not more:
                raise MachineError(f"{name} ended early, exit {process.wait()}")
            buffer += more
        line, buffer = buffer.split(b"\n", 1)
        return decoded(line) + "\n", buffer
