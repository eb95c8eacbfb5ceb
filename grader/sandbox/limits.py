# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define resource limits, and measure the usage of resources that the kernel does not limit."""

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
    """The resource limits of a command with all its descendants.

    The kernel enforces the limits of each process and the number of processes. The grader checks
    the other limits every 50 ms and ends the command if one is exceeded.
    """

    wall_seconds: float = 300
    cpu_seconds: int = 300  # CPU time of each process.
    memory_bytes: int = 1536 * MB  # Memory of all processes together.
    # Address space of each process. None for programs with the address sanitizer, which reserves
    # terabytes.
    address_bytes: int | None = None
    processes: int = 64  # Number of processes and threads.
    open_files: int = 512  # Open files of each process.
    file_bytes: int = 64 * MB  # Size of each file.
    # Size of all files written in the view together; these files are in memory.
    store_bytes: int = 256 * MB
    store_files: int = 10_000
    output_bytes: int = 16 * MB  # Size of stdout and stderr together.


# Limits for a build: make, the compiler, modpost and objtool.
COMPILER = ResourceLimits(address_bytes=3072 * MB)
# Limits for a program of a stage. The address sanitizer needs 30 MB and delays the reuse of freed
# memory.
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
# Limits for the unpacking of an archive. A stage has a few dozen files, each smaller than a
# megabyte.
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

# Limits for an emulator. The file size is limited because a module can fill the console file.
MACHINE = ResourceLimits(open_files=256, file_bytes=64 * MB, store_bytes=1 * MB)

# Messages about exceeded limits, by limit.
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
    """The result of a command: its status, its output and the limit that it exceeded, if any."""

    status: int | None  # Exit status as in subprocess; None if a limit ended the command.
    output: bytes
    errors: bytes  # Standard error; empty if `together` was set.
    ended_by: str = ""  # The limit that ended the command: a key of SAID.
    survivors: int = 0  # Processes that were still running and were killed.
    limits: ResourceLimits = ResourceLimits()

    @property
    def cause(self) -> str:
        """A message about the limit that ended the command; "" if none did."""
        return SAID[self.ended_by].format(limits=self.limits) if self.ended_by else ""

    @property
    def text(self) -> str:
        """The output as printable text."""
        return decoded(self.output)

    @property
    def error_text(self) -> str:
        """The standard error output as printable text."""
        return decoded(self.errors)

    def check_host(self, folder: Path) -> None:
        """Raise HostFault if the command failed because memory or disk space was short.

        folder: the folder that the command wrote to. The output of the command is no evidence,
        because a source file can choose it.
        """
        if self.status == -signal.SIGKILL:
            raise ProgramKilled
        if self.status:
            check_disk(folder)


def ended_by_signal(status: int) -> str:
    """Return the limit that the kernel enforces by this signal status, or ""."""
    return _BY_SIGNAL.get(status, "")


def _children(task: Path) -> list[int]:
    try:
        return [int(word) for word in (task / "children").read_text().split()]
    except OSError:
        return []


def kill_groups(supervisor: int) -> None:
    """Kill the process group of each child of the supervisor, with one signal for each group."""
    for child in _children(Path(f"/proc/{supervisor}/task/{supervisor}")):
        try:
            os.killpg(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def _below(pid: int) -> Iterator[int]:
    """Yield a process and all its descendants; may miss processes that start meanwhile."""
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
    """Yield the fields _COUNTED of /proc/PID/status, by name. Memory is in kilobytes."""
    entry = Path("/proc", str(process))
    # If the first thread has ended, its status shows no memory, so read another thread's.
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


# Page tables are included, because they can fill the memory although no process owns them.
_COUNTED = ("VmRSS:", "VmSwap:", "VmPTE:", "Threads:")


def usage(pid: int, enough: ResourceLimits) -> str:
    """Return the limit that a process and its descendants exceed, or ""."""
    tasks = kilobytes = 0
    for process in _below(pid):
        for name, value in _status(process):
            if name == "Threads:":
                tasks += value
            else:
                kilobytes += value
        if kilobytes * 1024 > enough.memory_bytes:
            return "memory"
        # Add an allowance for the supervisor, bubblewrap and processes that end during the count.
        if tasks > enough.processes + 8:
            return "processes"
    return ""


def oom_kills() -> int:
    """Return how many processes the kernel has killed since boot, because memory ran out."""
    try:
        words = Path("/proc/vmstat").read_text().split()
        return int(words[words.index("oom_kill") + 1])
    except (OSError, ValueError):
        return 0


def tasks_of_user() -> int:
    """Return the number of processes and threads of this user on this computer."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if entry.stat().st_uid == os.getuid():
                count += len(_tasks(entry))
        except OSError:
            continue
    return count
