# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define machine uml: a user-mode Linux kernel, which runs as an ordinary process without root."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from grader.base import paths
from grader.base.errors import LabError
from grader.lab import guest_process, setup_scripts
from grader.lab.machines import NOTHING, Contents
from grader.lab.module import Kernel


class Uml:
    """A machine that runs the lab kernel or another UML kernel that loads the same modules."""

    cpus = 1
    is_host = False

    def __init__(
        self,
        flavour: str,
        metric: str,
        memory_mb: int,
        arguments: str = "",
        linux: Path | None = None,
        before: Sequence[str] = (),  # prefix of the command line that starts the kernel
        debug: bool = False,
    ) -> None:
        self.name = flavour
        self.metric = metric
        self.debug = debug
        self._memory_mb = memory_mb
        self._arguments = arguments.split()
        self._linux = linux
        self._before = before

    @cache  # noqa: B019 - one object a flavour, for the life of the process
    def entry(self) -> Path:
        """Return the lab kernel's directory in the cache; build the kernel if it is missing."""
        return Path(setup_scripts.run("lab kernel not found", "lab-kernel.sh", self.name))

    def is_built(self) -> bool:
        """Return whether the cache has the lab kernel. Do not build it."""
        script = [str(paths.SCRIPTS / "lab-kernel.sh"), self.name, "--print"]
        return subprocess.run(script, capture_output=True).returncode == 0

    def verifier(self) -> Uml:
        """Return this machine, because no faster machine has the same kernel."""
        return self

    def facts(self) -> dict[str, str]:
        """Return the path of the executable if it is not the lab kernel, else no facts."""
        return {"linux": str(self._linux)} if self._linux else {}

    def _executable(self) -> Path:
        if self._linux and not os.access(self._linux, os.X_OK):
            raise LabError(
                f"{self._linux} is not a kernel that can be run",
                "set LAB_LINUX to the executable of a kernel",
            )
        return self._linux or self.entry() / "linux"

    def kernel(self) -> Kernel:
        """Return the lab kernel, for which modules are built."""
        entry = self.entry()
        info = json.loads((entry / "info.json").read_text())
        return Kernel(
            key=entry.name,
            tree=entry / "build",
            arch="um",
            release=str(info["kernel_release"]),
            compiler=str(info["compiler"]),
            instrumented=self.debug,
        )

    def _command(self, folder: Path, fds: dict[str, int]) -> Sequence[str]:
        channel = f"fd:{fds['channel.in']},fd:{fds['channel.out']}"
        shell = f"fd:{fds['shell.in']},fd:{fds['shell.out']}"
        return [
            *self._before,
            str(self._executable()),
            f"mem={self._memory_mb}M",
            f"initrd={folder / 'initramfs'}",
            "root=/dev/ram0",
            f"umid={folder.name}",
            f"uml_dir={folder}/",
            "con=null",
            "con0=null,fd:1",
            "ssl=null",
            f"ssl1={channel}",
            f"ssl2={shell}",
            # End the machine at once after a fault, so that a damaged kernel does not continue.
            "oops=panic",
            "panic=-1",
            "quiet",
            "lab.shell",
            *self._arguments,
        ]

    def _around(self) -> guest_process.Surroundings:
        """Return the environment, with TMPDIR as the folder for UML's unnamed memory file."""
        memory = {"TMPDIR": str(memory_folder(self._memory_mb << 20))}
        return guest_process.Surroundings({**os.environ, **memory})

    def boot(self, contents: Contents = NOTHING) -> guest_process.GuestProcess:
        """Start a machine that ends with this process."""
        self._executable()
        return guest_process.start(contents, self._command, self._around())

    def boot_to_stay(self, contents: Contents, folder: Path) -> guest_process.GuestProcess:
        """Start a machine that stays up after this process."""
        self._executable()
        return guest_process.start(contents, self._command, self._around(), folder)

    def attach(self, folder: Path) -> guest_process.GuestProcess | None:
        """Return the machine that stays up in folder, or None."""
        return guest_process.attach(folder)


def _why_not(folder: Path, size: int) -> str:
    """Return why folder cannot hold a machine's memory of size bytes; "" if it can."""
    try:
        facts = os.statvfs(folder)
        # Try to create a file, because root may fail on some file systems despite the mode bits.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return error.strerror or str(error)
    if facts.f_flag & os.ST_NOEXEC:
        return "mounted noexec"
    free = facts.f_bavail * facts.f_frsize
    # With less free space the machine would get SIGBUS later. f_blocks is 0 on a tmpfs without a
    # size limit.
    return "" if free >= size or not facts.f_blocks else f"only {free >> 20} MB free"


def memory_folder(size: int) -> Path:
    """Return a folder that can hold a machine's memory of size bytes, in RAM if possible.

    Raise LabError if no folder can.
    """
    tried = {}
    for folder in (Path("/dev/shm"), Path(tempfile.gettempdir()), Path("/var/tmp")):
        reason = _why_not(folder, size)
        if not reason:
            return folder
        tried[folder] = reason
    reasons = "; ".join(f"{folder}: {reason}" for folder, reason in tried.items())
    raise LabError(
        f"no room for the machine's memory of {size >> 20} MB ({reasons})",
        "set TMPDIR to a folder with as much free that is not mounted noexec",
    )


# LAB_LINUX names another executable with the source and configuration of the lab kernel.
_OTHER = os.environ.get("LAB_LINUX")
MACHINE = Uml("uml", "ns", 256, linux=Path(_OTHER).absolute() if _OTHER else None)
