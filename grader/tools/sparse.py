# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run sparse over every stage's module; exit 1 when it has anything to say."""

from __future__ import annotations

import re
import subprocess
import sys

from grader.base import command, paths
from grader.base.errors import LabError
from grader.lab import machines, module
from grader.stage import build, stages


def main() -> int:
    """Build each stage, then let kbuild run sparse over the same files."""
    kernel = machines.get("uml").kernel()
    said = 0
    for stage in stages.find(paths.STAGES):
        built = build.build(stage, kernel)
        if not built.ok:
            raise LabError(f"stage {stage.number} does not compile: {built.cause}")
        directory = built.module.directory
        make = subprocess.run(
            ["make", "-C", str(kernel.tree), f"M={directory}", f"ARCH={kernel.arch}", "C=2",
             "CHECK=sparse", "modules"],
            capture_output=True,
            text=True,
            env=module.environment(),
        )  # fmt: skip
        ours = re.escape(f"{directory}/")
        for line in (make.stdout + make.stderr).splitlines():
            # The kernel's own headers are not ours to mend.
            if re.match(rf"{ours}(stage|kit)/\S+: (warning|error):", line):
                print(line.replace(f"{directory}/stage/", f"{paths.shown(stage.directory)}/"))
                said += 1
        if make.returncode:
            print(f"stage {stage.number}: sparse could not run: {make.stderr.strip()[-300:]}")
            said += 1
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(command.end("sparse", main))
