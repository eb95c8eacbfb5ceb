# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test scripts/first-run.sh: its parallel steps, and that an interrupt leaves nothing."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from grader.base import paths

# A script that records its start and its end, and that removes its file when it is interrupted.
STUB = """\
#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "$0")/lib.sh"
name=${0##*/}
echo "begin $name $*" >>"$NOTES"
half=$NOTES.$name
: >"$half"
LAB_SCRATCH+=("$half")
for ((i = 0; i < TENTHS; i++)); do sleep 0.1; done
echo "end $name" >>"$NOTES"
"""
STUBS = ("setup.sh", "lab-kernel.sh", "python.sh", "distro-kernel.sh")


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """Return a folder with the script and with stubs that only record their calls."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    for name in ("first-run.sh", "lib.sh"):
        shutil.copy(paths.SCRIPTS / name, folder)
    for name in STUBS:
        (folder / name).write_text(STUB)
        (folder / name).chmod(0o755)
    return folder


def start(scripts: Path, tenths: int) -> subprocess.Popen[str]:
    notes = scripts.parent / "notes"
    variables = {"NOTES": str(notes), "TENTHS": str(tenths)}
    cache = {"XDG_CACHE_HOME": str(scripts.parent / "cache")}
    return subprocess.Popen(
        [scripts / "first-run.sh"],
        env={**os.environ, **cache, **variables},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def notes(scripts: Path) -> list[str]:
    path = scripts.parent / "notes"
    return path.read_text().splitlines() if path.exists() else []


def test_the_network_is_used_while_the_kernel_is_compiled(scripts: Path) -> None:
    run = start(scripts, 10)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert re.fullmatch(r"setting up the lab, once: .*: \d to \d minutes", said.splitlines()[0])
    lines = notes(scripts)
    # apt-get runs once for all packages, and then the other steps run at the same time.
    assert lines[:2] == ["begin setup.sh core qemu", "end setup.sh"]
    begun = {"begin lab-kernel.sh uml", "begin python.sh -c pass", "begin distro-kernel.sh "}
    assert set(lines[2:5]) == begun
    assert {line for line in lines[5:]} == {f"end {name}" for name in STUBS[1:]}


def test_without_qemu_the_rest_is_set_up(scripts: Path) -> None:
    (scripts / "setup.sh").write_text(
        '#!/bin/sh\necho "$*" >>"$NOTES"\n[ "$*" = core ] || exit 2\n'
    )
    run = start(scripts, 0)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert notes(scripts)[:2] == ["core qemu", "core"]
    assert "end lab-kernel.sh" in notes(scripts)


def test_with_a_python_environment_it_does_nothing(scripts: Path) -> None:
    environment = scripts.parent / "cache/fibdrv-lab/venv-3.11-0123"
    environment.mkdir(parents=True)
    (environment / ".complete").touch()
    run = start(scripts, 0)
    assert run.communicate(timeout=60)[1] == ""
    assert (run.returncode, notes(scripts)) == (0, [])


def test_only_the_kernel_s_failure_ends_it(scripts: Path) -> None:
    for name in ("python.sh", "distro-kernel.sh"):
        (scripts / name).write_text("#!/bin/sh\nexit 2\n")
    run = start(scripts, 0)
    run.communicate(timeout=60)
    assert run.returncode == 0
    (scripts / "lab-kernel.sh").write_text("#!/bin/sh\necho no compiler >&2\nexit 2\n")
    run = start(scripts, 0)
    assert "no compiler" in run.communicate(timeout=60)[1]
    assert run.returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_nothing_half_done(scripts: Path, number: signal.Signals) -> None:
    (scripts / "setup.sh").write_text("#!/bin/sh\n")
    run = start(scripts, 300)
    deadline = time.monotonic() + 60
    while len(notes(scripts)) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)  # Wait until each script has a file to remove.
    # Ctrl-C signals the whole group, but commands in the background ignore it.
    os.killpg(run.pid, number) if number == signal.SIGINT else run.send_signal(number)
    run.communicate(timeout=60)
    assert run.returncode == 128 + number
    assert not list(scripts.parent.glob("notes.*")), "a script did not remove its file"
    assert len(notes(scripts)) == 3
    with pytest.raises(ProcessLookupError):
        os.killpg(run.pid, 0)


def test_the_last_part_of_a_step_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = (
        f". {paths.SCRIPTS}/lib.sh; LAB_LAST_PART='^  (AR|LD) +vmlinux\\.[ao]$'"
        f" LAB_LAST_PART_NAME=linking; progress_line compiling 870 878 70 {log}"
    )
    shown = []
    for line in ("  CC      init/main.o", "  LD      arch/um/vmlinux.o.d", "  LD      vmlinux.o"):
        with log.open("a") as file:
            file.write(f"{line}\n")
        shown.append(subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout)
    assert shown[:2] == ["compiling, 870 of about 878, 70 s"] * 2
    assert shown[2] == "compiling, 870 of about 878, linking, 70 s"
