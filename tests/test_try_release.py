# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test scripts/try-release: its table, its status, and that no mount or process is left."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.base import paths

PROGRAM = paths.SCRIPTS / "try-release"


def run(
    *words: str, program: Path = PROGRAM, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program), *words], capture_output=True, text=True, env={**os.environ, **environment}
    )


def steps() -> dict[str, str]:
    """Return the command of each step."""
    text = run("--help").stdout
    lines = text.partition("Steps:\n")[2].partition("Exit status:")[0].splitlines()
    return {name: command for name, command in (line.split(maxsplit=1) for line in lines)}


def test_its_steps_are_commands_of_the_kit() -> None:
    makefile = (paths.ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w.-]+):", makefile, re.MULTILINE))
    assert list(steps().values())[1:3] == ["grader/run.sh", "make test"]
    for command in steps().values():
        for part in re.split(r"&&|\|", command):
            words = part.split()
            if words[0] == "make":
                named = [
                    word for word in words[1:] if re.fullmatch(r"[a-z-]+", word) and word[0] != "-"
                ]
                assert named and set(named) <= targets, part
            elif "/" in words[0]:
                assert os.access(paths.ROOT / words[0], os.X_OK), part


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "no suite is given"),
        (("trixie;", "true"), "not the name of a suite"),
        (("--steps", "doctor,nonsense", "trixie"), "no step nonsense"),
        (("--here", "trixie"), "exclude each other"),
        (("--skip",), "needs a value"),
    ],
)
def test_a_wrong_command_line(words: tuple[str, ...], said: str) -> None:
    completed = run(*words)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert said in completed.stderr


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    """Return a kit whose grader/run.sh and tests fail, and whose other make targets succeed."""
    folder = tmp_path / "kit"
    for name in ("try-release", "lib.sh"):
        (folder / "scripts").mkdir(parents=True, exist_ok=True)
        shutil.copy(paths.SCRIPTS / name, folder / "scripts")
    (folder / "Makefile").write_text("doctor:\n\t@echo fine\ntest:\n\t@echo 'two failed'; exit 3\n")
    (folder / "grader").mkdir()
    grader = folder / "grader" / "run.sh"
    grader.write_text("#!/bin/sh\necho broken >&2\necho\nexit 2\n")
    grader.chmod(0o755)
    return folder


def test_the_table_says_what_failed_and_why(kit: Path) -> None:
    completed = run(
        "--here",
        "--steps",
        "doctor,run,test",
        program=kit / "scripts" / "try-release",
        LAB_BUILD="",
    )
    assert completed.returncode == 1
    assert re.search(r"^make doctor +0 +\d+$", completed.stdout, re.MULTILINE)
    assert re.search(r"^grader/run.sh +2 +\d+  broken$", completed.stdout, re.MULTILINE)
    assert re.search(r"^make test +2 +\d+  two failed$", completed.stdout, re.MULTILINE)
    logs = kit / "build" / "try-release" / "here"
    assert (logs / "run.log").read_text() == "broken\n\n"
    assert (logs / "table.txt").read_text() == completed.stdout


def test_all_is_well_where_nothing_failed(kit: Path) -> None:
    completed = run(
        "--here", "--steps", "doctor", program=kit / "scripts" / "try-release", LAB_BUILD=""
    )
    assert completed.returncode == 0 and "run.sh" not in completed.stdout


def processes(text: str) -> list[str]:
    """Return the processes that have text in their command line or their mounts."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (
                text in (folder / "cmdline").read_text()
                or text in (folder / "mountinfo").read_text()
            ):
                found.append(folder.name)
        except OSError:
            pass
    return found


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Return True if the condition becomes true within this number of seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_when_it_is_stopped(number: signal.Signals, tmp_path: Path) -> None:
    """A stopped bootstrap leaves no mount and no process, even one in its own session."""
    if not shutil.which("newuidmap") or not Path("/usr/lib/apt/apt-helper").exists():
        pytest.skip("scripts/setup.sh release installs what this needs")
    suite = tmp_path / "mirror" / "dists" / "anysuite"
    suite.mkdir(parents=True)
    (suite / "InRelease").write_text("Origin: test\n")
    tools = tmp_path / "bin"
    tools.mkdir()
    fake = tools / "mmdebstrap"
    fake.write_text(
        '#!/bin/bash\nmount -t tmpfs tmpfs "$TMPDIR" || exit 1\n'
        'setsid bash -c "trap : INT TERM HUP; while :; do sleep 1; done" "$TMPDIR-detached" &\n'
        'touch "$TMPDIR/../mounted"; sleep 1000\n'
    )
    fake.chmod(0o755)
    # Reset the signals, because a shell cannot trap a signal that was ignored when it began.
    process = subprocess.Popen(
        [
            "env",
            "--default-signal",
            str(PROGRAM),
            "--fresh",
            "--mirror",
            (tmp_path / "mirror").as_uri(),
            "anysuite",
        ],
        env={
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(tmp_path),
        },
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    temporary = tmp_path / "fibdrv-lab" / "roots" / "anysuite.tmp"
    try:
        begun = wait_for(lambda: (temporary / "mounted").exists() or process.poll() is not None, 30)
        if process.poll() is not None:
            assert process.stderr
            said = process.stderr.read()
            assert "namespaces are not allowed here" in said, said
            pytest.skip("namespaces are not allowed here")
        assert begun and wait_for(lambda: len(processes(f"{temporary}/tmp-detached")) == 1, 10)
        process.send_signal(number)
        status = process.wait(30)
    finally:
        process.kill()
    assert status == (-9 if number == signal.SIGKILL else 128 + number)
    assert wait_for(lambda: not processes(str(temporary)), 10), processes(str(temporary))
    # Accept files that SIGKILL leaves, because the next run removes them.
    assert temporary.exists() == (number == signal.SIGKILL)
