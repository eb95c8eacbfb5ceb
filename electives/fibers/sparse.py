# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run sparse over the module's sources; exit 1 when it has anything to say."""

from __future__ import annotations

import re
import subprocess
import sys

from electives.fibers import parts
from grader.base import command, paths
from grader.lab import machines, module


def main() -> int:
    """Build the module, then let kbuild run sparse over the same files."""
    target = machines.get("uml").kernel()
    directory = parts.built(target).directory
    make = subprocess.run(
        ["make", "-C", str(target.tree), f"M={directory}", f"ARCH={target.arch}", "C=2",
         "CHECK=sparse", "modules"],
        capture_output=True,
        text=True,
        env=module.environment(),
    )  # fmt: skip
    said = []
    for line in (make.stdout + make.stderr).splitlines():
        # The kernel's own headers are not ours to mend.
        if re.match(rf"{re.escape(str(directory))}/\S+: (warning|error):", line):
            said.append(line.replace(str(directory), paths.shown(parts.SOURCES)))
    if make.returncode:
        said.append(f"sparse could not run: {make.stderr.strip()[-300:]}")
    print("".join(f"{line}\n" for line in said), end="")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(command.end("sparse", main))
