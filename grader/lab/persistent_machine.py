# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Manage the machine that stays up between commands; a checkout has at most one."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import select
import shutil
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.base import paths, scratch
from grader.base.errors import LabError, MachineError
from grader.lab import kernel_log, machines
from grader.lab.guest_process import GuestProcess, console_text, why_stopped
from grader.lab.machines import Contents, Machine, Running
from grader.lab.module import Module

# Time limit in seconds of an internal command on a machine that boots in half a second.
CALL_TIMEOUT = 30.0
# Time limit in seconds of a user's command. It is long because the user can press Ctrl-C.
PATIENCE = 24 * 3600.0
# Seconds without an answer after which a note reports a stopped or busy machine.
SILENCE = 10.0
LEAVE = b"\x1d"  # Ctrl-]


def folder(machine: str) -> Path:
    """Return the folder in which a machine keeps its files while it is up."""
    tag = hashlib.sha256(str(paths.ROOT).encode()).hexdigest()[:10]
    return scratch.base() / f"lab-{tag}-{machine}"


def last_log() -> Path:
    """Return the file for the kernel log of the last machine."""
    return paths.BUILD / "last-dmesg.txt"


def _last_end() -> Path:
    """Return the file for the probable cause of the last machine's end, if the log lacks it."""
    return paths.BUILD / "last-end.txt"


def _module_in(place: Path) -> Module | None:
    """Return the module that was loaded last on the machine of that folder, or None."""
    try:
        known = json.loads((place / "module.json").read_text())
        return Module(
            known["name"],
            Path(known["directory"]),
            warnings=tuple(known["warnings"]),
            own=tuple(known["own"]),
            support=tuple(known["support"]),
        )
    except (OSError, ValueError, KeyError):
        return None


def _note_module(place: Path, module: Module) -> None:
    """Record the loaded module, to explain the kernel log after the machine has ended."""
    fields = ("name", "directory", "warnings", "own", "support")
    known = {field: getattr(module, field) for field in fields}
    (place / "module.json").write_text(json.dumps(known, default=str))


@dataclass(frozen=True)
class _LastWords:
    """A machine's console and module, read before the machine's folder is removed."""

    console: bytes | None
    module: Module | None

    def keep(self, died: bool = True) -> None:
        """Save the console for make dmesg. died: whether the machine ended by itself."""
        if self.console is None:
            return
        last_log().parent.mkdir(parents=True, exist_ok=True)
        last_log().write_bytes(self.console)
        text = console_text(self.console)
        large = kernel_log.stack(text, self.module) if died and self.module else ""
        _last_end().write_text(f"(it may be the stack: {large})\n" if large else "")


def _words(place: Path) -> _LastWords:
    console = place / "console.log"
    return _LastWords(console.read_bytes() if console.is_file() else None, _module_in(place))


def attach(machine: str) -> Running | None:
    """Return this machine if it is up. Otherwise save its log, remove its files, return None."""
    place = folder(machine)
    words = _words(place)  # read now, because attach removes an ended machine's files
    running = machines.get(machine).attach(place)
    if running is None:
        words.keep()
        shutil.rmtree(place, ignore_errors=True)
    if isinstance(running, GuestProcess):
        running.channel.silent = _StoppedNotice(running.pid).silent
    return running


@dataclass
class _StoppedNotice:
    """A note, printed once, that a machine is stopped while a command waits for its answer."""

    pid: int
    shown: bool = False

    def silent(self, seconds: float) -> None:
        """Print the note if the machine is stopped and has sent nothing for SILENCE seconds."""
        why = "" if self.shown or seconds < SILENCE else why_stopped(self.pid)
        if why:
            self.shown = True
            message = f"note: the machine's kernel is stopped {why}; make unload ends the machine"
            print(message, file=sys.stderr, flush=True)


def find(begin: str) -> tuple[str, Running]:
    """Return the name of the machine that is up, and the machine.

    Raise LabError if no machine is up. begin: the command that starts a machine, for the error
    message.
    """
    for name in machines.MACHINES:
        crashed = (folder(name) / "state.json").exists()
        running = attach(name)
        if running is not None:
            return name, running
        if crashed:
            raise LabError(
                "the machine has ended by itself", "run make dmesg to see its last messages"
            )
    raise LabError("no machine is up", f"run {begin}")


def _take(lock: int, machine: str) -> None:
    """Wait for the lock of a machine; print a note if that takes long."""
    begin, told = time.monotonic(), False
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            scratch.check_stopped()
        if not told and time.monotonic() - begin > SILENCE:
            told = True
            message = f"note: waiting, another command uses machine {machine}; make unload ends it"
            print(message, file=sys.stderr, flush=True)
        time.sleep(0.05)


@contextmanager
def alone(machine: str) -> Iterator[None]:
    """Hold the lock of a machine, because only one command may use its channel at a time."""
    path = scratch.base() / f"{folder(machine).name}.lock"
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _take(lock, machine)
        yield
    finally:
        os.close(lock)


def start(machine: Machine, contents: Contents) -> Running:
    """Return the named machine if it is up, or start it. Stop all other machines.

    The caller must hold the lock: see alone().
    """
    for other in machines.MACHINES:
        running = attach(other) if other != machine.name else None
        if running is not None:
            running.stop()
            print(f"machine {other} is down")
    running = attach(machine.name)
    if running is None:
        running = machine.boot_to_stay(contents, folder(machine.name))
        scratch.let_stay(folder(machine.name))
        print(f"machine {machine.name} is up (kernel {machine.kernel().release})")
    return running


def swap(machine: str, running: Running, module: Module, what: str, path: str) -> None:
    """Copy a module to path on the machine and load it; unload an older one of the same name first.

    Raise LabError if that fails. what: a short name of the module for the error message.
    """
    channel = running.channel
    timeout = CALL_TIMEOUT * running.speed_factor
    try:
        if channel.run(f"test -d /sys/module/{module.name}", timeout).status == 0:
            result = channel.run(f"rmmod {module.name} 2>&1", timeout)
            if result.status:
                raise LabError(
                    f"{what} is loaded and cannot be unloaded ({result.output.strip()})",
                    "close the files that keep it in use, or run make unload",
                )
        _note_module(folder(machine), module)
        channel.put(path, module.stripped.read_bytes(), timeout)
        result = channel.run(f"insmod {path} 2>&1", timeout)
    except MachineError as error:
        finding = kernel_log.crash(running.console(), module)
        raise LabError(
            f"the machine crashed during insmod ({error}): {finding.cause}", "correct the source"
        ) from error
    if result.status:
        raise LabError(f"insmod: {result.output.strip()}", "run make dmesg, which may say more")


def sections(running: Running, module: str) -> dict[str, str]:
    """Return the addresses of the sections of a loaded module, by name."""
    # List every section, because gdb would assume that a missing section is a part of .text.
    command = f"cd /sys/module/{module}/sections && grep . .[a-z]*"
    result = running.channel.run(command, CALL_TIMEOUT)
    lines = result.output.splitlines() if result.status == 0 else []
    return dict(line.split(":", 1) for line in lines)


def end_all() -> list[str]:
    """Stop every machine of this checkout that stays up. Return their names."""
    down = []
    for name in machines.MACHINES:
        running = attach(name)
        if running is not None:
            _words(folder(name)).keep(died=False)
            running.stop()
            down.append(name)
    return down


def run(command: str, begin: str) -> int:
    """Run a shell command on the machine that is up. Print its output, return its exit status."""
    name, running = find(begin)
    try:
        with alone(name):
            result = running.channel.run(command, PATIENCE)
    except KeyboardInterrupt:
        running.channel.kill_command()
        raise
    except MachineError as error:
        _words(folder(name)).keep(died=not running.alive())
        raise LabError(str(error), "run make dmesg to see its last messages") from error
    sys.stdout.write(result.output)
    return result.status


def shell(begin: str) -> int:
    """Run an interactive shell on the machine, or else a script from standard input."""
    name, running = find(begin)
    if not sys.stdin.isatty():
        script = sys.stdin.buffer.read()
        with alone(name):
            running.channel.put("/tmp/script", script, CALL_TIMEOUT * running.speed_factor)
        return run(". /etc/profile >/dev/null; . /tmp/script", begin)
    if name == "host":
        raise LabError(
            "machine=host is this computer, so it has no shell of its own", "use your own shell"
        )
    place = folder(name)
    to_shell = os.open(place / "shell.in", os.O_RDWR | os.O_CLOEXEC)
    from_shell = os.open(place / "shell.out", os.O_RDWR | os.O_CLOEXEC)
    size = shutil.get_terminal_size()
    print("Ctrl-] leaves the shell; the machine stays up.")
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin)
        os.write(to_shell, f"\x15stty rows {size.lines} cols {size.columns}\n".encode())
        _relay(running, to_shell, from_shell)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        print()
    if not running.alive():
        raise LabError("the machine has ended", "run make dmesg to see its last messages")
    return 0


def _relay(running: Running, to_shell: int, from_shell: int) -> None:
    """Copy bytes between our terminal and the shell until Ctrl-] or the end of the machine."""
    while True:
        ready, _, _ = select.select([sys.stdin, from_shell], [], [], 0.5)
        if from_shell in ready:
            os.write(sys.stdout.fileno(), os.read(from_shell, 65536))
        if sys.stdin in ready:
            typed = os.read(sys.stdin.fileno(), 1024)
            if not typed or LEAVE in typed:
                return
            os.write(to_shell, typed)
        if not ready and not running.alive():
            return


def dmesg(begin: str) -> int:
    """Print the kernel log of the machine that is up, or of the last one."""
    if any(attach(name) is not None for name in machines.MACHINES):
        return run("dmesg", begin)
    if not last_log().is_file():
        raise LabError("no machine is up, and no earlier machine has left a log", f"run {begin}")
    print(f"(log of the last machine, which has ended: {paths.shown(last_log())})", file=sys.stderr)
    sys.stdout.write(console_text(last_log().read_bytes()))
    sys.stdout.flush()
    if _last_end().is_file():
        sys.stderr.write(_last_end().read_text(errors="replace"))
    return 0
