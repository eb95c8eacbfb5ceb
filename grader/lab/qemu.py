# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Machine qemu: the distribution's own kernel on a computer that is emulated.

Three flavours of one machine:
  qemu      one CPU, instructions counted: every instruction takes one nanosecond of the
            machine's time, so that its TSC counts instructions
  qemu-smp  two CPUs that run at the same time: for what needs concurrency
  qemu-kvm  this computer's CPU, by KVM, where a probe has shown that it works
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
from grader.base import paths
from grader.base.errors import LabError, MachineKilled
from grader.lab import guest_process, kvm, plugin, snapshot
from grader.lab.guest_process import Surroundings
from grader.lab.machines import NOTHING, Contents
from grader.lab.module import Kernel
from grader.sandbox import SandboxView

QEMU = "qemu-system-x86_64"

# The model of the CPU decides which code the kernel picks for itself (memcpy, for one), and
# so what is counted: the plainest there is, plus the instructions that bignum code may want.
# ERMS stays off: by it the kernel copies with "rep movsb", which counts one for each byte.
EMULATED_CPU = "qemu64,+bmi1,+bmi2,+adx,+popcnt"
# And for a module with vector files: AVX2, FMA and what QEMU expects below them, and XSAVE, by
# which the kernel saves their registers.
AVX2 = "+ssse3,+sse4.1,+sse4.2,+xsave,+xsaveopt,+xgetbv1,+avx,+avx2,+fma"

KERNEL_ARGUMENTS = (
    "console=ttyS0 quiet panic=-1 oops=panic"
    # The same addresses in every boot.
    " nokaslr"
    # Debian and Ubuntu clear each block they hand out; what a module allocates may be counted by
    # blocks and bytes, and clearing them is none of its work.
    " init_on_alloc=0 init_on_free=0"
    # A guest of one user has nobody to protect; with it each indirect call and return would
    # count several times, by the CPU model's weaknesses.
    " mitigations=off"
    " audit=0 apparmor=0"
)
# What the kernel would find out by busy waiting, and does not get wrong under emulation.
EMULATED_ARGUMENTS = "no_timer_check"
# Counting instructions, the TSC is QEMU's clock of nanoseconds, and busy waiting takes seconds:
# the local APIC's timer is calibrated so, and one CPU can do without it.
CLOCK_ARGUMENTS = "tsc_early_khz=1000000 tsc=reliable nolapic_timer"
# Without high resolution a sleeper wakes with a timer tick, never between two: so that programs
# which count by the TSC can begin just behind one.
COUNTING_ARGUMENTS = f"{CLOCK_ARGUMENTS} highres=off"
COUNTING = ("-accel", "tcg", "-icount", "shift=0,sleep=off")
# System calls that QEMU forbids itself once it has begun: of other processes, users, priorities.
SECCOMP = (
    "-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
)  # fmt: skip


class Qemu:
    """One flavour: how its CPUs run."""

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
        """The fastest flavour: counting instructions is for measuring only."""
        return fastest() if self is MACHINE else self

    def kernel(self) -> Kernel:
        """The distribution's kernel, to build modules for."""
        return _kernel()

    def facts(self) -> dict[str, str]:
        """What a count of instructions depends on, besides the sources and their compiler."""
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
                raise LabError(f"no machine qemu-kvm: {reason}; say machine=qemu")

    def _view(self, folder: Path, counts: bool = False) -> SandboxView:
        """Return what the machine's process sees besides the system's programs and firmware."""
        read = [_entry() / "vmlinuz", folder / "initramfs", folder / "files"]
        shared = [folder / f"{line}.{end}" for line in guest_process.LINES for end in ("in", "out")]
        if self is KVM:
            shared.append(kvm.DEVICE)
        if counts:
            read += [plugin.program(), folder / plugin.ADDRESSES]
            shared.append(plugin.output(folder))
        for path in read:
            if path.parent == folder and path.exists():
                path.chmod(0o644)  # its user may be another one than ours
        return SandboxView(
            (*(path for path in read if path.exists()), *_elsewhere()), shared=tuple(shared)
        )

    def boot(
        self, contents: Contents = NOTHING, digits: int | None = None
    ) -> guest_process.GuestProcess:
        """Start one that ends with this process; it is confined where there is a sandbox.

        digits: its instructions are counted, and at most that many digits recorded: see plugin.py.
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
        if self is not KVM:  # which boots in no time, and is another one on each computer
            facts = f"{_info()['vmlinuz_sha256']} {_version()}"
            alone = Surroundings(view=self._view if confined else None)
            kept = snapshot.obtain(_entry().parent, self.name, self._command, facts, alone)
            if kept:
                try:
                    return snapshot.resume(kept, contents, command, around)
                except MachineKilled:
                    raise  # the snapshot is as good as before
                except LabError:
                    snapshot.remove(kept)
        return guest_process.start(contents, command, around)

    def cannot_count(self) -> str:
        """Return why instructions cannot be counted here, in one line; "" if they can."""
        return plugin.why_unavailable(QEMU)

    def boot_to_stay(self, contents: Contents, folder: Path) -> guest_process.GuestProcess:
        """Start one that stays up.

        It is the fastest flavour there is: one that counts instructions never rests, it keeps
        a CPU of this computer busy even while nothing happens.
        """
        stays = self if self is not MACHINE else fastest()
        stays._prepare()
        return guest_process.start(contents, stays._command, folder=folder)

    def attach(self, folder: Path) -> guest_process.GuestProcess | None:
        """The one that stays up in folder, if any."""
        return guest_process.attach(folder)


@cache
def _entry() -> Path:
    """The kernel's directory in the cache; fetched when it is missing."""
    if shutil.which(QEMU) is None:
        _run_script("setup.sh", "qemu")
    return Path(_run_script("distro-kernel.sh"))


def _run_script(name: str, *arguments: str) -> str:
    script = subprocess.run(
        [str(paths.SCRIPTS / name), *arguments], stdout=subprocess.PIPE, text=True
    )
    if script.returncode:
        raise LabError("the machine qemu is not there: see the message above")
    return script.stdout.strip()


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
            raise LabError(f"the kernel was compiled with {command}: install that package")
    return Kernel(
        key=_entry().name,
        tree=_entry() / "build",
        arch="x86",
        release=str(_info()["kernel_release"]),
        compiler=_first_line(command),
    )


@cache
def _unconfined() -> str:
    """Why machines run unconfined, said once; nothing where they are confined.

    An untrusted submission has been refused before: grader.sandbox.require.
    """
    why = sandbox.why_unavailable()
    if why:
        print(f"note: QEMU is not confined: {why}", file=sys.stderr, flush=True)
    return why


@cache
def _elsewhere() -> tuple[Path, ...]:
    """Return where QEMU is installed, if that is none of the system's folders."""
    prefix = Path(shutil.which(QEMU) or "/usr/bin/-").resolve().parent.parent
    return () if prefix.is_relative_to("/usr") or prefix == Path("/") else (prefix,)


@cache
def _seccomp() -> tuple[str, ...]:
    """Return the options that have QEMU filter its system calls; none if it was built without."""
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
# The same with another CPU, and so with a snapshot of its own: all others count as they did.
VECTORS = Qemu(
    "qemu-avx2",
    "instructions",
    COUNTING,
    1,
    f"{EMULATED_ARGUMENTS} {COUNTING_ARGUMENTS}",
    f"{EMULATED_CPU},{AVX2}",
)
# Where nothing is counted, the kernel's guards are up: user memory is out of its reach but by
# copy_from_user and the like, and there are vectors that somebody might spoil.
GUARDED_CPU = f"{EMULATED_CPU},+smap,+smep,{AVX2}"
SMP = Qemu("qemu-smp", "", ("-accel", "tcg"), 2, EMULATED_ARGUMENTS, GUARDED_CPU)
KVM = Qemu("qemu-kvm", "ns", ("-accel", "kvm"), 2, "", kvm.CPU)


def fastest() -> Qemu:
    """KVM where it is proved, else emulation on two CPUs."""
    return SMP if kvm.why_unavailable(_entry() / "vmlinuz") else KVM
