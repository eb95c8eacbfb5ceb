# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A class graded on hosts by ssh: two servers on loopback, of which one dies half-way."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base.errors import LabError
from grader.classroom import hosts
from tests import class_made
from tests.class_made import rows
from tests.left_over import left_over
from tests.sandbox_calls import needs_sandbox

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
needs_ssh = pytest.mark.skipif(
    not all(map(shutil.which, ("parallel", "rsync", "ssh", SSHD))), reason="no sshd or parallel"
)


class Server:
    """An ssh server on loopback, as the user who runs the tests."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        config = folder / f"sshd-{name}"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nStrictModes no\n"
            f"AuthorizedKeysFile {folder}/id.pub\nPidFile none\nPermitRootLogin yes\nUsePAM no\n"
        )
        Path("/run/sshd").mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [SSHD, "-D", "-f", str(config)], start_new_session=True, stderr=subprocess.DEVNULL
        )

    def die(self) -> None:
        """No word more comes from it, and it takes no connection: what it had begun is alone."""
        for pid in (*_below(self.process.pid), self.process.pid):
            try:
                if Path(f"/proc/{pid}/comm").read_text().startswith("sshd"):
                    os.kill(pid, signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                pass
        self.process.wait()


def _below(pid: int) -> Iterator[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return
    for child in map(int, text.split()):
        yield from _below(child)
        yield child


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Server]]:
    """Two of them, alpha and beta, and an ssh that knows them."""
    folder = tmp_path / "ssh"
    folder.mkdir()
    for key in ("id", "host"):
        call = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        subprocess.run(call, check=True)
    made = [Server(folder, name) for name in ("alpha", "beta")]
    (folder / "config").write_text(
        "".join(f"Host {server.name}\n Port {server.port}\n" for server in made)
        + f"Host alpha beta\n HostName 127.0.0.1\n IdentityFile {folder}/id\n"
        + " StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n"
    )
    monkeypatch.setenv("PARALLEL_SSH", f"ssh -F {folder}/config")
    (tmp_path / "hosts").write_text("# two\n1/alpha\n1/beta\n")
    until = time.monotonic() + 20
    for server in made:
        call = ["ssh", "-F", f"{folder}/config", server.name, "true"]
        while subprocess.run(call, stderr=subprocess.DEVNULL).returncode:
            if time.monotonic() > until:
                pytest.skip("no ssh server can be had here")
            time.sleep(0.2)
    yield made
    for server in made:
        server.die()


@needs_ssh
@needs_sandbox
@pytest.mark.machine
@pytest.mark.long
def test_one_of_two_hosts_dies(tmp_path: Path, servers: list[Server]) -> None:
    (tmp_path / "tmp").mkdir()
    folder, out = tmp_path / "submissions", tmp_path / "out"
    for i in range(5):
        class_made.added(folder / f"right {i}", 1, f"/* {i} */\n")
    class_made.mutant(folder / "$(broken)'", "1-does-not-compile")
    words = class_made.command(folder, "--stage", "1", "--seed", "7", "--out", out)
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
    # What the dead one had begun ends by itself, and leaves nothing.
    until = time.monotonic() + 60
    while left_over(tmp_path / "tmp") and time.monotonic() < until:
        time.sleep(0.5)
    assert left_over(tmp_path / "tmp") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no host"),
        ("# none\n", "names no host"),
        ("a b\n", "'a b' is no host"),
        ("-oProxyCommand=reboot\n", "is no host"),
        (":\n", "name this computer as localhost"),
        ("4/x;reboot\n", "is no host"),
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
