# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Attack the sandbox: test the data and resources that a hostile submission can reach or use up.

Each attack runs as the user who runs the tests. If that user is root, it also runs as an ordinary
user.
"""

from __future__ import annotations

import os
import pickle
import pty
import shutil
import signal
import socket
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import paths
from grader.sandbox import CommandResult, SandboxView
from tests import sandbox_calls
from tests.sandbox_calls import EMPTY, MB, SECRET, TIGHT, Caller, done, needs_sandbox, running

call = sandbox_calls.call
place = sandbox_calls.place

# The next tests check which files, processes and networks a program can reach.


@needs_sandbox
@pytest.mark.parametrize("how", ["incbin", "include in assembly", "include"])
def test_a_source_reads_no_file_of_the_host(call: Caller, how: str) -> None:
    secret = call.place / "secret"
    source = {
        "incbin": f'asm(".incbin \\"{secret}\\"");',
        "include in assembly": f'asm(".include \\"{secret}\\"");',
        "include": f'#include "{secret}"',
    }[how]
    stage = call.directory(how.replace(" ", "-"))
    (stage / "fib.c").write_text(source + "\n")
    compile_it = ["gcc", "-c", "-o", "fib.o", "fib.c"]
    result = call(compile_it, view=SandboxView(write=(stage,)), together=True)
    assert result.status == 1
    assert any(said in result.text for said in ("No such file", "not found", "can't open"))
    assert SECRET not in result.text and not (stage / "fib.o").exists()
    # Compile the same source without the sandbox: it must read the file, so only the sandbox can
    # prevent the access.
    result = call(compile_it, view=None, cwd=stage, together=True)
    assert "what the host" in result.text or result.status == 0


@needs_sandbox
@pytest.mark.parametrize("path", ["secret", "/etc/passwd", "/etc/shadow", "/root", "/sys/kernel"])
def test_a_program_reads_no_file_of_the_host(call: Caller, path: str) -> None:
    result = call([call.attack, "read", call.place / path])
    assert done(result) == []


@needs_sandbox
def test_a_program_writes_nothing_to_the_host(call: Caller) -> None:
    name = f"fibdrv-sandbox-{os.getpid()}"
    folders = (Path("/tmp"), Path("/dev/shm"), Path("/usr"), Path.home(), call.folder)
    for target in (
        *(folder / name for folder in folders),
        call.attack,
        Path("/proc/sys/kernel/core_pattern"),
    ):
        result = call([call.attack, "write", target])
        # The sandbox has a separate /tmp.
        assert bool(done(result)) == (target.parent == Path("/tmp")), target
        assert not target.exists() or target == call.attack or target.parts[1] == "proc"


@needs_sandbox
def test_the_environment_holds_no_secret(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_SECRET", "swordfish")
    command = ["sh", "-c", "env; cat /proc/*/environ /proc/*/cmdline"]
    result = call(command, environment={"SAID": "hello"})
    assert "SAID=hello" in result.text and "HOME=/tmp" in result.text
    assert "swordfish" not in result.text and "swordfish" not in result.errors.decode()
    # The output must not contain paths of the host.
    assert str(paths.ROOT) not in result.text


@needs_sandbox
def test_no_network(call: Caller) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as name:
        port = server.getsockname()[1]
        name.bind(f"\0sandbox-{port}")
        name.listen()
        attack = [call.attack, "network", str(port)]
        assert done(call(attack)) == []
        # Without a sandbox, the program must reach both servers, or the test proves nothing.
        assert len(done(call(attack, view=None))) == 2


@needs_sandbox
def test_other_processes_are_out_of_reach(call: Caller) -> None:
    assert done(call([call.attack, "others", str(os.getpid())])) == []


@needs_sandbox
def test_killing_everything_kills_nothing_outside(call: Caller) -> None:
    result = call([call.attack, "kill-all"])
    # If the supervisor runs as the same user, the attack has also killed the supervisor, and that
    # ends the sandbox.
    assert result.status in (0, -signal.SIGKILL) and not result.ended_by


@needs_sandbox
def test_stopping_the_supervisor_does_not_stop_the_time(call: Caller) -> None:
    result = call([call.attack, "stop-all"], replace(TIGHT, wall_seconds=1))
    assert result.ended_by == "time"


@needs_sandbox
@pytest.mark.skipif(not shutil.which("setsid"), reason="there is no setsid")
def test_no_terminal(call: Caller) -> None:
    master, slave = pty.openpty()
    try:
        room = SandboxView(read=(call.attack,))
        argv, answer = call.argv([call.attack, "terminal"], TIGHT, room, {})
        subprocess.run(
            ["setsid", "--ctty", "--wait", *argv],
            stdin=slave, stdout=slave, stderr=slave, timeout=60, check=True,
        )  # fmt: skip
        assert done(pickle.loads(answer.read_bytes())) == []
    finally:
        os.close(master)
        os.close(slave)


@needs_sandbox
def test_no_memory_that_is_nobodys(call: Caller) -> None:
    assert done(call([call.attack, "hidden-memory"])) == []


# The next tests check the resources that a program can use up.


@needs_sandbox
@pytest.mark.parametrize("what", ["forks", "threads"])
def test_processes_and_threads_are_bounded(call: Caller, what: str) -> None:
    limits = replace(TIGHT, processes=20, address_bytes=512 * MB)
    result = call([call.attack, what], limits)
    assert result.status == 0, result
    assert 10 <= int(result.text) <= 20
    assert result.survivors == (int(result.text) if what == "forks" else 0)


@needs_sandbox
def test_a_fork_bomb_ends(call: Caller) -> None:
    begin = time.monotonic()
    result = call([call.attack, "bomb"], replace(TIGHT, wall_seconds=1))
    assert result.ended_by == "time"
    assert time.monotonic() - begin < 20


@needs_sandbox
def test_runs_at_once_do_not_take_each_others_processes(call: Caller) -> None:
    ended: list[CommandResult] = []
    runs = [
        threading.Thread(target=lambda: ended.append(call([call.attack, "forks"])))
        for _ in range(4)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [10 <= int(e.output) <= 20 for e in ended] == 4 * [True]


@pytest.mark.parametrize("room", [pytest.param(EMPTY, marks=needs_sandbox), None])
@pytest.mark.parametrize("how", ["memory 0", "memory 1", "hidden-thread", "page-tables"])
def test_memory_is_bounded(call: Caller, how: str, room: SandboxView | None) -> None:
    limits = replace(TIGHT, memory_bytes=100 * MB, processes=100)
    assert call([call.attack, *how.split()], limits, room).ended_by == "memory"


@pytest.mark.parametrize("room", [pytest.param(EMPTY, marks=needs_sandbox), None])
def test_address_space_is_bounded(call: Caller, room: SandboxView | None) -> None:
    limits = replace(TIGHT, address_bytes=100 * MB, wall_seconds=1)
    result = call([call.attack, "memory", "0"], limits, room)
    # The kernel did not kill the process, because malloc() failed before the limit.
    assert result.ended_by == "time"


@pytest.mark.parametrize("room", [pytest.param(EMPTY, marks=needs_sandbox), None])
def test_time_is_bounded(call: Caller, room: SandboxView | None) -> None:
    result = call([call.attack, "sleep"], replace(TIGHT, wall_seconds=0.5), room)
    assert (result.status, result.ended_by) == (None, "time")
    assert result.cause == "it was not done after 0.5 s"
    result = call([call.attack, "loop"], replace(TIGHT, cpu_seconds=1), room)
    assert (result.status, result.ended_by) == (None, "cpu")


@pytest.mark.parametrize("room", [pytest.param(EMPTY, marks=needs_sandbox), None])
def test_output_is_bounded(call: Caller, room: SandboxView | None) -> None:
    limits = replace(TIGHT, output_bytes=100_000)
    result = call(["yes"], limits, room)
    assert result.ended_by == "output" and len(result.output) == 100_000
    result = call(["sh", "-c", "echo first; exec yes >&2"], limits, room)
    assert result.ended_by == "output" and result.output == b"first\n"
    assert len(result.errors) + len(result.output) == 100_000


@pytest.mark.parametrize("room", [pytest.param(EMPTY, marks=needs_sandbox), None])
def test_output_that_is_kept_open(call: Caller, room: SandboxView | None) -> None:
    begin = time.monotonic()
    result = call([call.attack, "left-behind"], TIGHT, room)
    assert time.monotonic() - begin < 20
    assert (result.status, result.output, result.survivors) == (0, b"ended\n", 1)
    assert running(call.place) == []


@pytest.mark.parametrize("room", [pytest.param(EMPTY, marks=needs_sandbox), None])
def test_a_file_is_bounded(call: Caller, room: SandboxView | None) -> None:
    target = Path("/tmp/zeros") if room else call.directory("zeros") / "zeros"
    result = call(["dd", "if=/dev/zero", f"of={target}", "bs=64k"], TIGHT, room)
    assert result.ended_by == "file"
    if not room:
        assert target.stat().st_size == TIGHT.file_bytes


@needs_sandbox
@pytest.mark.parametrize("files", [("1000", "1000"), ("100000", "0")])
def test_all_files_together_are_bounded(call: Caller, files: tuple[str, str]) -> None:
    assert call([call.attack, "files", *files]).ended_by == "store"


def test_a_bomb_without_a_room(call: Caller) -> None:
    # Without a sandbox, the supervisor limits the processes, since the kernel would also count the
    # user's other processes.
    result = call([call.attack, "forks"], replace(TIGHT, processes=100), None)
    assert result.ended_by == "processes" or result.survivors == 500
    if call.other or os.geteuid():
        # The processes multiply faster than the supervisor can kill them one by one.
        result = call([call.attack, "bomb"], replace(TIGHT, wall_seconds=0.5), None)
        assert result.ended_by in ("time", "processes")
