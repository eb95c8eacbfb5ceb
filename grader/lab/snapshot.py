# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A machine of QEMU's as it was when it had just booted: kept in the cache, and resumed from it.

To boot where a processor is emulated takes it three seconds of ours, to resume half of one. The
machine's memory is a file that all who resume it map, each with changes of its own; its devices'
state is what QEMU migrates. The files that it is to have come through QEMU: see guest/carry.c.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.base.errors import LabError, MachineDied, MachineError, MachineTimeout
from grader.lab import guest_process, guest_program, initramfs
from grader.lab.guest_process import BOOT_TIMEOUT, Command, GuestProcess
from grader.lab.machines import Contents

MEMORY_BYTES = 256 << 20
# How many times as long as this takes booting would: by that a machine's time-outs are chosen.
TIMES_AS_LONG = 6
# Of its own time a machine is let be before it is kept: what its kernel has put off is done then.
SETTLE_SECONDS = 2
# One that nobody has resumed for so long is removed when another is made.
OLD_SECONDS = 7 * 24 * 3600


def kept(cache: Path, name: str, machine: Command, facts: str) -> Path | None:
    """The snapshot of a machine, made if there is none; None where none can be made.

    machine: its command line. facts: what else it hangs on, the kernel and the version of QEMU.
    """
    digest = hashlib.sha256(repr([facts, *machine(Path(), {})]).encode())
    for path, source in sorted(initramfs.standard(_board()).items()):
        digest.update(f"{path}\0".encode() + source.read_bytes())
    place = cache / f"snapshot-{name}-{digest.hexdigest()[:12]}"
    try:
        if not place.is_dir():
            (cache / "locks").mkdir(exist_ok=True)
            with (cache / "locks" / f"{place.name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not place.is_dir():
                    _remove_old(cache)
                    _make(place, machine)
        os.utime(place)
    except (OSError, LabError, MachineError):
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


def resume(place: Path, contents: Contents, machine: Command) -> GuestProcess:
    """A machine like that, with these contents; it ends with this process."""

    def command(folder: Path, fds: dict[str, int]) -> Sequence[str]:
        return [*machine(folder, fds), *_options(place, "off"), "-incoming", "defer"]

    def files(folder: Path) -> None:
        (folder / "initramfs").touch()  # it is in the snapshot's memory
        initramfs.pack(folder / "files", contents.files)

    def up(guest: GuestProcess) -> None:
        with _talk(guest) as say:
            _share(say)
            say("migrate-incoming", uri=f"exec:cat {shlex.quote(str(place / 'devices'))}")
            # What it is sent before goes to a line that is not there yet.
            say("", event="RESUME")
        # Not in the machine's memory twice: cpio is fed what QEMU gives, a chunk at a time.
        guest.wire.check("cd / && carry | cpio -idmu 2>&1", BOOT_TIMEOUT)

    guest = guest_process.begin(files, command, up)
    guest.boot_seconds *= TIMES_AS_LONG
    return guest


def _board() -> dict[str, Path]:
    return {"/bin/carry": guest_program.carry()}


def _options(place: Path, share: str) -> list[str]:
    """What a machine has besides: its memory in a file, files for it, a line to QEMU."""
    memory = str(place / "memory").replace(",", ",,")
    return [
        "-object",
        f"memory-backend-file,id=memory,size={MEMORY_BYTES},mem-path={memory},share={share}",
        "-machine", "memory-backend=memory",
        "-fw_cfg", "name=opt/lab/files,file=files",
        "-qmp", "unix:qmp,server=on,wait=off",
    ]  # fmt: skip


def _make(place: Path, machine: Command) -> None:
    """Boot one, and keep what it is then."""
    for left in place.parent.glob(f"{place.name}.new*"):
        shutil.rmtree(left, ignore_errors=True)  # nobody else is at it: there is a lock
    new = place.with_name(f"{place.name}.new{os.getpid()}")
    new.mkdir()
    try:
        with (new / "memory").open("wb") as file:
            # Here a full disk is an error; when the machine writes to its memory, it is its end.
            os.posix_fallocate(file.fileno(), 0, MEMORY_BYTES)

        def command(folder: Path, fds: dict[str, int]) -> Sequence[str]:
            return [*machine(folder, fds), *_options(new, "on")]

        def files(folder: Path) -> None:
            (folder / "files").touch()
            initramfs.make(folder / "initramfs", _board())

        guest = guest_process.begin(
            files, command, lambda guest: guest.wire.wait_ready(BOOT_TIMEOUT)
        )
        try:
            guest.wire.check(f"sleep {SETTLE_SECONDS}", BOOT_TIMEOUT)
            with _talk(guest) as say:
                _share(say)
                say("migrate", uri=f"exec:cat >{shlex.quote(str(new / 'devices'))}")
                _migrated(say)
        finally:
            guest.stop()
        # Of its memory a machine uses a fifth. Where this cannot be done, the file is large.
        small = [str(new / name) for name in ("memory", "small")]
        if not subprocess.run(["cp", "--sparse=always", *small], capture_output=True).returncode:
            (new / "small").replace(new / "memory")
        for name in ("memory", "devices"):
            with (new / name).open("rb") as whole:
                os.fsync(whole.fileno())
        new.rename(place)
    finally:
        shutil.rmtree(new, ignore_errors=True)


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


@contextmanager
def _talk(guest: GuestProcess) -> Iterator[Any]:
    """A conversation with QEMU: a command and its arguments, or no command and an event."""
    path = str(guest.folder / "qmp")
    until = time.monotonic() + BOOT_TIMEOUT
    with socket.socket(socket.AF_UNIX) as line:
        while line.connect_ex(path):
            if not guest.alive():
                raise MachineDied("QEMU ended")
            if time.monotonic() > until:
                raise MachineTimeout("QEMU does not answer")
            time.sleep(0.01)
        line.settimeout(BOOT_TIMEOUT)
        with line.makefile("rw") as file:

            def say(command: str, event: str = "", **arguments: Any) -> dict[str, Any]:
                try:
                    if command:
                        file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
                        file.flush()
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
                except OSError:
                    pass
                raise MachineDied("QEMU ended")

            say("qmp_capabilities")
            yield say


def _remove_old(cache: Path) -> None:
    for left in cache.glob("snapshot-*.gone*"):
        shutil.rmtree(left, ignore_errors=True)  # somebody was killed while removing it
    for place in cache.glob("snapshot-*"):
        if time.time() - place.stat().st_mtime > OLD_SECONDS:
            remove(place)
