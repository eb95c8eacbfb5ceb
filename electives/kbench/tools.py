# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run clang, llc and the GNU binutils within limits, and in the sandbox for untrusted sources."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from grader import sandbox
from grader.base import scratch
from grader.base.errors import LabError
from grader.sandbox import COMPILER, CommandResult, SandboxView

# Oldest supported LLVM: older versions have no inline stack probes, or are not tested.
OLDEST = 14


@cache
def version() -> int:
    """Return the major version of LLVM, as llc prints it."""
    for name in ("clang", "llc"):
        if shutil.which(name) is None:
            raise LabError(f"{name} not found", "run scripts/setup.sh kbench")
    output = subprocess.run(["llc", "--version"], capture_output=True, text=True).stdout
    match = re.search(r"LLVM version (\d+)", output)
    if match is None or int(match[1]) < OLDEST:
        raise LabError(
            f"llc is of LLVM {match[1] if match else '?'}, which is too old",
            f"install LLVM {OLDEST} or later",
        )
    return int(match[1])


def run(
    command: Sequence[str | Path], folder: Path, isolated: bool, read: Sequence[Path] = ()
) -> CommandResult:
    """Run a tool that writes into a folder.

    isolated: use the sandbox, because the files in the folder are untrusted. read: other paths that
    the tool must read.
    """
    scratch.check_stopped()
    room = SandboxView(read=tuple(read), write=(folder,)) if isolated else None
    result = sandbox.run(command, COMPILER, room, cwd=None if room else folder)
    result.check_host(folder)
    return result


def must(command: Sequence[str | Path], folder: Path, isolated: bool, what: str) -> str:
    """Run a tool that should not fail. Return its output, or raise LabError."""
    result = run(command, folder, isolated)
    if result.status != 0:
        output_lines = result.error_text.strip().splitlines()
        raise LabError(
            f"{what}: {Path(command[0]).name}: {result.cause or (output_lines or ['failed'])[0]}",
            "correct the program",
        )
    return result.text
