# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run two ssh servers on loopback that act as two other computers; a test may kill one."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
THERE = all(map(shutil.which, ("parallel", "rsync", "ssh", SSHD)))


class Server:
    """An ssh server on loopback that runs as the user of the tests."""

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
        """Kill the server and its connections, but not the jobs that it has started."""
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


@contextmanager
def pair(place: Path) -> Iterator[tuple[list[Server], dict[str, str]]]:
    """Yield the two servers alpha and beta, and the environment for ssh. place/hosts lists both.

    Each server takes one job at a time. Raise TimeoutError if the servers cannot be started.
    """
    folder = place / "ssh"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for key in ("id", "host"):
        call = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        subprocess.run(call, check=True)
    made = [Server(folder, name) for name in ("alpha", "beta")]
    try:
        (folder / "config").write_text(
            "".join(f"Host {server.name}\n Port {server.port}\n" for server in made)
            + f"Host alpha beta\n HostName 127.0.0.1\n IdentityFile {folder}/id\n"
            + " StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n"
        )
        (place / "hosts").write_text("# two\n1/alpha\n1/beta\n")
        until = time.monotonic() + 20
        for server in made:
            call = ["ssh", "-F", f"{folder}/config", server.name, "true"]
            while subprocess.run(call, stderr=subprocess.DEVNULL).returncode:
                if time.monotonic() > until:
                    raise TimeoutError("no ssh server is available here")
                time.sleep(0.2)
        yield made, {"PARALLEL_SSH": f"ssh -F {folder}/config"}
    finally:
        for server in made:
            server.die()
