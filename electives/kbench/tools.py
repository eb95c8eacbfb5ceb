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

# Older ones lack inline stack probes, or have not been tried.
OLDEST = 14
SET_UP = "scripts/setup.sh kbench installs it"


@cache
def version() -> int:
    """LLVM's version, that is llc's: the first of its numbers."""
    for name in ("clang", "llc"):
        if shutil.which(name) is None:
            raise LabError(f"there is no {name}: {SET_UP}")
    said = subprocess.run(["llc", "--version"], capture_output=True, text=True).stdout
    match = re.search(r"LLVM version (\d+)", said)
    if match is None or int(match[1]) < OLDEST:
        raise LabError(f"llc is of LLVM {match[1] if match else '?'}: {OLDEST} or later is needed")
    return int(match[1])


def run(
    command: Sequence[str | Path], folder: Path, isolated: bool, read: Sequence[Path] = ()
) -> CommandResult:
    """Run a tool whose results go into folder; isolated: what it reads there is untrusted.

    read: what else it has to see.
    """
    scratch.check_stopped()
    room = SandboxView(read=tuple(read), write=(folder,)) if isolated else None
    result = sandbox.run(command, COMPILER, room, cwd=None if room else folder)
    result.check_host(folder)
    return result


def must(command: Sequence[str | Path], folder: Path, isolated: bool, what: str) -> str:
    """The output of a tool that has no reason to fail."""
    result = run(command, folder, isolated)
    if result.status != 0:
        said = result.error_text.strip().splitlines()
        raise LabError(
            f"{what}: {Path(command[0]).name}: {result.cause or (said or ['failed'])[0]}"
        )
    return result.text
