# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Commands on the persistent machine: make load, unload, fib, shell, dmesg and gdb."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from grader.base import command, paths
from grader.base.errors import LabError, MachineError
from grader.course import learner_copy
from grader.exercise.build import stage_module
from grader.exercise.files import device, driver_device, stages
from grader.lab import machines, persistent_machine
from grader.lab.machines import Machine

BEGIN = paths.make("stage=1 load")
# Time limit for a command on a machine that has just loaded a module.
SECONDS = 10.0


def _built(
    stage: stages.Stage, machine: Machine, trace: bool = False, look: bool = False
) -> stage_module.BuiltStage:
    built = stage_module.build(stage, machine.kernel(), trace=trace, look=look)
    for violation in built.violations:
        print(f"note: {violation.got}; {built.rules} allows {violation.expected}", file=sys.stderr)
    if not built.ok:
        raise LabError(
            f"stage {stage.number} does not compile: {built.cause}", "correct the source"
        )
    for warning in built.module.warnings:
        print(warning, file=sys.stderr)
    return built


def make(number: str, machine_name: str) -> None:
    """Build a stage's module and print its path."""
    built = _built(learner_copy.choose_one(number, "build"), machines.get(machine_name))
    print(f"built {paths.shown(built.module.path)}")


def load(number: str, machine_name: str, trace: bool = False, look: bool = False) -> None:
    """Load a stage on the persistent machine, and unload the stage loaded before.

    Start the machine if it is not up. With trace the module prints the arguments of fib_trace();
    with look it is compiled for a debugger.
    """
    machine = machines.get(machine_name)
    stage = learner_copy.choose_one(number, "load")
    saved = _saved(stage.directory)
    if stage.manifest.driver:
        driver_device.refuse_host(machine)
    built = _built(stage, machine, trace, look)
    with persistent_machine.alone(machine.name):
        programs = {driver_device.CLIENT: driver_device.client()}
        running = persistent_machine.start(machine, device.contents({}, programs))
        # Both kinds of stage use this path: it equals device.MODULES and driver_device.KO.
        path = f"/lib/{built.module.name}/{built.module.name}.ko"
        persistent_machine.swap(machine.name, running, built.module, "the stage", path)
    _loaded(machine.name).write_text(
        json.dumps(
            {
                "number": stage.number,
                "module": str(built.module.path),
                "name": built.module.name,
                "look": look,
                "directory": str(stage.directory),
                "saved": saved,
            }
        )
    )
    if stage.manifest.driver:
        there = running.channel.run(f"test -c {driver_device.NODE}", SECONDS).status == 0
        use = f"make shell, then cat {driver_device.NODE}" if there else "make dmesg"
        print(f"stage {stage.number} ({stage.manifest.name}) is loaded; try {use}")
        if trace:
            print("trace=1 has no effect on a driver, which prints by pr_info; see make dmesg")
        return
    print(
        f"stage {stage.number} ({stage.manifest.name}) is loaded: {device.NODE} serves"
        f" F(0) to F({stage.manifest.max_n:,}); try make fib n=10"
    )
    if trace:
        print(
            "make dmesg shows the output of fib_trace, which prints only with trace=1 and never"
            " while points are computed"
        )


def _loaded(machine: str) -> Path:
    """Return the path of the file that records which stage is loaded on a machine."""
    return persistent_machine.folder(machine) / "loaded.json"


def _saved(directory: Path) -> float:
    """Return the time of the last change of a stage's sources."""
    times = [path.stat().st_mtime for path in directory.glob("*.[ch]")]
    return max(times, default=0.0)


def _note_changes(machine: str) -> None:
    """Print a note if the loaded stage was saved again after it was loaded."""
    try:
        loaded = json.loads(_loaded(machine).read_text())
        directory = Path(loaded["directory"])
        if _saved(directory) == loaded["saved"]:
            return
    except (OSError, ValueError, KeyError, TypeError):
        return
    command = paths.make(f"stage={loaded['number']} load")
    print(
        f"note: {paths.shown(directory)} has changed since it was loaded; {command} loads it again",
        file=sys.stderr,
        flush=True,
    )


def unload() -> None:
    """Stop all persistent machines of this checkout."""
    down = persistent_machine.end_all()
    print(f"machine {', '.join(down)} is down" if down else "no machine was up")


def fib(numbers: str) -> int:
    """Print F(n) for each of the given n. Return the exit status."""
    words = numbers.replace(",", " ").split()
    if not words or not all(word.isdigit() for word in words):
        raise LabError("no number n is given", "give a number of 0 or more, like make fib n=93")
    _note_changes(persistent_machine.find(BEGIN)[0])
    return persistent_machine.run(f"{device.CLIENT} read {' '.join(words)}", BEGIN)


def gdb(number: str, arguments: str, look: bool) -> int:
    """Run gdb on the running lab kernel, with the symbols of the loaded stage at their addresses.

    With look, load the stage again, compiled for a debugger, unless it has been loaded in this
    form. Return gdb's exit status.
    """
    if shutil.which("gdb") is None:
        raise LabError("gdb not found", "run scripts/setup.sh user")
    try:
        name, _ = persistent_machine.find(BEGIN)
        loaded = json.loads(_loaded(name).read_text())
    except (LabError, OSError):
        name, loaded = "", {}
    other = number and str(loaded.get("number")) != number
    if other or not loaded or (look and not loaded.get("look")):
        load(number or str(loaded.get("number", "")), "uml", look=look)
        name, _ = persistent_machine.find(BEGIN)
        loaded = json.loads(_loaded(name).read_text())
    if name != "uml":
        raise LabError("gdb debugs machine uml only", f"run make unload, then {BEGIN}")
    running = persistent_machine.attach(name)
    assert running is not None
    with persistent_machine.alone(name):
        sections = persistent_machine.sections(running, loaded["name"])
    text = sections.pop(".text", None)
    if text is None:
        raise LabError("no stage is loaded on machine uml", f"run {BEGIN}")
    others = " ".join(f"-s {section} {address}" for section, address in sections.items())
    after = [address for address in sections.values() if int(address, 16) > int(text, 16)]
    end = min(after, key=lambda address: int(address, 16), default=hex(int(text, 16) + (1 << 20)))
    # gdb applies the section addresses below only if every section address in the file is zero.
    # From Linux 6.12 on, .data has an address in the file, so gdb reads a copy without addresses.
    symbols = persistent_machine.folder(name) / f"{loaded['name']}.ko"
    objcopy = ["objcopy", "--change-section-address", "*=0", loaded["module"], str(symbols)]
    subprocess.run(objcopy, check=True)
    pid = json.loads((persistent_machine.folder(name) / "state.json").read_text())["pid"]
    # On a terminal gdb would pause after each page and ask before it adds the symbol file.
    call = ["gdb", "-q", "-nx", "-iex", "set pagination off", "-iex", "set confirm off"]
    # The lab kernel uses these signals for its own page faults and interrupts.
    for name_of_signal in ("SIGSEGV", "SIGALRM", "SIGIO", "SIGUSR1", "SIGUSR2", "SIGWINCH"):
        call += ["-iex", f"handle {name_of_signal} nostop noprint pass"]
    kernel = machines.get("uml").kernel()
    call += [
        "-ex", f"add-symbol-file {symbols} {text} {others}",
        # The read-only region makes gdb use hardware breakpoints in it. The kernel forks host
        # processes that share its memory, and gdb removes software breakpoints from each child,
        # so they would vanish from the kernel too.
        "-ex", "set mem inaccessible-by-default off", "-ex", f"mem {text} {end} ro",
        "-ex", f"directory {paths.STAGES} {paths.ROOT}",
        *shlex.split(arguments),
        "-p", str(pid), str(kernel.tree.parent / "linux"),
    ]  # fmt: skip
    # Ignore Ctrl-C in this process, because gdb must handle it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return subprocess.run(call).returncode


def main() -> int:
    """Run the command that the Makefile passes. Return the exit status."""
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("verb")
    parser.add_argument("--stage", default="")
    parser.add_argument("--machine", default="")
    parser.add_argument("--n", default="")
    parser.add_argument("--args", default="")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--look", action="store_true")
    options = parser.parse_args()
    machine = options.machine or os.environ.get("LAB_MACHINE") or "uml"
    try:
        if options.verb in ("make", "load"):
            if options.verb == "make":
                make(options.stage, machine)
            else:
                load(options.stage, machine, options.trace, options.look)
        elif options.verb == "unload":
            unload()
        elif options.verb == "fib":
            return fib(options.n)
        elif options.verb == "shell":
            return persistent_machine.shell(BEGIN)
        elif options.verb == "dmesg":
            return persistent_machine.dmesg(BEGIN)
        elif options.verb == "gdb":
            return gdb(options.stage, options.args, options.look)
        else:
            parser.error(
                f"no verb {options.verb}; choose make, load, unload, fib, shell, dmesg or gdb"
            )
        return 0
    except MachineError as error:
        raise LabError(
            f"the machine does not answer ({error})", "run make unload to end it"
        ) from error


if __name__ == "__main__":
    sys.exit(command.end("lab", main, "a machine that was up is still up"))
