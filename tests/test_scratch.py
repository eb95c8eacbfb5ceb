# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that a machine or a compiler leaves neither process nor file when a run ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from grader.base import paths, scratch
from grader.lab import module
from tests.leftovers import leftovers

# A thread starts a machine that makes its own folder, as User-Mode Linux does, while the run ends.
# The pauses simulate a busy computer: between fork and exec, and while the folder is removed.
RACE = """
import sys, threading, time
from grader.base import scratch
from grader.lab import guest_process

until_exec, until_removed = map(float, sys.argv[1:])
first, remove = guest_process._killed_with_us, scratch.remove
moment = threading.Event()

def slowly_to_exec():
    time.sleep(until_exec)
    first()

def slowly_removed(path):
    time.sleep(until_removed / 2)
    remove(path)
    time.sleep(until_removed / 2)

def command(folder, fds):
    moment.set()
    return ["sh", "-c", f"mkdir -p {folder}; exec sleep 60"]

guest_process._killed_with_us, scratch.remove = slowly_to_exec, slowly_removed
threading.excepthook = lambda _: None
threading.Thread(
    target=guest_process.begin,
    args=(lambda folder: None, command, lambda guest: time.sleep(60)),
    daemon=True,
).start()
moment.wait()
time.sleep(0.05)
scratch.remove_all(for_good=True)
"""


@pytest.mark.parametrize("until_exec", ["0", "0.05", "0.1", "0.2", "0.4"])
@pytest.mark.parametrize("until_removed", ["0", "0.2"])
def test_a_machine_that_just_starts_leaves_nothing(
    tmp_path: Path, until_exec: str, until_removed: str
) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    completed = subprocess.run(
        [sys.executable, "-c", RACE, until_exec, until_removed],
        cwd=paths.ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert completed.returncode == 0, completed.stderr
    assert leftovers(tmp_path) == []


def test_a_folder_that_a_thread_is_removing_goes_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = scratch.folder()
    (path / "file").touch()
    # The new name means that a thread has begun to remove the folder.
    path.rename(path.with_name(f".{path.name}"))
    scratch.remove(path)
    assert list(path.parent.iterdir()) == []


def test_a_killed_compiler_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build, elsewhere = tmp_path / "build", tmp_path / "tmp"
    elsewhere.mkdir()
    monkeypatch.setattr(paths, "BUILD", build)
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    compiler = subprocess.Popen(
        ["gcc", "-c", "-x", "c", "-", "-o", "/dev/null"],
        env=module.environment(),
        stdin=subprocess.PIPE,  # The compiler waits for its input after it has made its file.
        start_new_session=True,
    )
    until = time.monotonic() + 60
    while not list(build.rglob("cc*.s")):
        assert time.monotonic() < until
        time.sleep(0.01)
    os.killpg(compiler.pid, signal.SIGKILL)
    compiler.communicate()
    assert list(elsewhere.iterdir()) == []
