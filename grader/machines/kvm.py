# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Whether KVM works here. Only a boot can tell.

A /dev/kvm that opens, and on which a virtual machine can be made, may still hang every guest;
QEMU does not notice, and does not fall back.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from .guest import kill_group, runtime_base

CPU = "host"
LIMIT = 12.0  # seconds for the probe, with all that is around it below 15
DEVICE = Path("/dev/kvm")


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def refused(vmlinuz: Path) -> str:
    """Why KVM cannot be used; empty when a guest has run. Found out once a boot of the host."""
    if not DEVICE.exists():
        return "this computer has no /dev/kvm"
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return "/dev/kvm may not be opened (is this user in the group kvm?)"
    memory = runtime_base() / "kvm.json"
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
    """Boot a kernel without a root file system: it panics, and ends QEMU by that."""
    with tempfile.TemporaryFile(dir=runtime_base()) as output:
        process = subprocess.Popen(
            ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot",
             "-display", "none", "-machine", "pc", "-accel", "kvm", "-cpu", CPU, "-smp", "2",
             "-m", "256M", "-kernel", str(vmlinuz),
             "-append", "console=ttyS0 panic=-1 nokaslr mitigations=off",
             "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(LIMIT)
            late = False
        except subprocess.TimeoutExpired:
            late = True
        finally:
            _end(process)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if "Unable to mount root fs" in text or "No working init found" in text:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1][:100] if lines else "nothing"
    if late:
        return f"a guest hung under KVM and was given up after {LIMIT:.0f} s (it said {last})"
    return f"a guest died under KVM (it said {last})"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill it; never wait for a process that the kernel holds."""
    kill_group(process.pid)
    until = time.monotonic() + 1
    while process.poll() is None and time.monotonic() < until:
        os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.02)
