# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Save a booted QEMU machine in the cache as a snapshot, and resume machines from it.

Booting an emulated machine takes three seconds, resuming it takes half a second. The memory of the
snapshot is a file, which each resumed machine maps copy-on-write. The state of the devices is
QEMU's migration stream. The machine's files come through QEMU: see guest/file_transfer.c.

QEMU opens none of these files by name. It inherits the memory, which is sealed against changes, and
the control socket, and receives one end of a pipe for the state of the devices. Therefore QEMU can
run in the sandbox, and code that breaks out of a machine cannot change a snapshot.
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
# Ratio of boot time to resume time. It scales boot_seconds, from which time-outs are computed.
TIMES_AS_LONG = 6
# Seconds of guest time to wait before the snapshot, so that the kernel finishes deferred work.
SETTLE_SECONDS = 2
# Block size in bytes when the memory is written; a block of zeros becomes a hole.
PAGES = 1 << 14
# A snapshot that was not used for this many seconds is removed when another is made.
OLD_SECONDS = 7 * 24 * 3600


def obtain(
    cache_folder: Path, name: str, machine: Command, facts: str, around: Surroundings
) -> Path | None:
    """Return the snapshot of a machine; make it if it is missing. Return None if that fails.

    machine: a function that returns the command line. facts: further facts that the snapshot
    depends on, which are the kernel and the version of QEMU.
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
    """Remove an unusable snapshot. Machines that have resumed from it are not affected."""
    gone = place.with_name(f"{place.name}.gone{os.getpid()}")
    try:
        place.rename(gone)
    except OSError:
        return
    shutil.rmtree(gone, ignore_errors=True)


def resume(place: Path, contents: Contents, machine: Command, around: Surroundings) -> GuestProcess:
    """Resume a machine from a snapshot, with these contents; it ends with this process."""

    def command(folder: Path, fds: dict[str, int]) -> Sequence[str]:
        return [*machine(folder, fds), *_options(folder, fds, "off"), "-incoming", "defer"]

    def files(folder: Path) -> None:
        (folder / "initramfs").touch()  # the snapshot's memory already contains this file
        initramfs.pack(folder / "files", contents.files)

    def up(guest: GuestProcess) -> None:
        with control.talk() as say:
            _share(say)
            control.hand_over(say)
            say("migrate-incoming", uri="fd:devices")
            # Wait until the serial line exists, because bytes sent earlier would be lost.
            say("", event="RESUME")
        # Use a pipe, so that the archive is never in the machine's memory as a whole.
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

    The seal is needed because QEMU opens the file for writing even if it maps it privately.
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
    """Yield the start and end offset of each data segment of a sparse file."""
    end = 0
    while end < MEMORY_BYTES:
        try:
            begin = os.lseek(fd, end, os.SEEK_DATA)
        except OSError:  # no more data
            return
        end = os.lseek(fd, begin, os.SEEK_HOLE)
        yield begin, end


@dataclass
class _Control:
    """The control socket (QMP) of a QEMU process, and the files that QEMU inherits."""

    line: socket.socket
    cat: subprocess.Popen[bytes]  # The process (cat) that copies the state of the devices.
    theirs: socket.socket  # QEMU's end of the control socket.
    devices: int  # QEMU's end of the pipe for the state of the devices.
    inherited_files: dict[str, int]

    def hand_over(self, say: Any) -> None:
        """Send QEMU its end of the pipe under the name "devices"."""
        say("getfd", fd=self.devices, fdname="devices")
        os.close(self.devices)
        self.devices = -1

    @contextmanager
    def talk(self) -> Iterator[Any]:
        """Connect to QEMU. Yield a function that sends a command, or waits for an event."""
        self.theirs.close()  # Close this end, so that a read fails when QEMU ends.
        self.line.settimeout(BOOT_TIMEOUT)
        with self.line.makefile("r") as file:

            def say(
                command: str, event: str = "", fd: int | None = None, **arguments: Any
            ) -> dict[str, Any]:
                try:
                    if command:
                        text = json.dumps({"execute": command, "arguments": arguments})
                        # One call is enough, because a command fits in the buffer of the socket.
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
    """Make the socket and the pipe of a QEMU; cat copies the pipe to or from a file.

    reads, writes: the file with the state of the devices. The pipe is needed because newer versions
    of QEMU do not accept a regular file.
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
    """Return the options for memory in a file, the files for the guest and the QMP socket."""
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
    """Boot a machine and save its memory and the state of its devices to place."""
    for left in place.parent.glob(f"{place.name}.new*"):
        shutil.rmtree(left, ignore_errors=True)  # a killed process may leave these
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
            raise MachineError("the state of the devices could not be written")
        _write(memory, new / "memory")
        for name in ("memory", "devices"):
            with (new / name).open("rb") as whole:
                os.fsync(whole.fileno())
        new.rename(place)


def _write(memory: int, path: Path) -> None:
    """Write a machine's memory to a file, with holes for blocks of zeros."""
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
    raise MachineError("QEMU could not save a snapshot of the machine")


def _share(say: Any) -> None:
    """Exclude the memory that is in a shared file from the migration stream."""
    say(
        "migrate-set-capabilities",
        capabilities=[{"capability": "x-ignore-shared", "state": True}],
    )


def _remove_old(cache: Path) -> None:
    for left in cache.glob("snapshot-*.gone*"):
        shutil.rmtree(left, ignore_errors=True)  # a killed process may leave these
    for place in cache.glob("snapshot-*"):
        if time.time() - place.stat().st_mtime > OLD_SECONDS:
            remove(place)
