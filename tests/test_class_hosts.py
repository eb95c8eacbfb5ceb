# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test grading a class by ssh on two servers on loopback, one of which is killed half-way."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base.errors import LabError
from grader.classroom import hosts
from tests import class_servers, class_submissions
from tests.class_servers import Server
from tests.class_submissions import rows
from tests.leftovers import leftovers
from tests.sandbox_calls import needs_sandbox

needs_ssh = pytest.mark.skipif(not class_servers.THERE, reason="no sshd or parallel")


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Server]]:
    """Yield two servers, with the environment set so that ssh knows them."""
    try:
        with class_servers.pair(tmp_path) as (made, environment):
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
            yield made
    except TimeoutError as error:
        pytest.skip(str(error))


@needs_ssh
@needs_sandbox
@pytest.mark.machine
@pytest.mark.long
def test_one_of_two_hosts_dies(tmp_path: Path, servers: list[Server]) -> None:
    (tmp_path / "tmp").mkdir()
    folder, out = tmp_path / "submissions", tmp_path / "out"
    for i in range(5):
        class_submissions.added(folder / f"right {i}", 1, f"/* {i} */\n")
    class_submissions.faulty(folder / "$(broken)'", 1, "does-not-compile")
    words = class_submissions.command(folder, "--stage", "1", "--seed", "7", "--out", out)
    words += ["--hosts", str(tmp_path / "hosts")]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    call = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
    results = out / "results"
    while len(list(results.glob("*.json")) if results.is_dir() else []) < 2:
        assert call.poll() is None
        time.sleep(0.2)
    servers[1].die()
    said, _ = call.communicate(timeout=900)
    assert call.returncode == 0, (said, (out / "parallel.err").read_text())
    found = rows(out)
    assert {name: row["points"] for name, row in found.items()} == {
        "$(broken)'": "0", **{f"right {i}": "100" for i in range(5)}
    }  # fmt: skip
    log = [line.split("\t") for line in (out / "parallel.log").read_text().splitlines()[1:]]
    assert {line[1] for line in log if line[6] == "0"} <= {"1/alpha", "1/beta", "alpha", "beta"}
    # Jobs of the killed host end by themselves and leave nothing behind.
    until = time.monotonic() + 60
    while leftovers(tmp_path / "tmp") and time.monotonic() < until:
        time.sleep(0.5)
    assert leftovers(tmp_path / "tmp") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no host is named"),
        ("# none\n", "no host is named"),
        ("a b\n", "'a b' is not a host"),
        ("-oProxyCommand=reboot\n", "is not a host"),
        (":\n", "write localhost"),
        ("4/x;reboot\n", "is not a host"),
    ],
)
def test_a_file_of_hosts_that_is_none(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "hosts").write_text(text)
    with pytest.raises(LabError, match=said):
        hosts.read(tmp_path / "hosts")
    (tmp_path / "hosts").write_text("4/anna@lab1.example.org # new\n\nlab2\n")
    assert hosts.read(tmp_path / "hosts") == ["anna@lab1.example.org", "lab2"]
    with pytest.raises(LabError, match="No such file"):
        hosts.read(tmp_path / "none")
