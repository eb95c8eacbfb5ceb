# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test whether KVM works on this computer, by booting a guest.

Checking /dev/kvm is not enough: on some computers it can be opened and a virtual machine can be
made, but every guest hangs. QEMU does not detect that and does not fall back to emulation.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from grader import sandbox
from grader.base import scratch

CPU = "host"
LIMIT = 12.0  # the guest's time limit in seconds; the whole probe takes less than 15
DEVICE = Path("/dev/kvm")
# The panic message of a kernel that has booted completely but has no root file system.
ROOTLESS = "Unable to mount root fs"


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def why_unavailable(vmlinuz: Path) -> str:
    """Return why KVM cannot be used; "" if the test guest has run.

    vmlinuz: the kernel in the cache. The result is cached there until this computer reboots.
    """
    if not DEVICE.exists():
        return "this computer has no /dev/kvm"
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return "this user may not open /dev/kvm; add the user to the group kvm"
    device = DEVICE.stat()
    if not (os.geteuid() or device.st_mode & 0o006 == 0o006 or sandbox.opens_by_group(device)):
        return "/dev/kvm is root's alone, and QEMU runs as another user: chmod 0666 /dev/kvm"
    memory = vmlinuz.parent.parent / "kvm.json"
    key = [_boot_id(), str(vmlinuz), vmlinuz.stat().st_mtime_ns]
    try:
        known = json.loads(memory.read_text())
        if known["key"] == key:
            return str(known["refused"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    reason = _probe(vmlinuz)
    new = memory.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps({"key": key, "refused": reason}))
    new.replace(memory)
    return reason


def _probe(vmlinuz: Path) -> str:
    """Boot a kernel without a root file system. If KVM works, the kernel panics and QEMU ends."""
    folder = scratch.folder()
    console = folder / "console.log"
    with console.open("wb") as output:
        process = subprocess.Popen(
            ["qemu-system-x86_64", "-name", str(folder), "-nodefaults", "-no-user-config",
             "-no-reboot", "-display", "none", "-machine", "pc", "-accel", "kvm", "-cpu", CPU,
             "-smp", "2", "-m", "256M", "-kernel", str(vmlinuz),
             "-append", "console=ttyS0 panic=-1 nokaslr mitigations=off",
             "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    late = False
    try:
        process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        late = True
    finally:
        scratch.kill_group(process.pid)
        # Do not wait for QEMU: the host kernel may keep it in an uninterruptible state.
        process.poll()
        text = console.read_text(errors="replace")
        scratch.remove(folder)
    if ROOTLESS in text:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1][-100:] if lines else "nothing"
    if late:
        return f"a guest hung under KVM and was killed after {LIMIT:.0f} s (last message: {last})"
    return f"a guest died under KVM (last message: {last})"
