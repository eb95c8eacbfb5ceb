# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Call the sandbox in tests, as the current user and, if that is root, also as nobody."""

from __future__ import annotations

import itertools
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import sandbox
from grader.base import paths
from grader.sandbox import CommandResult, ResourceLimits, SandboxView

HERE = Path(__file__).parent / "sandbox"
MB = 1 << 20
NOBODY = 65534
SECRET = "what the host keeps to itself"
# The limits are low, so that the attacks do not slow down this computer.
TIGHT = ResourceLimits(
    wall_seconds=30,
    cpu_seconds=10,
    memory_bytes=300 * MB,
    processes=20,
    file_bytes=4 * MB,
    store_bytes=16 * MB,
    store_files=500,
    output_bytes=MB,
)
EMPTY = SandboxView()
USERS = ("us", "nobody") if os.geteuid() == 0 else ("us",)
PYTHON = os.path.realpath(sys.executable)

needs_sandbox = pytest.mark.skipif(
    bool(sandbox.why_unavailable()), reason=sandbox.why_unavailable() or "-"
)


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """Yield a folder that every user can read, with the attack program and a copy of the kit."""
    folder = Path(tempfile.mkdtemp(prefix="fibdrv-lab-sandbox-"))
    folder.chmod(0o755)
    shutil.copytree(
        paths.ROOT / "grader", folder / "kit/grader", ignore=shutil.ignore_patterns("__pycache__")
    )
    # Copy the kit, because the checkout may be readable by its owner only.
    shutil.copy(HERE / "as_user.py", folder)
    gcc = ["gcc", "-std=gnu11", "-O1", "-w", "-static", "-pthread"]
    subprocess.run([*gcc, "-o", str(folder / "attack"), str(HERE / "attack.c")], check=True)
    (folder / "secret").write_text(f"{SECRET}\n")
    yield folder
    # Let any user remove the files that a sandbox leaves.
    shutil.rmtree(folder)


class Caller:
    """A callable that runs commands in the sandbox as one user, in a folder of that user."""

    def __init__(self, user: str, place: Path) -> None:
        self.place = place
        self.other = user == "nobody"
        self.attack = place / "attack"
        self.folder = Path(tempfile.mkdtemp(prefix=f"{user}-", dir=place))
        self.folder.chmod(0o755)
        self._numbers = itertools.count()
        if self.other:
            os.chown(self.folder, NOBODY, NOBODY)

    def argv(self, *request: Any) -> tuple[list[str], Path]:
        """Return the command that runs as_user.py, and the file for its result."""
        name = f"{next(self._numbers)}"
        (self.folder / f"{name}.in").write_bytes(pickle.dumps(request))
        answer = self.folder / f"{name}.out"
        become = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
        return [
            *(["setpriv", *become] if self.other else []),
            *(
                "env",
                f"HOME={self.folder}",
                f"LAB_BUILD={self.folder}/build",
                "LAB_SECRET=swordfish",
            ),
            *(PYTHON, "-S", "-B", str(self.place / "as_user.py"), str(self.place / "kit")),
            *(str(self.folder / f"{name}.in"), str(answer)),
        ], answer

    def __call__(
        self,
        command: list[Any],
        limits: ResourceLimits = TIGHT,
        view: SandboxView | None = EMPTY,
        **more: Any,
    ) -> CommandResult:
        """Run a command in the sandbox. It sees the attack program unless `view` is None."""
        if view is not None:
            view = replace(view, read=(*view.read, self.attack))
        if not self.other:
            return sandbox.run(command, limits, view, **more)
        argv, answer = self.argv(command, limits, view, more)
        completed = subprocess.run(argv, capture_output=True, text=True, timeout=120)
        assert answer.is_file(), completed.stderr
        result: CommandResult = pickle.loads(answer.read_bytes())
        return result

    def directory(self, name: str) -> Path:
        """Return a new empty directory that belongs to this user."""
        made = self.folder / name
        made.mkdir()
        if self.other:
            os.chown(made, NOBODY, NOBODY)
        return made


@pytest.fixture(params=USERS)
def call(request: pytest.FixtureRequest, place: Path) -> Iterator[Caller]:
    """Yield a Caller for each user. Fail if a command still runs at the end."""
    if request.param == "nobody" and not os.access("/usr/bin/setpriv", os.X_OK):
        pytest.skip("setpriv not found, so the test cannot become the user nobody")
    if request.param == "nobody" and not PYTHON.startswith("/usr/"):
        pytest.skip(f"{PYTHON} cannot be run by every user")
    caller = Caller(request.param, place)
    yield caller
    assert running(place) == []


def running(place: Path) -> list[str]:
    """Return the command lines of all running attacks, in any namespace."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if os.fsencode(place) in command and state not in "ZX":
            found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found


def gone(place: Path, seconds: float = 10) -> bool:
    """Wait until no attack runs. Return False if one still runs after the given time in seconds."""
    until = time.monotonic() + seconds
    while running(place) and time.monotonic() < until:
        time.sleep(0.05)
    return not running(place)


def done(result: CommandResult) -> list[str]:
    """Return the output lines that report a successful attack."""
    assert result.status is not None, result
    return [line for line in result.text.splitlines() if "refused" not in line]
