# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run a program inside a kernel: link it into a module, load the module and start it by /proc."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from electives import source_folder
from electives.kbench import program_failure, task_source, tools
from electives.kbench.native import ProcessRun
from electives.kbench.program import Program
from grader.base import paths, scratch
from grader.base.errors import LabError, MachineError
from grader.lab import allowed_c, module, persistent_machine
from grader.lab.machines import Contents, Machine, Running
from grader.lab.module import Kernel, Module, Recipe

SOURCES = Path(__file__).with_name("kernel")
FILES = ("module", "output", "input", "heap", "library", "sysy", "trampoline")
DOOR = "/proc/kbench"
NODES = tuple(f"{DOOR}/{name}" for name in ("run", "input", "output", "status"))
# The time limit of a run is LEAST_SECONDS plus SLOWER times its duration as a process, because
# machine qemu emulates the processor.
LEAST_SECONDS = 15.0
SLOWER = 60.0
MOST_INPUT = 4 << 20  # the same as INPUT_BYTES in kernel/kbench.h
# Time limits in seconds for a program that did not end as a process, and for a program that failed.
HOPELESS_SECONDS = 10.0
DOOMED_SECONDS = 60.0


@dataclass(frozen=True)
class ProgramTask:
    """A program with its input, time limit and module parameters."""

    program: Program
    program_input: bytes = b""
    seconds: float = LEAST_SECONDS
    parameters: str = ""  # parameters of the module
    only: str = ""  # the only file from the learner's copy: see support()

    @classmethod
    def after(
        cls,
        program: Program,
        program_input: bytes,
        native: ProcessRun,
        parameters: str = "",
        only: str = "",
    ) -> ProgramTask:
        """Return a task whose time limit follows from the program's run as a process."""
        seconds = LEAST_SECONDS + SLOWER * native.ns / 1e9
        return cls(program, program_input, seconds, parameters, only)

    @property
    def key(self) -> str:
        """Return the name of the module and of the input inside a machine."""
        return f"{self.program.key}-{hashlib.sha256(self.program_input).hexdigest()[:8]}"


@dataclass(frozen=True)
class KernelRun:
    """The result of a run in a kernel."""

    output: str
    status: int
    ns: int
    cycles: int  # cycles of the TSC, which counts instructions on machine qemu
    left_blocks: int
    left_bytes: int
    same_current: bool
    stack: str  # "right" if each test and the program began at the top of its stack
    switch: str  # "right", or what kbench_on_stack has done wrong, in one word
    why: str = ""  # the reason if the program ended early: abort, an assertion, too much output


def support(kernel: Kernel, only: str = "") -> Module:
    """Build the module without a program, once for each kernel; programs are linked with it.

    only: take only this file from the learner's copy, and all others from the kit.
    """
    folder = source_folder.folder("kbench", SOURCES)
    files = _texts(folder)
    if only:
        files = _texts(SOURCES) | {only: files.get(only, b"")}
        texts = (text[only].decode(errors="replace") for text in (files, _texts(SOURCES)))
        if message := allowed_c.refused_with_kernel_headers(
            f"{paths.shown(folder)}/{only}", *texts
        ):
            raise LabError(message, "write it yourself")
    build = source_folder.build_name("kbench", folder, SOURCES)
    # Name the learner's folder only for the learner's file. The module with a file that is the same
    # in two copies is then compiled once.
    labels = {"": paths.place(SOURCES if only else folder)}
    if only:
        labels[only] = f"{paths.place(folder)}/{only}"
    recipe = Recipe(
        name="kbench",
        folder=f"{build}-{only}" if only and folder != SOURCES else build,
        files=files,
        objects=FILES,
        flags=("-I$(src)", "-mgeneral-regs-only"),
        settings=("OBJECT_FILES_NON_STANDARD_trampoline.o := y",),
        labels=labels,
        shown={only: f"{paths.shown(folder)}/{only}"} if only else {"": paths.shown(folder)},
    )
    made = module.build(recipe, kernel)
    if not made.ok:
        raise LabError(
            f"the module of {paths.shown(folder)} does not build: {made.cause}",
            "correct the source",
        )
    shown = f"{paths.shown(folder)}/{only}"
    if only and (message := task_source.refused(made, only, shown, kernel)):
        raise LabError(message, "correct the source")
    return made


def _texts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def link(program: Program, kernel: Kernel, only: str = "") -> Path:
    """Return the module with the program in it, linked as kbuild would link it."""
    base = support(kernel, only)
    target = program.folder / f"{kernel.key}-{base.directory.name}.ko"
    if target.is_file() and target.stat().st_mtime >= base.path.stat().st_mtime:
        return target
    linker, script, own, others = _linker(base)
    sources = [own, program.folder / f"{kernel.arch}.o", *others, kernel.tree / script]
    work = Path(tempfile.mkdtemp(prefix=".link-", dir=program.folder))
    try:
        for i, source in enumerate(sources):
            shutil.copy(source, work / f"{i}.o")
        *parts, layout = [work / f"{i}.o" for i in range(len(sources))]
        isolated = program.isolated
        tools.must(
            [*linker, "-T", layout, "-o", work / "whole.ko", *parts],
            work,
            isolated,
            program.name,
        )
        tools.must(["strip", "--strip-debug", work / "whole.ko"], work, isolated, program.name)
        (work / "whole.ko").rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def _linker(base: Module) -> tuple[list[str], str, Path, list[Path]]:
    """Return kbuild's command to link the module, the linker script, and the objects.

    kbuild generates the other objects, which depend on the kernel: one object up to Linux 6.11, two
    later, of which the second (.module-common.o) contains the version that a kernel checks.
    """
    output = (base.directory / ".kbench.ko.cmd").read_text()
    match = re.search(r":= (\S*ld\S* .*?)\s-T (\S+)\s-o \S+ ([^;\n]+)", output)
    if match is None:
        raise LabError(
            f"this kernel's kbuild links modules in an unknown way: {output[:200]}",
            "choose another machine",
        )
    own, *others = [base.directory / Path(name).name for name in match[3].split()]
    return match[1].split(), match[2], own, others


class KernelSession:
    """A running machine with the modules of some programs in its file system."""

    def __init__(self, machine: Machine, guest: Running, places: dict[str, str]) -> None:
        self.machine = machine
        self.guest = guest
        self._places = places

    def run(self, task: ProgramTask) -> KernelRun:
        """Load, run and unload a program. Raise ProgramFailure if it crashes the machine."""
        program = task.program
        quiet = " quiet=0" if self.machine.name == "host" else ""
        program_input = self._given(task)
        command = (
            f"insmod /lib/kbench/{task.key}.ko{quiet} {task.parameters} || exit 1;"
            f" cat {program_input} >{DOOR}/input && echo 1 >{DOOR}/run &&"
            f" cat {DOOR}/status {DOOR}/output; s=$?; rmmod kbench; exit $s"
        )
        try:
            text = self.guest.channel.check(command, task.seconds)
        except MachineError as error:
            raise program_failure.classify(error, self.guest, self.machine.name, program) from error
        return _understood(text)

    def _given(self, task: ProgramTask) -> str:
        if not task.program_input:
            return "/dev/null"
        return self._places[task.key]


@contextmanager
def session(machine: Machine, programs: Sequence[ProgramTask]) -> Iterator[KernelSession]:
    """Boot a machine with these programs in its file system."""
    kernel = machine.kernel()
    folder = scratch.folder()
    files, places = {}, {}
    linked: dict[tuple[str, str], Path] = {}  # by program and source
    for task in programs:
        key = task.key
        parts = (task.program.key, task.only)
        if parts not in linked:
            linked[parts] = link(task.program, kernel, task.only)
        files[f"/lib/kbench/{key}.ko"] = linked[parts]
        if task.program_input:
            here = folder / f"{key}.input"
            here.write_bytes(task.program_input)
            files[f"/lib/kbench/{key}.input"] = here
            # On machine host, commands run on this computer, and the file is not copied to the
            # guest's path.
            places[key] = str(here) if machine.name == "host" else f"/lib/kbench/{key}.input"
    guest = machine.boot(Contents(files, "kbench", NODES))
    try:
        yield KernelSession(machine, guest, places)
    finally:
        guest.stop()
        scratch.remove(folder)


def _understood(text: str) -> KernelRun:
    head, _, output = text.partition("\n\n")
    lines = re.findall(r"^(\w+) (.*)$", head, re.MULTILINE)
    found = dict(lines)
    if len(found) < len(lines):
        raise LabError("the module reports the run twice", "remove what writes the report")
    try:
        blocks, size = map(int, found["left"].split())
        return KernelRun(
            output, int(found["exit"]), int(found["ns"]), int(found["cycles"]), blocks, size,
            found["current"] == "same", found.get("stack", ""), found.get("switch", ""),
            found.get("why", ""),
        )  # fmt: skip
    except (KeyError, ValueError) as error:
        raise LabError(
            f"the module does not report how the run went: {head[:200]}", "correct its source"
        ) from error


def load(program: Program, program_input: bytes, machine: Machine) -> None:
    """Load the program on the persistent machine, where the user runs it by hand."""
    kernel = machine.kernel()
    support(kernel)
    folder = program.folder / kernel.key
    folder.mkdir(exist_ok=True)
    made = Module("kbench", folder)
    shutil.copy(link(program, kernel), made.stripped)
    with persistent_machine.alone(machine.name):
        running = persistent_machine.start(machine, Contents({}, "kbench", NODES))
        persistent_machine.swap(machine.name, running, made, "the program", "/lib/kbench/kbench.ko")
        if program_input:
            running.channel.put("/tmp/input", program_input, LEAST_SECONDS)
            running.channel.check(f"cat /tmp/input >{DOOR}/input", LEAST_SECONDS)
