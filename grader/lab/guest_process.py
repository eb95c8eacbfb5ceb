# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run a guest as a process of this computer: the common part of machines uml and qemu."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from grader import sandbox
from grader.base import parent_death, scratch
from grader.base.errors import LabError, MachineError, MachineKilled
from grader.base.printable import decoded
from grader.lab import initramfs
from grader.lab.guest_channel import GuestChannel
from grader.lab.machines import Contents
from grader.sandbox import SandboxView

# The boot time in seconds on the computer for which the time-outs were chosen.
NOMINAL_BOOT = 0.5
BOOT_TIMEOUT = 120.0
# From linux/prctl.h.
PR_SET_PTRACER = 0x59616D61
PR_SET_PTRACER_ANY = -1

# The serial lines of a machine: the channel for commands, and a shell on machines that stay up.
LINES = ("channel", "shell")


class RunDelay:
    """The time for which the threads of a process group were ready but had no processor."""

    def __init__(self, group: int) -> None:
        self._group = group
        self._seconds: dict[str, float] = {}

    def increase(self) -> float:
        """Return the longest wait of a thread for a CPU since the last call, in seconds.

        Return 0 on a kernel without these statistics: see Documentation/scheduler/sched-stats.rst.
        """
        before, self._seconds = self._seconds, {}
        for process in scratch.group_members(self._group):
            with suppress(OSError):  # the process has ended
                for thread in (process / "task").iterdir():
                    with suppress(OSError, IndexError, ValueError):  # the thread has ended
                        text = (thread / "schedstat").read_text()
                        self._seconds[thread.name] = int(text.split()[1]) / 1e9
        return max((now - before.get(name, now) for name, now in self._seconds.items()), default=0)


class GuestProcess:
    """A guest that runs as a process of this computer and has its own folder for files."""

    def __init__(
        self,
        folder: Path,
        pid: int,
        boot_seconds: float,
        ours: bool,
        guard: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.folder = folder
        self.pid = pid
        self.boot_seconds = boot_seconds
        self._ours = ours
        self._guard = guard
        self._stopped = False
        self._status = 0
        self.supervisor: socket.socket | None = None  # None if not confined
        self.channel = GuestChannel(
            folder / "channel.in", folder / "channel.out", self.alive, RunDelay(pid).increase
        )

    @property
    def speed_factor(self) -> float:
        """The boot time relative to NOMINAL_BOOT, at least 1."""
        return max(1.0, self.boot_seconds / NOMINAL_BOOT)

    def console(self) -> str:
        """Return the kernel messages so far."""
        return console_text((self.folder / "console.log").read_bytes())

    def alive(self) -> bool:
        """Return whether the process exists and is no zombie."""
        if self._stopped:
            return False
        if self._ours:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid:
                self._status = status
            return not pid
        return process_is(self.pid, self.folder)

    def owner_as_made(self, uid: int, gid: int) -> tuple[int, int]:
        """Return uid and gid unchanged, because a guest keeps the owner of its nodes."""
        return uid, gid

    def killed(self) -> bool:
        """Return whether SIGKILL ended the process, usually because the host was out of memory."""
        status = self._status
        if self.supervisor and os.WIFEXITED(status):
            status = sandbox.wait_status(self.supervisor) or 0
        return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def stop(self) -> None:
        """Kill the process and its whole process group, and remove its files."""
        if not self._stopped:
            self._stopped = True
            scratch.kill_group(self.pid)
            if self._ours:
                try:
                    os.waitpid(self.pid, 0)
                except ChildProcessError:
                    pass
            self.channel.close()
            if self.supervisor:
                self.supervisor.close()
            if self._guard:
                _dismiss(self._guard)
        scratch.remove(self.folder)


def why_stopped(pid: int) -> str:
    """Return why a process is stopped and how to continue it; "" if it is not stopped."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        state, tracer = fields["State"][0], int(fields["TracerPid"])
        if state not in "tT":
            return ""
        if not tracer:
            return f"by a signal, as gdb may leave it; kill -CONT {pid} continues it"
        name = Path(f"/proc/{tracer}/comm").read_text().strip()
    except (OSError, ValueError, KeyError):
        return ""
    return f"by {name}, process {tracer}, which is attached to it; continue or quit there"


def console_text(content: bytes) -> str:
    """Return the printable text of a console, without carriage returns."""
    return decoded(content.replace(b"\r", b""))


def process_is(pid: int, folder: Path) -> bool:
    """Return whether pid is the running machine of folder and not a process that reuses its pid."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, IndexError):
        return False
    return state not in "ZX" and os.fsencode(str(folder)) in command


# Loaded at import, because loading between fork and exec is unsafe if other threads run.
_LIBC = ctypes.CDLL(None)

# A shell script that waits for the end of this process, even by SIGKILL. It then kills the process
# group of a machine and removes the machine's files. The parent-death signal alone is not enough,
# because only the first process of the machine gets that signal. A process that user-mode Linux has
# just forked asks its parent to trace it. If that parent has ended, init is the parent, and the
# process stops for ever. The script kills several times, because some host kernels miss a process
# that is being forked.
GUARD = """\
read -r _
for _ in 1 2 3 4 5 6 7 8; do kill -KILL -- "-$1" || break; sleep 0.1; done
rm -rf -- "$2"
"""


def _killed_with_us() -> None:
    scratch.let_signals_in()
    parent_death.set_parent_death_signal(signal.SIGKILL)


def _may_be_traced() -> None:
    scratch.let_signals_in()
    # Let gdb (`make gdb`) attach without root, even if Yama allows only a parent process to trace.
    _LIBC.prctl(PR_SET_PTRACER, ctypes.c_ulong(PR_SET_PTRACER_ANY))


# A function that returns a machine's command line, given its folder and its open files by name.
Command = Callable[[Path, dict[str, int]], Sequence[str]]


@dataclass(frozen=True)
class Surroundings:
    """The environment, the inherited files and the sandbox of a machine's process."""

    environment: dict[str, str] | None = None  # None for our own environment.
    inherited_files: Mapping[str, int] = field(default_factory=dict)  # Further files, by name.
    # A function that returns the sandbox view for a machine's folder; None: no sandbox.
    view: Callable[[Path], SandboxView] | None = None


def start(
    contents: Contents,
    command: Command,
    around: Surroundings = Surroundings(),  # noqa: B008 - it is frozen
    folder: Path | None = None,
) -> GuestProcess:
    """Boot a guest and wait until its agent answers.

    Without a folder the guest ends with this process; with a folder it outlives this process.
    """
    return begin(
        lambda place: initramfs.make(place / "initramfs", contents.files),
        command,
        lambda guest: guest.channel.wait_ready(BOOT_TIMEOUT),
        around,
        folder,
    )


def begin(
    files: Callable[[Path], None],
    command: Command,
    up: Callable[[GuestProcess], None],
    around: Surroundings = Surroundings(),  # noqa: B008 - it is frozen
    folder: Path | None = None,
) -> GuestProcess:
    """Start a guest like start().

    files: a function that writes the files named in the command line. up: a function that waits
    until the guest accepts commands.
    """
    stays = folder is not None
    if folder is None:
        folder = scratch.folder()
    else:
        folder.mkdir(parents=True)
    pid = 0
    guest: GuestProcess | None = None
    begin = time.monotonic()
    try:
        files(folder)
        for line in LINES:
            for end in ("in", "out"):
                os.mkfifo(folder / f"{line}.{end}", 0o600)
        begin = time.monotonic()
        with scratch.before_removal():
            pid, supervisor = _spawn(folder, command, around, stays)
            guard = None if stays else _watch(pid, folder)
        guest = GuestProcess(folder, pid, 0.0, True, guard)
        guest.supervisor = supervisor
        up(guest)
    except MachineError as error:
        killed = guest is not None and not guest.alive() and guest.killed()
        scratch.kill_group(pid)
        console = console_text((folder / "console.log").read_bytes()).strip().splitlines()
        shutil.rmtree(folder, ignore_errors=True)
        if killed:
            raise MachineKilled from error
        # Report the panic message, because the lines after it show only the stack.
        panics = [line for line in console if "Kernel panic" in line]
        message = (panics or console[-1:] or ["the machine printed nothing"])[0]
        raise LabError(
            f"the machine did not come up ({error}): {message}", "run make doctor"
        ) from error
    except BaseException:
        if stays:  # remove_all must not stop a machine that stays up
            scratch.kill_those_in(folder)
            shutil.rmtree(folder, ignore_errors=True)
        raise
    guest.boot_seconds = time.monotonic() - begin
    state = {"pid": pid, "boot_seconds": guest.boot_seconds}
    (folder / "state.json").write_text(json.dumps(state))
    return guest


def _watch(pid: int, folder: Path) -> subprocess.Popen[bytes]:
    """Start the guard, which ends a machine and removes its folder when this process has ended."""
    return subprocess.Popen(
        ["sh", "-c", GUARD, "sh", str(pid), str(folder)],
        stdin=subprocess.PIPE,  # closed when this process, the only writer, ends
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=scratch.let_signals_in,  # noqa: PLW1509
    )


def _dismiss(guard: subprocess.Popen[bytes]) -> None:
    """Let the guard kill the machine and remove its files now, and wait for the guard."""
    if guard.stdin:
        guard.stdin.close()
    guard.wait()


def _spawn(
    folder: Path, command: Command, around: Surroundings, stays: bool
) -> tuple[int, socket.socket | None]:
    """Start the machine's process in its own session, with its FIFOs open.

    Return its process group, and the socket to its supervisor if the machine is confined.
    """
    fds = {
        f"{line}.{end}": os.open(folder / f"{line}.{end}", os.O_RDWR)
        for line in LINES
        for end in ("in", "out")
    }
    given = {**fds, **around.inherited_files}
    words, inherited = command(folder, given), list(given.values())
    environment, supervisor = around.environment, None
    with ExitStack() as stack:
        if around.view:
            inside = sandbox.confined_command(words, sandbox.MACHINE, around.view(folder))
            confined = stack.enter_context(inside)
            words, environment = confined.command, confined.environment
            supervisor = confined.supervisor
            inherited += confined.fds
        console = stack.enter_context((folder / "console.log").open("wb"))
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
            pass_fds=inherited,
            preexec_fn=_may_be_traced if stays else _killed_with_us,  # noqa: PLW1509
        )
    for fd in fds.values():
        os.close(fd)
    # GuestProcess waits for the pid. Set the status, because otherwise the Popen object would warn
    # at exit about a machine that stays up.
    process.returncode = 0
    return process.pid, supervisor


def attach(folder: Path) -> GuestProcess | None:
    """Return the machine that stays up in folder. If it has ended, remove folder, return None."""
    try:
        state = json.loads((folder / "state.json").read_text())
        pid, seconds = int(state["pid"]), float(state["boot_seconds"])
    except (OSError, ValueError, KeyError):
        return None
    if not process_is(pid, folder):
        shutil.rmtree(folder, ignore_errors=True)
        return None
    return GuestProcess(folder, pid, seconds, ours=False)
