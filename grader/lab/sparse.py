# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""sparse over the sources of a module, as kbuild runs it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from grader.lab import module
from grader.lab.module import Kernel

# A built-in function of the compilers that sparse does not have.
_KNOWN = "'-D__builtin_ia32_rdtsc()=0ull'"


def complaints(
    kernel: Kernel, directory: Path, shown: Mapping[str, str], target: str = "modules"
) -> list[str]:
    """What sparse has to say, a line each, of a directory that module.build has made.

    shown: by folder below it, "" for itself, what a person calls it; headers of the kernel are not
    ours to mend. target: what make is asked for.
    """
    # C=2 would do, but Debian's headers of Linux 7 lack the script that asks then for sparse.
    make = subprocess.run(
        ["make", "-C", str(kernel.tree), f"M={directory}", f"ARCH={kernel.arch}",
         "KBUILD_CHECKSRC=2", f"CHECK=sparse {_KNOWN}", target],
        capture_output=True,
        text=True,
        env=module.environment(),
    )  # fmt: skip
    output = make.stdout + make.stderr
    if "CHECK" not in output:
        return [f"sparse has looked at nothing in {directory}: {output.strip()[-300:]}"]
    found = []
    for line in output.splitlines():
        for folder, name in shown.items():
            # A preprocessed text has the names of its sources in it, which are relative.
            begin = rf"({re.escape(str(directory))}/)?{re.escape(folder)}"
            if match := re.match(rf"{begin}(?=/[^/\s]+: (warning|error):)", line):
                found.append(f"{name}{line[match.end() :]}")
    if make.returncode:
        found.append(f"sparse could not run: {make.stderr.strip()[-300:]}")
    return found
