# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What uml and qemu share: one process, one initramfs, the channel over two FIFOs."""

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
from contextlib import ExitStack
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

# Seconds from start to ready on the machine the time-outs were chosen on.
NOMINAL_BOOT = 0.5
BOOT_TIMEOUT = 120.0
# From linux/prctl.h.
PR_SET_PTRACER = 0x59616D61
PR_SET_PTRACER_ANY = -1

# A machine's lines: results, and a shell on machines that stay.
LINES = ("channel", "shell")


class GuestProcess:
    """A guest that runs as a process of this computer, its files in a folder of its own."""

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
        self.supervisor: socket.socket | None = None  # of a machine that is confined
        self.channel = GuestChannel(folder / "channel.in", folder / "channel.out", self.alive)

    @property
    def speed_factor(self) -> float:
        """How many times slower than the lab machine it came up."""
        return max(1.0, self.boot_seconds / NOMINAL_BOOT)

    def console(self) -> str:
        """The kernel's messages so far."""
        return console_text((self.folder / "console.log").read_bytes())

    def alive(self) -> bool:
        """Whether the process is there and no zombie."""
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
        """The same: nobody has given it away."""
        return uid, gid

    def killed(self) -> bool:
        """Whether somebody has killed it: a kernel that runs out of memory, most often."""
        status = self._status
        if self.supervisor and os.WIFEXITED(status):
            status = sandbox.wait_status(self.supervisor) or 0
        return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def stop(self) -> None:
        """Kill the process and all that it started; remove its files."""
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
    """Return what keeps a process from running, and what to do; "" if nothing stops it."""
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
    """Return a console's text, printable, without the carriage returns of a terminal."""
    return decoded(content.replace(b"\r", b""))


def process_is(pid: int, folder: Path) -> bool:
    """Whether pid is the live machine that belongs to folder: pids are used again."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, IndexError):
        return False
    return state not in "ZX" and os.fsencode(str(folder)) in command


# Loaded now: between fork and exec, with other threads about, is no time for it.
_LIBC = ctypes.CDLL(None)

# What waits for the end of this process, be it by SIGKILL, to end a machine's whole group and to
# remove its files. The signal at the parent's death reaches the machine's first process alone: one
# that user-mode Linux has just forked asks to be traced by its parent, and when that is init by
# then, it stands still for ever. More than once: not every host's kernel kills what is just forked.
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
    # So that make gdb needs no root where Yama lets only parents trace.
    _LIBC.prctl(PR_SET_PTRACER, ctypes.c_ulong(PR_SET_PTRACER_ANY))


# From a machine's folder and its open files by name (FIFOs, and what is given): its command line.
Command = Callable[[Path, dict[str, int]], Sequence[str]]


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of a machine's process: everything that it inherits, and the sandbox."""

    environment: dict[str, str] | None = None  # ours, if none is given
    inherited_files: Mapping[str, int] = field(
        default_factory=dict
    )  # further files that it inherits
    # What it sees if it is confined, from its folder.
    view: Callable[[Path], SandboxView] | None = None


def start(
    contents: Contents,
    command: Command,
    around: Surroundings = Surroundings(),  # noqa: B008 - it is frozen
    folder: Path | None = None,
) -> GuestProcess:
    """Boot a guest and wait until its agent answers.

    Without a folder it is this process's own and dies with it; with one it stays.
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
    """As start: files writes what the command line takes, up waits until the guest can be asked."""
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
        # A panic says why; what comes after is the way that led to it.
        panics = [line for line in console if "Kernel panic" in line]
        said = (panics or console[-1:] or ["it said nothing"])[0]
        raise LabError(f"the machine did not come up ({error}): {said}") from error
    except BaseException:
        if stays:  # nobody else would
            scratch.kill_those_in(folder)
            shutil.rmtree(folder, ignore_errors=True)
        raise
    guest.boot_seconds = time.monotonic() - begin
    state = {"pid": pid, "boot_seconds": guest.boot_seconds}
    (folder / "state.json").write_text(json.dumps(state))
    return guest


def _watch(pid: int, folder: Path) -> subprocess.Popen[bytes]:
    """Have a machine ended, and its folder removed, when this process is no more."""
    return subprocess.Popen(
        ["sh", "-c", GUARD, "sh", str(pid), str(folder)],
        stdin=subprocess.PIPE,  # which nobody else holds: its end is ours
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=scratch.let_signals_in,  # noqa: PLW1509
    )


def _dismiss(guard: subprocess.Popen[bytes]) -> None:
    """Have it do its work now: as a rule there is nothing left to kill."""
    if guard.stdin:
        guard.stdin.close()
    guard.wait()


def _spawn(
    folder: Path, command: Command, around: Surroundings, stays: bool
) -> tuple[int, socket.socket | None]:
    """Start the machine's process, in a session of its own, with its FIFOs open.

    Return its process group, and the line to its supervisor if it is confined.
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
    # Waited for by number: the object would complain at exit about a machine that stays.
    process.returncode = 0
    return process.pid, supervisor


def attach(folder: Path) -> GuestProcess | None:
    """The machine that stays in folder; None, and the folder cleaned, when it is gone."""
    try:
        state = json.loads((folder / "state.json").read_text())
        pid, seconds = int(state["pid"]), float(state["boot_seconds"])
    except (OSError, ValueError, KeyError):
        return None
    if not process_is(pid, folder):
        shutil.rmtree(folder, ignore_errors=True)
        return None
    return GuestProcess(folder, pid, seconds, ours=False)
