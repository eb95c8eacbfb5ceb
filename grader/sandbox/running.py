# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run a command under the supervisor, check its limits, end it and copy back its files."""

from __future__ import annotations

import errno
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from select import POLLIN, poll

from grader.base import scratch, time_limits
from grader.base.errors import LabError, ProgramKilled, full_disk
from grader.base.printable import decoded
from grader.sandbox import mounts as rooms
from grader.sandbox import writable_folders
from grader.sandbox.limits import (
    CommandResult,
    ResourceLimits,
    ended_by_signal,
    kill_groups,
    oom_kills,
    tasks_of_user,
    usage,
)
from grader.sandbox.mounts import SandboxView
from grader.sandbox.starting import SetUpError, bubblewrap, sealed, supervisor, unused_user

WATCH_SECONDS = 0.05
# Allowance for tasks that other programs may start, if the limit counts all tasks of a user.
BEGINNING = 1000
# Killed processes end in milliseconds, unless the disk is very busy or memory is short.
DEATH_SECONDS = 20
# The last message of the supervisor: wait status, number of processes left, errno.
WORD = struct.Struct("iii")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(
    command: Sequence[str | Path],
    limits: ResourceLimits,
    view: SandboxView | None = None,
    *,
    stdin: bytes = b"",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    together: bool = False,
) -> CommandResult:
    """Run a command until it ends or exceeds a limit.

    environment: with a view, additions to the sandbox's environment; without a view, the whole
    environment (None: our own). together: whether to merge standard error into the output.
    """
    with ExitStack() as stack:
        return _Run(limits, view, stack).run(
            [str(word) for word in command], stdin, cwd, environment, together
        )


class _Run:
    def __init__(self, limits: ResourceLimits, view: SandboxView | None, stack: ExitStack) -> None:
        self.limits = limits
        self.view = view
        self.stack = stack
        self.uid = unused_user() if view and not os.geteuid() else None
        self.process: subprocess.Popen[bytes] | None = None
        self.watched = 0  # The pid of the process whose descendants are checked.
        self.first: int | None = None  # A pidfd of the sandbox's first process.
        self.info: int | None = None  # Pipe to which bubblewrap writes the pid.
        self.stores: list[int] = []  # Descriptors of view.stores.
        self.input = memoryview(b"")  # Remaining input for a pipe.
        self.said: dict[int, bytearray] = {}  # Output by descriptor.
        self.ready = False
        self.ended_by = ""
        self.word: tuple[int, int, int] | None = None
        self.oom_kills = oom_kills()

    def run(
        self,
        command: list[str],
        stdin: bytes,
        cwd: Path | None,
        environment: Mapping[str, str] | None,
        together: bool,
    ) -> CommandResult:
        # SOCK_SEQPACKET keeps the boundaries of messages.
        ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        self.stack.enter_context(ours)
        ours.setblocking(False)
        try:
            with theirs, ExitStack() as handed:
                fds = [theirs.fileno()]
                call = [str(supervisor())]
                inside = None if environment is None else dict(environment)
                if self.view is not None:
                    call = self._bubblewrap(self.view, cwd, fds, handed)
                    inside, cwd = rooms.environment(inside or {}), Path("/")
                self.process = subprocess.Popen(
                    [
                        *call,
                        *self._supervisor_options(),
                        "-s",
                        str(theirs.fileno()),
                        "--",
                        *command,
                    ],
                    stdin=self._stdin(stdin, handed),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT if together else subprocess.PIPE,
                    pass_fds=fds,
                    env=inside,
                    cwd=cwd,
                    start_new_session=True,
                )
            if self.process.stdin:
                self.stack.enter_context(self.process.stdin)
                os.set_blocking(self.process.stdin.fileno(), False)
            pipes = [pipe for pipe in (self.process.stdout, self.process.stderr) if pipe]
            for pipe in pipes:
                self.stack.enter_context(pipe)
                os.set_blocking(pipe.fileno(), False)
                self.said[pipe.fileno()] = bytearray()
            self._attend(ours)
        finally:
            self._end()
        # All writers have ended, so reading the pipes now reaches the end of file.
        for fd in self.said:
            while self._read(fd):
                pass
        return self._ended(command)

    def _stdin(self, content: bytes, handed: ExitStack) -> int:
        """Return a descriptor for standard input: a pipe if the view has a program, else a file."""
        if self.view and self.view.program:
            self.input = memoryview(content)
            return subprocess.PIPE
        return handed.enter_context(sealed(content))

    def _feed(self, pipe: int) -> bool:
        """Write as much input as the pipe takes. Return whether input is left."""
        try:
            if self.input:
                self.input = self.input[os.write(pipe, self.input) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.input = memoryview(b"")
        return bool(self.input)

    def _bubblewrap(
        self, view: SandboxView, cwd: Path | None, fds: list[int], handed: ExitStack
    ) -> list[str]:
        self.info, told = os.pipe()
        self.stack.callback(os.close, self.info)
        handed.callback(os.close, told)
        fds.append(told)
        place = cwd or (view.write or view.stores or (Path("/"),))[0]
        return bubblewrap(view, self.limits, self.uid, place, told, fds, handed)

    def _supervisor_options(self) -> list[str]:
        limits = self.limits
        processes = limits.processes
        if self.view is None:
            processes += 1 + tasks_of_user() + BEGINNING
        elif self.uid is None:
            # The supervisor and bubblewrap's first process count as well. Before Linux 5.14 the
            # limit counted a user's processes on the whole computer, not in the namespace.
            processes += 2 + (0 if _release() >= (5, 14) else tasks_of_user() + BEGINNING)
        values = {
            "cpu": limits.cpu_seconds,
            "as": limits.address_bytes,
            "nproc": processes,
            "nofile": limits.open_files,
            "fsize": limits.file_bytes,
            "core": 0,
        }
        options = [] if self.view else ["-k"]
        for name, value in values.items():
            options += [] if value is None else ["-l", f"{name}={value}"]
        if self.view:
            options += [] if self.uid is None else ["-u", str(self.uid)]
            for place in self.view.stores:
                options += ["-d", str(place)]
            options += ["-x"] if self.view.program else []
        return options

    def _attend(self, ours: socket.socket) -> None:
        """Read output and check the limits until the command ends or exceeds a limit."""
        end = time.monotonic() + self.limits.wall_seconds
        look = time.monotonic() + WATCH_SECONDS
        stdin = self.process.stdin if self.process else None
        with selectors.DefaultSelector() as events:
            for fd in (ours.fileno(), *self.said):
                events.register(fd, selectors.EVENT_READ)
            if stdin:
                events.register(stdin, selectors.EVENT_WRITE)
            while not self.ended_by:
                scratch.check_stopped()
                for key, _ in events.select(max(0.0, min(look, end) - time.monotonic())):
                    if key.fd == ours.fileno():
                        if not self._heard(ours):
                            return
                    elif stdin and key.fileobj is stdin:
                        if not self._feed(key.fd):
                            events.unregister(stdin)
                            stdin.close()
                    elif not self._read(key.fd):
                        events.unregister(key.fd)
                    if self.ended_by:
                        return
                now = time.monotonic()
                if now >= end:
                    self.ended_by = "time"
                elif now >= look and self.ready:
                    look = now + WATCH_SECONDS
                    self.ended_by = self._too_much()
                elif now >= look:
                    look = now + WATCH_SECONDS

    def _heard(self, ours: socket.socket) -> bool:
        """Handle a message of the supervisor. Return False if it was the last one."""
        try:
            message, fds, _, _ = socket.recv_fds(ours, WORD.size, 17)
        except ConnectionError:
            return False
        for fd in fds:
            self.stack.callback(os.close, fd)
        if message != b"r" or self.ready:
            self.word = WORD.unpack(message) if len(message) == WORD.size else None
            return False
        self.stores = fds
        assert self.process
        self.watched = self.process.pid
        if self.info is not None:
            self.watched = json.loads(os.read(self.info, 4096))["child-pid"]
            self.first = os.pidfd_open(self.watched)
            self.stack.callback(os.close, self.first)
        if self.view and self.stores:
            if self.uid is not None:
                os.fchown(self.stores[0], self.uid, self.uid)
            for place, fd in zip(self.view.write, self.stores[1:]):
                writable_folders.bring_in(place, fd, self.uid)
        self.ready = True
        ours.send(b"g")
        return True

    def _read(self, fd: int) -> bool:
        """Read a part of the output. Return False if no output is available."""
        try:
            chunk = os.read(fd, 1 << 16)
        except BlockingIOError:
            return False
        view = self.limits.output_bytes - sum(map(len, self.said.values()))
        self.said[fd] += chunk[:view]
        if len(chunk) > view:
            self.ended_by = self.ended_by or "output"
            return False
        return bool(chunk)

    def _too_much(self) -> str:
        if self.stores:
            size, files = writable_folders.used(self.stores)
            if size > self.limits.store_bytes or files > self.limits.store_files:
                return "store"
        return usage(self.watched, self.limits)

    def _end(self) -> None:
        """End the command and all its processes, also after an exception."""
        process = self.process
        if process is None:
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            if self.view is None and self.ready:
                # Only the supervisor knows all processes that must end.
                until = time.monotonic() + DEATH_SECONDS
                while process.poll() is None and time.monotonic() < until:
                    if self.word is None:
                        # Kill the processes from here, too, because the supervisor may get no CPU
                        # among many processes.
                        kill_groups(process.pid)
                        process.terminate()
                    try:
                        process.wait(WATCH_SECONDS)
                    except subprocess.TimeoutExpired:
                        pass
            if process.poll() is None:
                # When bubblewrap ends, the sandbox's first process ends, and so do all others.
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if self.first is not None:
                try:
                    signal.pidfd_send_signal(self.first, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    pass
                gone = poll()
                gone.register(self.first, POLLIN)
                gone.poll(DEATH_SECONDS * 1000)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _ended(self, command: list[str]) -> CommandResult:
        message = [bytes(text) for text in self.said.values()]
        if not self.ready and not self.ended_by:
            lines = decoded(b"\n".join(message)).strip().splitlines()
            raise SetUpError(lines[-1] if lines else "bubblewrap ended without a message")
        status, left, error = self.word or (-1, 0, 0)
        if error:
            raise LabError(f"{command[0]}: {os.strerror(error)}", "run make doctor")
        ended_as: int | None = None
        if not self.ended_by:
            # If there is no last message, the supervisor was killed, probably by the command.
            ended_as = -signal.SIGKILL if status == -1 else os.waitstatus_to_exitcode(status)
            self.ended_by = ended_by_signal(ended_as)
            if ended_as and not self.ended_by and oom_kills() > self.oom_kills:
                # The victim may be a compiler that make started, which make's status does not show.
                raise ProgramKilled
        if self.stores and self.view and not self.ended_by:
            self._bring_home(self.view)
        if self.ended_by:
            ended_as = None
        if self.ended_by in ("time", "cpu"):
            time_limits.note()
        errors = message[1] if len(message) > 1 else b""
        return CommandResult(ended_as, message[0], errors, self.ended_by, left, self.limits)

    def _bring_home(self, view: SandboxView) -> None:
        size, files = writable_folders.used(self.stores)
        if size > self.limits.store_bytes or files > self.limits.store_files:
            self.ended_by = "store"
            return
        for place, fd in zip(view.write, self.stores[1:]):
            try:
                writable_folders.bring_home(
                    fd, place, self.limits.store_bytes, self.limits.store_files
                )
            except writable_folders.OutputTooLarge:
                self.ended_by = "store"
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                raise full_disk(place, "LAB_BUILD") from error


def _release() -> tuple[int, ...]:
    return tuple(int(word) for word in os.uname().release.split("-")[0].split(".")[:2])
