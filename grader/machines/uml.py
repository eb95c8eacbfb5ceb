# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Machine uml: a kernel that is an ordinary process. Native speed, no root, half a second."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .. import paths
from ..build import Kernel
from ..errors import LabError
from . import guest


class Uml:
    """The lab kernel in user mode."""

    ruler = "ns"

    def __init__(self, flavour: str) -> None:
        self.name = flavour

    @cache  # noqa: B019 - one object a flavour, for the life of the process
    def entry(self) -> Path:
        """The lab kernel's directory in the cache; built when it is missing."""
        script = subprocess.run(
            [str(paths.SCRIPTS / "lab-kernel.sh"), self.name], stdout=subprocess.PIPE, text=True
        )
        if script.returncode:
            raise LabError("there is no lab kernel: see the message above")
        return Path(script.stdout.strip())

    def verifier(self) -> Uml:
        """Itself."""
        return self

    def facts(self) -> dict[str, str]:
        """Nothing beyond what every machine says."""
        return {}

    def kernel(self) -> Kernel:
        """The lab kernel, to build modules for."""
        entry = self.entry()
        info = json.loads((entry / "info.json").read_text())
        return Kernel(
            key=entry.name,
            tree=entry / "build",
            arch="um",
            release=str(info["kernel_release"]),
            compiler=str(info["compiler"]),
        )

    def _command(self, folder: Path, fds: dict[str, int]) -> Sequence[str]:
        wire = f"fd:{fds['wire.in']},fd:{fds['wire.out']}"
        shell = f"fd:{fds['shell.in']},fd:{fds['shell.out']}"
        return [
            str(self.entry() / "linux"),
            "mem=256M" if self.name == "uml" else "mem=768M",
            f"initrd={folder / 'initramfs'}",
            "root=/dev/ram0",
            f"umid={folder.name}",
            f"uml_dir={folder}/",
            "con=null",
            "con0=null,fd:1",
            "ssl=null",
            f"ssl1={wire}",
            f"ssl2={shell}",
            # A fault ends the machine, and so the run of that stage: nothing limps on.
            "oops=panic",
            "panic=-1",
            "quiet",
            "lab.shell",
        ]

    def boot(self, modules: dict[str, Path]) -> guest.GuestProcess:
        """Start one that ends with this process."""
        self.entry()
        return guest.start(modules, self._command)

    def boot_to_stay(self, modules: dict[str, Path], folder: Path) -> guest.GuestProcess:
        """Start one that stays up."""
        self.entry()
        return guest.start(modules, self._command, folder)

    def attach(self, folder: Path) -> guest.GuestProcess | None:
        """The one that stays up in folder, if any."""
        return guest.attach(folder)


MACHINE = Uml("uml")
