# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define machine qemu: the distribution's kernel in QEMU.

The machine has three flavours:
  qemu      one emulated CPU that counts instructions: each instruction takes one nanosecond of
            guest time, so the TSC counts instructions
  qemu-smp  two emulated CPUs that run at the same time, for tests that need concurrency
  qemu-kvm  this computer's CPU, through KVM; available if a probe has shown that KVM works
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from grader import sandbox
from grader.base.errors import LabError, MachineKilled
from grader.lab import guest_process, kvm, plugin, setup_scripts, snapshot
from grader.lab.guest_process import Surroundings
from grader.lab.machines import NOTHING, Contents
from grader.lab.module import Kernel
from grader.sandbox import SandboxView

QEMU = "qemu-system-x86_64"

# The CPU model affects the counts, because the kernel selects code such as memcpy by CPU features.
# This is the simplest model, plus the instructions that bignum code may use. ERMS is off, because
# with ERMS the kernel copies with "rep movsb", which counts one instruction for each byte.
EMULATED_CPU = "qemu64,+bmi1,+bmi2,+adx,+popcnt"
# Further features for a module with vector files: AVX2, FMA, the features that QEMU requires for
# them, and XSAVE, with which the kernel saves the vector registers. LZCNT ("abm") is required, too,
# because from glibc 2.41 on memrchr() and other functions use the instruction LZCNT on every
# processor with AVX2. Without the feature, the same bytes are the instruction BSR, which returns
# another result.
AVX2 = "+abm,+ssse3,+sse4.1,+sse4.2,+xsave,+xsaveopt,+xgetbv1,+avx,+avx2,+fma"

KERNEL_ARGUMENTS = (
    "console=ttyS0 quiet panic=-1 oops=panic"
    # Load the kernel at the same addresses in every boot.
    " nokaslr"
    # Switch off the clearing of each allocated block, a default of Debian's and Ubuntu's kernels,
    # because its instructions would be counted as the module's.
    " init_on_alloc=0 init_on_free=0"
    # Switch off mitigations of CPU vulnerabilities, because they would add instructions to each
    # indirect call and return, depending on the CPU model. A guest with one user does not need
    # them.
    " mitigations=off"
    " audit=0 apparmor=0"
)
# Skip the kernel's timer check, a busy wait that is not needed under emulation.
EMULATED_ARGUMENTS = "no_timer_check"
# With counting, the TSC runs at 1 GHz of guest time. The calibration of the local APIC timer waits
# busily, which takes seconds under emulation; one CPU does not need that timer.
CLOCK_ARGUMENTS = "tsc_early_khz=1000000 tsc=reliable nolapic_timer"
# Without high-resolution timers a sleeping program wakes at a timer tick. So a program that counts
# by the TSC can start right after a tick.
COUNTING_ARGUMENTS = f"{CLOCK_ARGUMENTS} highres=off"
COUNTING = ("-accel", "tcg", "-icount", "shift=0,sleep=off")
# QEMU's own system call filter blocks calls that start processes or change users or priorities.
SECCOMP = (
    "-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
)  # fmt: skip


class Qemu:
    """A flavour of machine qemu, with its accelerator and CPU model."""

    debug = False
    is_host = False

    def __init__(
        self, name: str, metric: str, accel: Sequence[str], cpus: int, arguments: str, cpu: str
    ) -> None:
        self.name = name
        self.metric = metric
        self._accel = accel
        self.cpus = cpus
        self._arguments = arguments
        self._cpu = cpu

    def verifier(self) -> Qemu:
        """Return the fastest flavour, because only measurements need counting."""
        return fastest() if self is MACHINE else self

    def kernel(self) -> Kernel:
        """Return the distribution's kernel, for which modules are built."""
        return _kernel()

    def facts(self) -> dict[str, str]:
        """Return facts that instruction counts depend on, besides the sources and the compiler."""
        return {
            "emulator": _version(),
            "kernel_package": str(_info()["source"]),
            "vmlinuz_sha256": str(_info()["vmlinuz_sha256"]),
            "cpu": self._cpu,
            "arguments": f"{KERNEL_ARGUMENTS} {self._arguments}".strip(),
        }

    def _command(self, folder: Path, fds: dict[str, int]) -> Sequence[str]:
        return [
            QEMU, *_seccomp(),
            "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", "pc", *self._accel, "-cpu", self._cpu, "-smp", str(self.cpus),
            "-m", "256M",
            "-kernel", str(_entry() / "vmlinuz"),
            "-initrd", str(folder / "initramfs"),
            "-append", f"{KERNEL_ARGUMENTS} {self._arguments} lab.shell",
            "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
            "-chardev", f"pipe,id=channel,path={folder}/channel", "-serial", "chardev:channel",
            "-chardev", f"pipe,id=shell,path={folder}/shell", "-serial", "chardev:shell",
        ]  # fmt: skip

    def _prepare(self) -> None:
        _entry()
        if self is KVM:
            reason = kvm.why_unavailable(_entry() / "vmlinuz")
            if reason:
                raise LabError(f"no machine qemu-kvm: {reason}", "choose machine=qemu")

    def _view(self, folder: Path, counts: bool = False) -> SandboxView:
        """Return the files that QEMU sees besides the system's programs and firmware."""
        read = [_entry() / "vmlinuz", folder / "initramfs", folder / "files"]
        shared = [folder / f"{line}.{end}" for line in guest_process.LINES for end in ("in", "out")]
        if self is KVM:
            shared.append(kvm.DEVICE)
        if counts:
            read += [plugin.program(), folder / plugin.ADDRESSES]
            shared.append(plugin.output(folder))
        for path in read:
            if path.parent == folder and path.exists():
                path.chmod(0o644)  # QEMU may run as another user, who must be able to read the file
        return SandboxView(
            (*(path for path in read if path.exists()), *_elsewhere()), shared=tuple(shared)
        )

    def boot(
        self, contents: Contents = NOTHING, digits: int | None = None
    ) -> guest_process.GuestProcess:
        """Start a machine that ends with this process, confined if a sandbox is available.

        digits: count instructions, and record at most that many digits: see plugin.py.
        """
        if contents.vectors and self is MACHINE:
            return VECTORS.boot(contents, digits)
        self._prepare()
        confined = not _unconfined()

        def command(folder: Path, fds: dict[str, int]) -> Sequence[str]:
            plugins = plugin.options(folder, digits) if digits is not None else []
            return [*self._command(folder, fds), *plugins]

        def room(folder: Path) -> SandboxView:
            return self._view(folder, counts=digits is not None)

        around = Surroundings(view=room if confined else None)
        if self is not KVM:  # KVM boots fast and needs no snapshot
            facts = f"{_info()['vmlinuz_sha256']} {_version()}"
            alone = Surroundings(view=self._view if confined else None)
            kept = snapshot.obtain(_entry().parent, self.name, self._command, facts, alone)
            if kept:
                try:
                    return snapshot.resume(kept, contents, command, around)
                except MachineKilled:
                    raise  # keep the snapshot, which is not the cause
                except LabError:
                    snapshot.remove(kept)
        return guest_process.start(contents, command, around)

    def cannot_count(self) -> str:
        """Return why instructions cannot be counted here, in one line; "" if they can."""
        return plugin.why_unavailable(QEMU)

    def boot_to_stay(self, contents: Contents, folder: Path) -> guest_process.GuestProcess:
        """Start a machine that stays up after this process.

        A counting machine would keep a CPU of this computer busy even while the guest is idle, so
        this method starts the fastest flavour instead.
        """
        stays = self if self is not MACHINE else fastest()
        stays._prepare()
        return guest_process.start(contents, stays._command, folder=folder)

    def attach(self, folder: Path) -> guest_process.GuestProcess | None:
        """Return the machine that stays up in folder, or None."""
        return guest_process.attach(folder)


@cache
def _entry() -> Path:
    """Return the kernel's directory in the cache; download the kernel if it is missing."""
    if shutil.which(QEMU) is None:
        _run_script("setup.sh", "qemu")
    return Path(_run_script("distro-kernel.sh"))


def _run_script(name: str, *arguments: str) -> str:
    return setup_scripts.run("machine qemu is not available", name, *arguments)


@cache
def _info() -> dict[str, object]:
    info: dict[str, object] = json.loads((_entry() / "info.json").read_text())
    return info


@cache
def _kernel() -> Kernel:
    command = str(_info()["cc"])
    if shutil.which(command) is None:
        _run_script("setup.sh", "qemu")
        if shutil.which(command) is None:
            raise LabError(
                f"the kernel was compiled with {command}, which is missing", "install that package"
            )
    return Kernel(
        key=_entry().name,
        tree=_entry() / "build",
        arch="x86",
        release=str(_info()["kernel_release"]),
        compiler=_first_line(command),
    )


@cache
def _unconfined() -> str:
    """Return the reason why machines run unconfined, and print it once; "" if confined.

    Untrusted submissions do not get here without a sandbox: see grader.sandbox.require.
    """
    why = sandbox.why_unavailable()
    if why:
        print(f"note: QEMU is not confined: {why}", file=sys.stderr, flush=True)
    return why


@cache
def _elsewhere() -> tuple[Path, ...]:
    """Return the folder in which QEMU is installed, unless it is a system folder."""
    prefix = Path(shutil.which(QEMU) or "/usr/bin/-").resolve().parent.parent
    return () if prefix.is_relative_to("/usr") or prefix == Path("/") else (prefix,)


@cache
def _seccomp() -> tuple[str, ...]:
    """Return the seccomp options of QEMU; none if QEMU was built without seccomp."""
    known = subprocess.run([QEMU, *SECCOMP, "--version"], capture_output=True).returncode == 0
    return SECCOMP if known else ()


@cache
def _version() -> str:
    return _first_line(QEMU)


def _first_line(command: str) -> str:
    run = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()[0]


MACHINE = Qemu(
    "qemu",
    "instructions",
    COUNTING,
    1,
    f"{EMULATED_ARGUMENTS} {COUNTING_ARGUMENTS}",
    EMULATED_CPU,
)
# Modules with vector files have this separate machine with its own snapshot, so that the counts of
# other modules do not change.
VECTORS = Qemu(
    "qemu-avx2",
    "instructions",
    COUNTING,
    1,
    f"{EMULATED_ARGUMENTS} {COUNTING_ARGUMENTS}",
    f"{EMULATED_CPU},{AVX2}",
)
# This CPU model is for machines that do not count. SMAP and SMEP detect accesses to user memory
# without copy_from_user and the like, and vector registers are present so that tests can detect
# damage.
GUARDED_CPU = f"{EMULATED_CPU},+smap,+smep,{AVX2}"
SMP = Qemu("qemu-smp", "", ("-accel", "tcg"), 2, EMULATED_ARGUMENTS, GUARDED_CPU)
KVM = Qemu("qemu-kvm", "ns", ("-accel", "kvm"), 2, "", kvm.CPU)


def fastest() -> Qemu:
    """Return KVM if a probe has shown that it works, else emulation with two CPUs."""
    return SMP if kvm.why_unavailable(_entry() / "vmlinuz") else KVM
