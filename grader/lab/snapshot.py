# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A machine of QEMU's as it was when it had just booted: kept in the cache, and resumed from it.

To boot where a processor is emulated takes it three seconds of ours, to resume half of one. The
machine's memory is a file that all who resume it map, each with changes of its own; its devices'
state is what QEMU migrates. Its files come through QEMU: see guest/file_transfer.c.

QEMU opens none of these by name: it inherits the memory, which nobody can change, and its control
line, and is sent one end of a pipe for the devices' state. So it can do this confined, and what
breaks out of a machine changes no snapshot.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from grader.base.errors import HostFault, LabError, MachineDied, MachineError, MachineTimeout
from grader.lab import guest_process, guest_program, initramfs
from grader.lab.guest_process import BOOT_TIMEOUT, Command, GuestProcess, Surroundings
from grader.lab.machines import Contents

MEMORY_BYTES = 256 << 20
# How many times as long as this takes booting would: by that a machine's time-outs are chosen.
TIMES_AS_LONG = 6
# Of its own time a machine is let be before it is kept: what its kernel has put off is done then.
SETTLE_SECONDS = 2
# What is looked at in one piece when the memory is written: pages of it.
PAGES = 1 << 14
# One that nobody has resumed for so long is removed when another is made.
OLD_SECONDS = 7 * 24 * 3600


def obtain(
    cache_folder: Path, name: str, machine: Command, facts: str, around: Surroundings
) -> Path | None:
    """The snapshot of a machine, made if there is none; None where none can be made.

    machine: its command line. facts: what else it hangs on, the kernel and the version of QEMU.
    """
    digest = hashlib.sha256(repr([facts, *machine(Path(), {})]).encode())
    for path, source in sorted(initramfs.standard(_board()).items()):
        digest.update(f"{path}\0".encode() + source.read_bytes())
    place = cache_folder / f"snapshot-{name}-{digest.hexdigest()[:12]}"
    try:
        if not place.is_dir():
            (cache_folder / "locks").mkdir(exist_ok=True)
            with (cache_folder / "locks" / f"{place.name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not place.is_dir():
                    _remove_old(cache_folder)
                    _make(place, machine, around)
        os.utime(place)
    except (OSError, LabError, HostFault, MachineError):
        return None
    return place


def remove(place: Path) -> None:
    """Remove a snapshot that is no good; whoever has resumed from it goes on."""
    gone = place.with_name(f"{place.name}.gone{os.getpid()}")
    try:
        place.rename(gone)
    except OSError:
        return
    shutil.rmtree(gone, ignore_errors=True)


def resume(place: Path, contents: Contents, machine: Command, around: Surroundings) -> GuestProcess:
    """A machine like that, with these contents; it ends with this process."""

    def command(folder: Path, fds: dict[str, int]) -> Sequence[str]:
        return [*machine(folder, fds), *_options(folder, fds, "off"), "-incoming", "defer"]

    def files(folder: Path) -> None:
        (folder / "initramfs").touch()  # it is in the snapshot's memory
        initramfs.pack(folder / "files", contents.files)

    def up(guest: GuestProcess) -> None:
        with control.talk() as say:
            _share(say)
            control.hand_over(say)
            say("migrate-incoming", uri="fd:devices")
            # What it is sent before goes to a line that is not there yet.
            say("", event="RESUME")
        # Not in the machine's memory twice: cpio is fed what QEMU gives, a chunk at a time.
        guest.channel.check("cd / && file_transfer | cpio -idmu 2>&1", BOOT_TIMEOUT)

    memory = place / "memory"
    with (
        (place / "devices").open("rb") as devices,
        _control(_sealed(memory, memory.stat().st_ino), reads=devices.fileno()) as control,
    ):
        guest = guest_process.begin(
            files, command, up, replace(around, inherited_files=control.inherited_files)
        )
    guest.boot_seconds *= TIMES_AS_LONG
    return guest


@cache
def _sealed(path: Path, _inode: int) -> int:
    """Return a sealed copy of a snapshot's memory, for the life of this process.

    QEMU opens what it maps for writing, also where its changes are to be its own.
    """
    fd = os.memfd_create("memory", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, MEMORY_BYTES)
        with path.open("rb") as file:
            for begin, end in _data(file.fileno()):
                position = os.lseek(fd, begin, os.SEEK_SET)
                while position < end:
                    position += os.sendfile(fd, file.fileno(), position, end - position)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _data(fd: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each part of a file that is no hole."""
    end = 0
    while end < MEMORY_BYTES:
        try:
            begin = os.lseek(fd, end, os.SEEK_DATA)
        except OSError:  # there is none any more
            return
        end = os.lseek(fd, begin, os.SEEK_HOLE)
        yield begin, end


@dataclass
class _Control:
    """The line to a QEMU, and the files that it inherits."""

    line: socket.socket
    cat: subprocess.Popen[bytes]  # brings the devices' state
    theirs: socket.socket  # QEMU's end of the line
    devices: int  # its end of the pipe
    inherited_files: dict[str, int]

    def hand_over(self, say: Any) -> None:
        """Send it its end of the pipe, which it then calls "devices"."""
        say("getfd", fd=self.devices, fdname="devices")
        os.close(self.devices)
        self.devices = -1

    @contextmanager
    def talk(self) -> Iterator[Any]:
        """A conversation: a command and its arguments, or no command and an event."""
        self.theirs.close()  # else the end of QEMU could not be seen
        self.line.settimeout(BOOT_TIMEOUT)
        with self.line.makefile("r") as file:

            def say(
                command: str, event: str = "", fd: int | None = None, **arguments: Any
            ) -> dict[str, Any]:
                try:
                    if command:
                        text = json.dumps({"execute": command, "arguments": arguments})
                        # All at once, which a line to QEMU has room for.
                        fds = [] if fd is None else [fd]
                        socket.send_fds(self.line, [f"{text}\n".encode()], fds)
                    for text in file:
                        answer = json.loads(text)
                        if "error" in answer:
                            raise MachineError(f"{command}: {answer['error']['desc']}")
                        if event and answer.get("event") == event:
                            return {}
                        if command and "return" in answer:
                            returned: dict[str, Any] = answer["return"]
                            return returned
                except TimeoutError:
                    raise MachineTimeout("QEMU does not answer") from None
                except (OSError, ValueError):
                    pass
                raise MachineDied("QEMU ended")

            say("qmp_capabilities")
            yield say


@contextmanager
def _control(
    memory: int, reads: int | None = None, writes: int | None = None
) -> Iterator[_Control]:
    """Make what a QEMU inherits; cat reads the devices' state from a file, or writes it to one.

    A pipe, since newer versions of QEMU take no plain file here.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs, ExitStack() as stack:
        source, sink = os.pipe()
        try:
            cat = subprocess.Popen(
                ["cat"],
                stdin=source if reads is None else reads,
                stdout=sink if writes is None else writes,
                stderr=subprocess.DEVNULL,
            )
        finally:
            os.close(sink if writes is None else source)
        stack.callback(cat.wait)
        stack.callback(cat.kill)
        devices = source if writes is None else sink
        given = {"control": theirs.fileno(), "memory": memory}
        control = _Control(ours, cat, theirs, devices, given)
        try:
            yield control
        finally:
            if control.devices >= 0:
                os.close(control.devices)


def _board() -> dict[str, Path]:
    return {"/bin/file_transfer": guest_program.file_transfer()}


def _options(folder: Path, fds: dict[str, int], share: str) -> list[str]:
    """What a machine has besides: its memory in a file, files for it, a line to QEMU."""
    memory, files = f"/proc/self/fd/{fds['memory']}", str(folder / "files").replace(",", ",,")
    return [
        "-object",
        f"memory-backend-file,id=memory,size={MEMORY_BYTES},mem-path={memory},share={share}",
        "-machine", "memory-backend=memory",
        "-fw_cfg", f"name=opt/lab/files,file={files}",
        "-chardev", f"socket,id=control,fd={fds['control']}",
        "-qmp", "chardev:control",
    ]  # fmt: skip


def _make(place: Path, machine: Command, around: Surroundings) -> None:
    """Boot one, and keep what it is then."""
    for left in place.parent.glob(f"{place.name}.new*"):
        shutil.rmtree(left, ignore_errors=True)  # nobody else is at it: there is a lock
    new = place.with_name(f"{place.name}.new{os.getpid()}")
    new.mkdir()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, new, ignore_errors=True)
        memory = os.memfd_create("memory", os.MFD_CLOEXEC)
        stack.callback(os.close, memory)
        os.ftruncate(memory, MEMORY_BYTES)
        devices = stack.enter_context((new / "devices").open("wb"))
        control = stack.enter_context(_control(memory, writes=devices.fileno()))

        def command(folder: Path, fds: dict[str, int]) -> Sequence[str]:
            return [*machine(folder, fds), *_options(folder, fds, "on")]

        def files(folder: Path) -> None:
            (folder / "files").touch()
            initramfs.make(folder / "initramfs", _board())

        guest = guest_process.begin(
            files,
            command,
            lambda guest: guest.channel.wait_ready(BOOT_TIMEOUT),
            replace(around, inherited_files=control.inherited_files),
        )
        try:
            guest.channel.check(f"sleep {SETTLE_SECONDS}", BOOT_TIMEOUT)
            with control.talk() as say:
                _share(say)
                control.hand_over(say)
                say("migrate", uri="fd:devices")
                _migrated(say)
        finally:
            guest.stop()
        if control.cat.wait():
            raise MachineError("the devices' state is not written")
        _write(memory, new / "memory")
        for name in ("memory", "devices"):
            with (new / name).open("rb") as whole:
                os.fsync(whole.fileno())
        new.rename(place)


def _write(memory: int, path: Path) -> None:
    """Write a machine's memory to a file, which has holes where the memory is zero."""
    with path.open("wb") as file:
        file.truncate(MEMORY_BYTES)
        for begin, end in _data(memory):
            for offset in range(begin, end, PAGES):
                block = os.pread(memory, min(PAGES, end - offset), offset)
                if block.strip(b"\0"):
                    file.seek(offset)
                    file.write(block)


def _migrated(say: Any) -> None:
    until = time.monotonic() + BOOT_TIMEOUT
    while time.monotonic() < until:
        status = say("query-migrate").get("status")
        if status == "completed":
            return
        if status in ("failed", "cancelled"):
            break
        time.sleep(0.02)
    raise MachineError("QEMU does not keep the machine")


def _share(say: Any) -> None:
    """Leave out of the devices' state the memory that is in a file."""
    say(
        "migrate-set-capabilities",
        capabilities=[{"capability": "x-ignore-shared", "state": True}],
    )


def _remove_old(cache: Path) -> None:
    for left in cache.glob("snapshot-*.gone*"):
        shutil.rmtree(left, ignore_errors=True)  # somebody was killed while removing it
    for place in cache.glob("snapshot-*"):
        if time.time() - place.stat().st_mtime > OLD_SECONDS:
            remove(place)
