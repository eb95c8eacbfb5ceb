# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The machine that stays up: what make load, unload, fib, shell, dmesg and gdb do."""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.base import command, paths, scratch
from grader.base.errors import LabError, MachineError
from grader.course import learner_copy
from grader.lab import kernel_log, machines
from grader.lab.machines import Machine, Running
from grader.stage import build, stages

CALL_TIMEOUT = 30.0
# Somebody waits for these, and can press Ctrl-C.
PATIENCE = 24 * 3600.0
LEAVE = b"\x1d"  # Ctrl-]


def _folder(machine: str) -> Path:
    tag = hashlib.sha256(str(paths.ROOT).encode()).hexdigest()[:10]
    return scratch.base() / f"lab-{tag}-{machine}"


def _last_log() -> Path:
    return paths.BUILD / "last-dmesg.txt"


def _keep_log(folder: Path) -> None:
    """Keep what a machine said before its folder goes."""
    console = folder / "console.log"
    if console.is_file():
        _last_log().parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(console, _last_log())


def _attach(machine: str) -> Running | None:
    folder = _folder(machine)
    running = machines.get(machine).attach(folder)
    if running is None and folder.exists():
        _keep_log(folder)
        shutil.rmtree(folder, ignore_errors=True)
    return running


def _up() -> tuple[str, Running]:
    """The machine that is up; there is at most one a checkout."""
    for name in machines.MACHINES:
        crashed = (_folder(name) / "state.json").exists()
        running = _attach(name)
        if running is not None:
            return name, running
        if crashed:
            raise LabError("the machine has ended by itself: make dmesg shows its last words")
    raise LabError("no machine is up: make stage=1 load starts one")


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """One at a time on the wire."""
    lock = os.open(scratch.base() / f"{_folder(name).name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _built(stage: stages.Stage, machine: Machine) -> build.Built:
    built = build.build(stage, machine.kernel())
    for breach in built.breaches:
        print(f"note: {breach.got}; stage.h allows {breach.expected}", file=sys.stderr)
    if not built.ok:
        raise LabError(f"stage {stage.number} does not compile: {built.cause}")
    return built


def make(number: str, machine_name: str) -> None:
    """Build a stage's module."""
    built = _built(learner_copy.choose_one(number, "build"), machines.get(machine_name))
    print(f"built {paths.shown(built.module)}")


def load(number: str, machine_name: str) -> None:
    """Load a stage on the machine that stays up; start it, or swap the stage."""
    machine = machines.get(machine_name)
    stage = learner_copy.choose_one(number, "load")
    built = _built(stage, machine)
    with _alone(machine.name):
        for other in machines.MACHINES:
            running = _attach(other) if other != machine.name else None
            if running is not None:
                running.stop()
                print(f"machine {other} is down")
        running = _attach(machine.name)
        if running is None:
            running = machine.boot_to_stay({}, _folder(machine.name))
            scratch.let_stay(_folder(machine.name))
            print(f"machine {machine.name} is up (kernel {machine.kernel().release})")
        _swap(running, built)
    (_folder(machine.name) / "loaded.json").write_text(
        json.dumps({"number": stage.number, "name": stage.key, "module": str(built.module)})
    )
    print(
        f"stage {stage.number} ({stage.manifest.name}) is loaded: /dev/fibonacci serves"
        f" F(0) to F({stage.manifest.max_n:,}); try make fib n=10"
    )


def _swap(running: Running, built: build.Built) -> None:
    wire = running.wire
    timeout = CALL_TIMEOUT * running.speed_factor
    try:
        if wire.run("test -d /sys/module/fibdrv", timeout).status == 0:
            done = wire.run("rmmod fibdrv 2>&1", timeout)
            if done.status:
                raise LabError(
                    f"the stage that is loaded cannot be unloaded ({done.output.strip()}):"
                    " close what has /dev/fibonacci open, or make unload"
                )
        wire.put("/lib/fibdrv/fibdrv.ko", built.stripped.read_bytes(), timeout)
        done = wire.run("insmod /lib/fibdrv/fibdrv.ko 2>&1", timeout)
    except MachineError as error:
        finding = kernel_log.crash(running.console(), built.module)
        raise LabError(f"loading ended the machine ({error}): {finding.cause}") from error
    if done.status:
        raise LabError(f"insmod: {done.output.strip()}; make dmesg may say more")


def unload() -> None:
    """End every machine of this checkout that stays up."""
    down = []
    for name in machines.MACHINES:
        folder = _folder(name)
        running = _attach(name)
        if running is not None:
            _keep_log(folder)
            running.stop()
            down.append(name)
    print(f"machine {', '.join(down)} is down" if down else "no machine was up")


def _run(line: str) -> int:
    """Run a shell command on the machine that is up, its output to ours."""
    name, running = _up()
    try:
        with _alone(name):
            done = running.wire.run(line, PATIENCE)
    except KeyboardInterrupt:
        running.wire.kill_command()
        raise
    except MachineError as error:
        _keep_log(_folder(name))
        raise LabError(f"{error}: make dmesg shows its last words") from error
    sys.stdout.write(done.output)
    return done.status


def fib(numbers: str) -> int:
    """Print F(n), for one n or several."""
    words = numbers.replace(",", " ").split()
    if not words or not all(word.isdigit() for word in words):
        raise LabError("which n? say a number of 0 or more, like make fib n=93")
    return _run(f"fibctl read {' '.join(words)}")


def shell() -> int:
    """A shell on the machine: interactive, or a script from standard input."""
    if not sys.stdin.isatty():
        name, running = _up()
        script = sys.stdin.buffer.read()
        with _alone(name):
            running.wire.put("/tmp/script", script, CALL_TIMEOUT * running.speed_factor)
        return _run(". /etc/profile >/dev/null; . /tmp/script")
    name, running = _up()
    if name == "host":
        raise LabError(
            "machine host is this computer: use your own shell, and fibctl in build/guest/"
        )
    folder = _folder(name)
    to_shell = os.open(folder / "shell.in", os.O_RDWR | os.O_CLOEXEC)
    from_shell = os.open(folder / "shell.out", os.O_RDWR | os.O_CLOEXEC)
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


def dmesg() -> int:
    """Print the kernel log of the machine that is up, or of the last one."""
    for name in machines.MACHINES:
        running = _attach(name)
        if running is not None:
            return _run("dmesg")
    if not _last_log().is_file():
        raise LabError("no machine is up and none has been: make stage=1 load starts one")
    print(f"(the last machine's; it is down, {paths.shown(_last_log())})", file=sys.stderr)
    sys.stdout.write(_last_log().read_text(errors="replace"))
    return 0


def gdb(number: str, arguments: str) -> int:
    """gdb on the running lab kernel, with the loaded stage's symbols at their addresses."""
    if shutil.which("gdb") is None:
        raise LabError("there is no gdb: scripts/setup.sh user installs it")
    try:
        name, _ = _up()
        loaded = json.loads((_folder(name) / "loaded.json").read_text())
    except (LabError, OSError):
        name, loaded = "", {}
    if number and str(loaded.get("number")) != number or not loaded:
        load(number, "uml")
        name, _ = _up()
        loaded = json.loads((_folder(name) / "loaded.json").read_text())
    if name != "uml":
        raise LabError("gdb looks into machine uml only: make unload, then make stage=1 load")
    folder = _folder(name)
    running = _attach(name)
    assert running is not None
    sections = {}
    with _alone(name):
        for section in (".text", ".data", ".bss", ".rodata", ".eh_frame"):
            done = running.wire.run(f"cat /sys/module/fibdrv/sections/{section}", CALL_TIMEOUT)
            if done.status == 0:
                sections[section] = done.output.strip()
    text = sections.pop(".text", None)
    if text is None:
        raise LabError("no stage is loaded there: make stage=1 load")
    others = " ".join(f"-s {section} {address}" for section, address in sections.items())
    pid = json.loads((folder / "state.json").read_text())["pid"]
    call = ["gdb", "-q", "-nx"]
    # The lab kernel lives by these signals: they are its page faults and its interrupts.
    for name_of_signal in ("SIGSEGV", "SIGALRM", "SIGIO", "SIGUSR1", "SIGUSR2", "SIGWINCH"):
        call += ["-iex", f"handle {name_of_signal} nostop noprint pass"]
    kernel = machines.get("uml").kernel()
    call += [
        "-ex", f"add-symbol-file {loaded['module']} {text} {others}",
        "-ex", f"directory {paths.STAGES} {paths.ROOT}",
        *shlex.split(arguments),
        "-p", str(pid), str(kernel.tree.parent / "linux"),
    ]  # fmt: skip
    # Ctrl-C is gdb's while it runs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return subprocess.run(call).returncode


def main() -> int:
    """The command line the Makefile uses."""
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("verb")
    parser.add_argument("--stage", default="")
    parser.add_argument("--machine", default="")
    parser.add_argument("--n", default="")
    parser.add_argument("--args", default="")
    options = parser.parse_args()
    machine = options.machine or os.environ.get("LAB_MACHINE") or "uml"
    try:
        if options.verb in ("make", "load"):
            (make if options.verb == "make" else load)(options.stage, machine)
        elif options.verb == "unload":
            unload()
        elif options.verb == "fib":
            return fib(options.n)
        elif options.verb == "shell":
            return shell()
        elif options.verb == "dmesg":
            return dmesg()
        elif options.verb == "gdb":
            return gdb(options.stage, options.args)
        else:
            parser.error(f"no verb {options.verb}")
        return 0
    except MachineError as error:
        raise LabError(f"the machine does not answer ({error}): make unload ends it") from error


if __name__ == "__main__":
    sys.exit(command.end("lab", main, "a machine that is up stays up"))
