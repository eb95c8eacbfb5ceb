# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a command may use, and the watch over what the kernel has no limit for."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import ProgramKilled, check_disk
from grader.base.printable import decoded

MB = 1 << 20


@dataclass(frozen=True)
class ResourceLimits:
    """What a command and all that it starts may use.

    The kernel holds each process to what is said to be its own, and all of them to their number;
    the rest is looked at every 20th of a second, and too much of it ends the command.
    """

    wall_seconds: float = 300
    cpu_seconds: int = 300  # of each process; all of them have wall_seconds
    memory_bytes: int = 1536 * MB  # of all processes together
    # Of each process, mapped; none for what reserves terabytes, as the address sanitizer does.
    address_bytes: int | None = None
    processes: int = 64  # and threads
    open_files: int = 512  # of each process
    file_bytes: int = 64 * MB  # of any file
    # Of all files written in the view, which are in memory too.
    store_bytes: int = 256 * MB
    store_files: int = 10_000
    output_bytes: int = 16 * MB  # what the caller reads of both outputs


# make, the compiler, modpost and objtool.
COMPILER = ResourceLimits(address_bytes=3072 * MB)
# A program of a stage, with the address sanitizer: it needs 30 MB, and keeps what is freed.
PROGRAM = ResourceLimits(
    wall_seconds=120,
    cpu_seconds=60,
    memory_bytes=2048 * MB,
    processes=16,
    open_files=64,
    file_bytes=16 * MB,
    store_bytes=64 * MB,
    store_files=1000,
)
# tar and unzip; what a stage consists of is some dozen files below a megabyte.
ARCHIVE = ResourceLimits(
    wall_seconds=60,
    cpu_seconds=30,
    memory_bytes=1024 * MB,
    address_bytes=2048 * MB,
    processes=16,
    store_bytes=128 * MB,
    store_files=5000,
    output_bytes=1 * MB,
)

# An emulator: its console is a file of ours, which a module could fill the disk with.
MACHINE = ResourceLimits(open_files=256, file_bytes=64 * MB, store_bytes=1 * MB)

# What is said of a command that one of the limits has ended.
SAID = {
    "time": "it was not done after {limits.wall_seconds:g} s",
    "cpu": "it computed for more than {limits.cpu_seconds:,} s",
    "memory": "it took more than {limits.memory_bytes:,} bytes of memory",
    "processes": "it ran more than {limits.processes:,} processes",
    "file": "it wrote a file of more than {limits.file_bytes:,} bytes",
    "store": "it wrote more than {limits.store_bytes:,} bytes or {limits.store_files:,} files",
    "output": "it printed more than {limits.output_bytes:,} bytes",
}

_BY_SIGNAL = {-signal.SIGXCPU: "cpu", -signal.SIGXFSZ: "file"}


@dataclass(frozen=True)
class CommandResult:
    """How a command ended."""

    status: int | None  # as of subprocess: minus the signal; None when a limit ended it
    output: bytes
    errors: bytes  # empty when both were to come together
    ended_by: str = ""  # a key of SAID
    survivors: int = 0  # processes that it left running, which were killed
    limits: ResourceLimits = ResourceLimits()

    @property
    def cause(self) -> str:
        """Which limit ended it, in words; nothing when none did."""
        return SAID[self.ended_by].format(limits=self.limits) if self.ended_by else ""

    @property
    def text(self) -> str:
        """The output as text, printable."""
        return decoded(self.output)

    @property
    def error_text(self) -> str:
        """Return what was printed to standard error, printable."""
        return decoded(self.errors)

    def check_host(self, folder: Path) -> None:
        """Raise HostFault if a compiler or the like has failed by this computer's fault.

        folder is where it wrote to. Its words do not count, since a source chooses them.
        """
        if self.status == -signal.SIGKILL:
            raise ProgramKilled
        if self.status:
            check_disk(folder)


def ended_by_signal(status: int) -> str:
    """The limit that the kernel tells of by a signal, if it was one."""
    return _BY_SIGNAL.get(status, "")


def _children(task: Path) -> list[int]:
    try:
        return [int(word) for word in (task / "children").read_text().split()]
    except OSError:
        return []


def kill_groups(supervisor: int) -> None:
    """Kill the process groups that the supervisor's children lead, each at one stroke."""
    for child in _children(Path(f"/proc/{supervisor}/task/{supervisor}")):
        try:
            os.killpg(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def _below(pid: int) -> Iterator[int]:
    """A process and all its descendants; some of those that begin or end meanwhile."""
    found, todo = {pid}, [pid]
    while todo:
        process = todo.pop()
        yield process
        for task in _tasks(Path("/proc", str(process))):
            for child in _children(task):
                if child not in found:
                    found.add(child)
                    todo.append(child)


def _tasks(entry: Path) -> list[Path]:
    try:
        return list((entry / "task").iterdir())
    except OSError:
        return []


def _status(process: int) -> Iterator[tuple[str, int]]:
    """What counts of /proc/PID/status, by name; memory in kilobytes."""
    entry = Path("/proc", str(process))
    # Where the first thread has ended the process seems to have no memory: ask another.
    for source in (entry, *_tasks(entry)):
        try:
            lines = (source / "status").read_text().splitlines()
        except OSError:
            continue
        words = [line.split() for line in lines]
        found = {word[0]: int(word[1]) for word in words if word and word[0] in _COUNTED}
        if source is entry:
            yield "Threads:", found.pop("Threads:", 0)
        if "VmRSS:" in found:
            yield from ((name, value) for name, value in found.items() if name != "Threads:")
            return


# Page tables too: by them alone memory can be filled that is nobody's.
_COUNTED = ("VmRSS:", "VmSwap:", "VmPTE:", "Threads:")


def usage(pid: int, enough: ResourceLimits) -> str:
    """The limit that a process and its descendants have passed, if any."""
    tasks = kilobytes = 0
    for process in _below(pid):
        for name, value in _status(process):
            if name == "Threads:":
                tasks += value
            else:
                kilobytes += value
        if kilobytes * 1024 > enough.memory_bytes:
            return "memory"
        # The two that stand between, and what ends while it is counted.
        if tasks > enough.processes + 8:
            return "processes"
    return ""


def oom_kills() -> int:
    """Return how many processes the kernel has killed since its start for lack of memory."""
    try:
        words = Path("/proc/vmstat").read_text().split()
        return int(words[words.index("oom_kill") + 1])
    except (OSError, ValueError):
        return 0


def tasks_of_user() -> int:
    """How many processes and threads this user has on this computer."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if entry.stat().st_uid == os.getuid():
                count += len(_tasks(entry))
        except OSError:
            continue
    return count
