# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Copy the kit and its cache to other hosts by ssh, at the same paths as here.

The paths must be equal, because kernels and Python environments contain their own paths. Kernel,
compiler and emulator must be equal so that instruction counts can be compared with par.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from grader.base import paths
from grader.base.errors import LabError, in_one_line
from grader.base.progress import Progress
from grader.lab import machines


def read(path: Path) -> list[str]:
    """Return the hosts of a file for parallel's --sshloginfile: [JOBS/][USER@]HOST on each line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        message = in_one_line(error) if isinstance(error, OSError) else "no text"
        raise LabError(
            f"--hosts {path}: {message}", "give a file with one host in each line, like 4/user@host"
        ) from error
    named = [line.split("#")[0].strip() for line in lines]
    named = [line for line in named if line]
    for line in named:
        if not re.fullmatch(r"(\d+/)?[\w.@:%+-]+", line, re.ASCII) or line.startswith("-"):
            raise LabError(
                f"--hosts {path}: {line!r} is not a host",
                "write one host in each line, like 4/user@host",
            )
        if line.rsplit("/", 1)[-1] == ":":
            raise LabError(
                f"--hosts {path}: : (this computer) is not supported",
                "write localhost, which needs an ssh server",
            )
    if not named:
        raise LabError(
            f"--hosts {path}: no host is named", "write one host in each line, like 4/user@host"
        )
    return [re.sub(r"^\d+/", "", line) for line in named]


def prepare(path: Path, ssh: str, packages: str, progress: Progress) -> None:
    """Copy the kit and its cache to the hosts, and install the system packages it needs there.

    packages: the group of packages that the exercise needs; "" for none.
    """
    # Copy only the parts of the cache that grading needs: the distribution's kernel and the Python
    # environment.
    environment = Path(sys.prefix)
    cache = environment.parent
    found = [environment, machines.get("qemu").kernel().tree.absolute().parent]
    # Also copy the folders of an elective, whose names begin with the name of its package group.
    found += sorted(found[1].parent.glob(f"{packages}-*")) if packages else []
    for host in read(path):
        progress.step(f"copy the kit to {host}")
        _run([*ssh.split(), host, f"mkdir -p {_quoted(paths.ROOT)} {_quoted(cache)}"], host)
        sync = ["rsync", "-a", "--delete", "-e", ssh]
        kit = [
            *sync,
            "--exclude=/build",
            "--exclude=/.git",
            "--exclude=__pycache__",
            "--exclude=/work",
        ]
        _run([*kit, f"{paths.ROOT}/", f"{host}:{_quoted(paths.ROOT)}/"], host)
        for one in found:
            _run([*sync, f"{one}/", f"{host}:{_quoted(one)}/"], host)
        setup = paths.SCRIPTS / "setup.sh"
        _run([*ssh.split(), host, f"{_quoted(setup)} core qemu sandbox {packages}"], host)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _run(command: list[str], host: str) -> None:
    completed = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if completed.returncode:
        output = (completed.stderr.strip().splitlines() or [f"status {completed.returncode}"])[-1]
        raise LabError(f"{host}: {output}", f"set {command[0]} up so that it asks no questions")
