# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The machine that stays up after the command that started it: at most one a checkout."""

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

# Seconds that a command may take which nobody waits for, where the machine boots in half a second.
CALL_TIMEOUT = 30.0
# Somebody waits for these, and can press Ctrl-C.
PATIENCE = 24 * 3600.0
# After this many seconds without an answer a stopped machine, or a busy one, is worth a word.
SILENCE = 10.0
LEAVE = b"\x1d"  # Ctrl-]


def folder(machine: str) -> Path:
    """Where that machine keeps its files while it is up."""
    tag = hashlib.sha256(str(paths.ROOT).encode()).hexdigest()[:10]
    return scratch.base() / f"lab-{tag}-{machine}"


def last_log() -> Path:
    """The kernel log of the last machine that was up."""
    return paths.BUILD / "last-dmesg.txt"


def _last_end() -> Path:
    """What its end may have been, where the log does not say so."""
    return paths.BUILD / "last-end.txt"


def _module_in(place: Path) -> Module | None:
    """The module that was loaded last on the machine of that folder."""
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
    """Write down which module is loaded there, for when the machine has ended."""
    fields = ("name", "directory", "warnings", "own", "support")
    known = {field: getattr(module, field) for field in fields}
    (place / "module.json").write_text(json.dumps(known, default=str))


@dataclass(frozen=True)
class _LastWords:
    """What a machine has said, and which module it had: read before its folder goes."""

    console: bytes | None
    module: Module | None

    def keep(self, died: bool = True) -> None:
        """Keep them for make dmesg."""
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
    """That machine, if it is up."""
    place = folder(machine)
    words = _words(place)  # of one that has ended attach removes them
    running = machines.get(machine).attach(place)
    if running is None:
        words.keep()
        shutil.rmtree(place, ignore_errors=True)
    if isinstance(running, GuestProcess):
        running.channel.silent = _StoppedNotice(running.pid).silent
    return running


@dataclass
class _StoppedNotice:
    """Tell once that a machine's process is stopped, while a command waits for its answer."""

    pid: int
    shown: bool = False

    def silent(self, seconds: float) -> None:
        """Look at the process after some seconds of silence."""
        why = "" if self.shown or seconds < SILENCE else why_stopped(self.pid)
        if why:
            self.shown = True
            said = f"note: the machine's kernel is stopped {why}; make unload ends the machine"
            print(said, file=sys.stderr, flush=True)


def find(begin: str) -> tuple[str, Running]:
    """The machine that is up, and its name; begin is the command that would start one."""
    for name in machines.MACHINES:
        crashed = (folder(name) / "state.json").exists()
        running = attach(name)
        if running is not None:
            return name, running
        if crashed:
            raise LabError("the machine has ended by itself: make dmesg shows its last words")
    raise LabError(f"no machine is up: {begin} starts one")


def _take(lock: int, machine: str) -> None:
    """Wait for the lock of a machine; say so where that takes long."""
    begin, told = time.monotonic(), False
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            scratch.check_stopped()
        if not told and time.monotonic() - begin > SILENCE:
            told = True
            said = f"note: waiting, another command uses machine {machine}; make unload ends it"
            print(said, file=sys.stderr, flush=True)
        time.sleep(0.05)


@contextmanager
def alone(machine: str) -> Iterator[None]:
    """One at a time on the channel."""
    path = scratch.base() / f"{folder(machine).name}.lock"
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _take(lock, machine)
        yield
    finally:
        os.close(lock)


def start(machine: Machine, contents: Contents) -> Running:
    """That machine, up: the one that is, or a new one; another one ends. To be called alone."""
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
    """Load a module, put to path on that machine, in the place of an older one of its name.

    what is loaded, in a word or two, for the error line.
    """
    channel = running.channel
    timeout = CALL_TIMEOUT * running.speed_factor
    try:
        if channel.run(f"test -d /sys/module/{module.name}", timeout).status == 0:
            result = channel.run(f"rmmod {module.name} 2>&1", timeout)
            if result.status:
                raise LabError(
                    f"{what} that is loaded cannot be unloaded ({result.output.strip()}):"
                    " close what uses it, or make unload"
                )
        _note_module(folder(machine), module)
        channel.put(path, module.stripped.read_bytes(), timeout)
        result = channel.run(f"insmod {path} 2>&1", timeout)
    except MachineError as error:
        finding = kernel_log.crash(running.console(), module)
        raise LabError(f"loading ended the machine ({error}): {finding.cause}") from error
    if result.status:
        raise LabError(f"insmod: {result.output.strip()}; make dmesg may say more")


def sections(running: Running, module: str) -> dict[str, str]:
    """Where the sections of a loaded module are in memory, by name."""
    # All of them: gdb takes one that it is not given for a part of .text.
    command = f"cd /sys/module/{module}/sections && grep . .[a-z]*"
    result = running.channel.run(command, CALL_TIMEOUT)
    lines = result.output.splitlines() if result.status == 0 else []
    return dict(line.split(":", 1) for line in lines)


def end_all() -> list[str]:
    """End every machine of this checkout that stays up; their names."""
    down = []
    for name in machines.MACHINES:
        running = attach(name)
        if running is not None:
            _words(folder(name)).keep(died=False)
            running.stop()
            down.append(name)
    return down


def run(command: str, begin: str) -> int:
    """Run a shell command on the machine that is up, its output to ours; its exit status."""
    name, running = find(begin)
    try:
        with alone(name):
            result = running.channel.run(command, PATIENCE)
    except KeyboardInterrupt:
        running.channel.kill_command()
        raise
    except MachineError as error:
        _words(folder(name)).keep(died=not running.alive())
        raise LabError(f"{error}: make dmesg shows its last words") from error
    sys.stdout.write(result.output)
    return result.status


def shell(begin: str) -> int:
    """A shell on the machine: interactive, or a script from standard input."""
    name, running = find(begin)
    if not sys.stdin.isatty():
        script = sys.stdin.buffer.read()
        with alone(name):
            running.channel.put("/tmp/script", script, CALL_TIMEOUT * running.speed_factor)
        return run(". /etc/profile >/dev/null; . /tmp/script", begin)
    if name == "host":
        raise LabError("machine host is this computer: use your own shell")
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
        raise LabError("the machine has ended: make dmesg shows its last words")
    return 0


def _relay(running: Running, to_shell: int, from_shell: int) -> None:
    """Between our terminal and the shell's, until Ctrl-] or the machine's end."""
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
        raise LabError(f"no machine is up and none has been: {begin} starts one")
    print(f"(the last machine's; it is down, {paths.shown(last_log())})", file=sys.stderr)
    sys.stdout.write(console_text(last_log().read_bytes()))
    sys.stdout.flush()
    if _last_end().is_file():
        sys.stderr.write(_last_end().read_text(errors="replace"))
    return 0
