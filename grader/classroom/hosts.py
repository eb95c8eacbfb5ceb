# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Other computers, by ssh: the kit and its cache brought to where they are here.

The same paths: kernels and Python environments know their own. The same kernel, compiler and
emulator: then par counts there as it does here.
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
    """The hosts of a file as parallel's --sshloginfile takes it: [JOBS/][USER@]HOST a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        said = in_one_line(error) if isinstance(error, OSError) else "no text"
        raise LabError(f"--hosts {path}: {said}; a host a line, like 4/user@host") from error
    named = [line.split("#")[0].strip() for line in lines]
    named = [line for line in named if line]
    for line in named:
        if not re.fullmatch(r"(\d+/)?[\w.@:%+-]+", line, re.ASCII) or line.startswith("-"):
            raise LabError(f"--hosts {path}: {line!r} is no host: one a line, like 4/user@host")
        if line.rsplit("/", 1)[-1] == ":":
            raise LabError(f"--hosts {path}: name this computer as localhost, with an ssh server")
    if not named:
        raise LabError(f"--hosts {path} names no host: one a line, like 4/user@host")
    return [re.sub(r"^\d+/", "", line) for line in named]


def prepare(path: Path, ssh: str, packages: str, progress: Progress) -> None:
    """Bring the kit and its cache to the hosts, and install what it needs of the system there.

    packages: the group of packages that the exercise needs; "" for none.
    """
    # Of the cache what grading takes: the distribution's kernel, the Python environment.
    environment = Path(sys.prefix)
    cache = environment.parent
    found = [environment, machines.get("qemu").kernel().tree.absolute().parent]
    # What an elective keeps there, and the packages it needs, have its name.
    found += sorted(found[1].parent.glob(f"{packages}-*")) if packages else []
    for host in read(path):
        progress.step(f"bring the kit to {host}")
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
        said = (completed.stderr.strip().splitlines() or [f"status {completed.returncode}"])[-1]
        raise LabError(f"{host}: {said}; {command[0]} must get through without a question")
