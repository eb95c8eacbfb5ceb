# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run sparse on the sources of a module through kbuild."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from grader.lab import module
from grader.lab.module import Kernel

# Define a compiler built-in that sparse lacks.
_KNOWN = "'-D__builtin_ia32_rdtsc()=0ull'"


def complaints(
    kernel: Kernel, directory: Path, shown: Mapping[str, str], target: str = "modules"
) -> list[str]:
    """Return the warnings and errors of sparse, one line each, for a directory of module.build.

    shown: display names of folders below directory ("" for directory itself). Messages about other
    files, such as kernel headers, are left out. target: the target for make.
    """
    # Set KBUILD_CHECKSRC and not C=2, because Debian's headers of Linux 7 lack a script that C=2
    # needs.
    make = subprocess.run(
        ["make", "-C", str(kernel.tree), f"M={directory}", f"ARCH={kernel.arch}",
         "KBUILD_CHECKSRC=2", f"CHECK=sparse {_KNOWN}", target],
        capture_output=True,
        text=True,
        env=module.environment(),
    )  # fmt: skip
    output = make.stdout + make.stderr
    if "CHECK" not in output:
        return [f"sparse has checked no file in {directory}: {output.strip()[-300:]}"]
    found = []
    for line in output.splitlines():
        for folder, name in shown.items():
            # Make the directory optional, because messages about preprocessed files contain
            # relative names.
            begin = rf"({re.escape(str(directory))}/)?{re.escape(folder)}"
            if match := re.match(rf"{begin}(?=/[^/\s]+: (warning|error):)", line):
                found.append(f"{name}{line[match.end() :]}")
    if make.returncode:
        found.append(f"sparse could not run: {make.stderr.strip()[-300:]}")
    return found
