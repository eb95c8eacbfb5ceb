# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test scripts/doctor.sh with a fake uname, on computers that cannot run the lab kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from grader.base import paths

DOCTOR = paths.SCRIPTS / "doctor.sh"


def write_uname(folder: Path, system: str, release: str, machine: str) -> None:
    """Write a uname program that names another computer."""
    program = folder / "uname"
    program.write_text(
        "#!/bin/sh\n"
        f"case $1 in -s) echo '{system}' ;; -r) echo '{release}' ;; -m) echo '{machine}' ;; esac\n"
    )
    program.chmod(0o755)


@pytest.mark.parametrize(
    "system, release, machine, problem, action",
    [
        ("Linux", "6.12.57-generic", "aarch64", "Linux on aarch64", "an x86-64 computer"),
        ("Linux", "5.15.1-microsoft-standard-WSL2", "aarch64", "aarch64", "an x86-64 computer"),
        ("Linux", "4.4.0-19041-Microsoft", "x86_64", "WSL 1", "--set-version NAME 2"),
        ("MINGW64_NT-10.0-22631", "3.5.4-1.x86_64", "x86_64", "Windows", "wsl --install"),
        ("MSYS_NT-10.0-22631", "3.5.4-1.x86_64", "x86_64", "Windows", "wsl --install"),
        ("CYGWIN_NT-10.0-22631", "3.5.4-1.x86_64", "x86_64", "Windows", "wsl --install"),
        ("Darwin", "24.6.0", "arm64", "macOS on arm64", "an x86-64 computer"),
        ("Darwin", "24.6.0", "x86_64", "macOS", "a virtual machine"),
        ("FreeBSD", "14.2-RELEASE", "amd64", "FreeBSD", "Debian or Ubuntu"),
    ],
)
def test_one_line_says_what_to_do_elsewhere(
    system: str, release: str, machine: str, problem: str, action: str, tmp_path: Path
) -> None:
    write_uname(tmp_path, system, release, machine)
    # PATH contains only the fake uname, because other systems may lack the tools of Linux.
    completed = subprocess.run(
        [shutil.which("bash") or "bash", str(DOCTOR)],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (completed.returncode, completed.stderr) == (1, "")
    assert completed.stdout.count("\n") == 1
    said, _, advice = completed.stdout.partition(" cannot run the lab kernel")
    assert problem in said and action in advice and "GitHub Codespaces" in advice


@pytest.mark.parametrize(
    "release, word", [("6.12.57-generic", ""), ("6.6.1-microsoft-standard-WSL2", " in WSL 2")]
)
def test_a_pc_is_examined(release: str, word: str, tmp_path: Path) -> None:
    write_uname(tmp_path, "Linux", release, "x86_64")
    completed = subprocess.run(
        [str(DOCTOR)],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert f"x86-64 Linux{word}, " in completed.stdout.splitlines()[0]
    assert (
        "packages: core" in completed.stdout and "cannot run the lab kernel" not in completed.stdout
    )
