# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that a stopped command also stops the script that builds a kernel for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from grader.base import paths

# A script as lab-kernel.sh: its compiler is in another process group, and it cleans up on TERM.
SCRIPT = """#!/bin/bash
set -m
sleep 600 &
trap 'sleep 1; kill $!; echo clean >"$0.ended"; exit 143' TERM
touch "$0.begun"
wait
"""
COMMAND = """
import sys
from pathlib import Path
from grader.base import command, paths
from grader.lab import setup_scripts
paths.SCRIPTS = Path(sys.argv[1])
sys.exit(command.end("test", lambda: bool(setup_scripts.run("nothing", "build.sh"))))
"""


def test_a_stopped_command_stops_its_script(tmp_path: Path) -> None:
    script = tmp_path / "build.sh"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    run = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(tmp_path)],
        cwd=paths.ROOT,
        env={**os.environ, "PYTHONPATH": str(paths.ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not (tmp_path / "build.sh.begun").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    run.send_signal(signal.SIGTERM)
    _, errors = run.communicate()
    assert run.returncode == 130, errors
    assert (tmp_path / "build.sh.ended").read_text() == "clean\n"
