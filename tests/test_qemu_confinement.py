# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that QEMU is confined (user, visible files, privileges) and ends with the grader."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import paths, scratch
from grader.base.errors import LabError, MachineDied, MachineKilled
from grader.lab import guest_process, kvm, qemu
from grader.lab.guest_process import GuestProcess
from grader.lab.machines import Contents
from tests.sandbox_calls import needs_sandbox

pytestmark = [pytest.mark.machine, needs_sandbox]


@pytest.fixture(scope="module")
def guest() -> Iterator[GuestProcess]:
    """Yield a resumed machine."""
    started = qemu.SMP.boot()
    yield started
    started.stop()
    scratch.remove_all()


def _emulator(folder: Path) -> Path:
    """Return the /proc entry of a machine's QEMU, which is the last process of its chain."""
    found = [Path("/proc", str(pid)) for pid in scratch.processes_in(folder)]
    (one,) = [p for p in found if (p / "exe").resolve().name.startswith("qemu-system")]
    return one


def _status(entry: Path) -> dict[str, str]:
    lines = (entry / "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_it_is_nobody_and_filters_its_system_calls(guest: GuestProcess) -> None:
    status = _status(_emulator(guest.folder))
    assert status["CapEff"] == status["CapPrm"] == "0000000000000000"
    assert status["NoNewPrivs"] == "1"
    # Require two seccomp filters: the sandbox installs one, and QEMU the other.
    assert status["Seccomp"] == "2" and int(status["Seccomp_filters"]) >= 2
    for ids in (status["Uid"].split(), status["Gid"].split()):
        assert "0" not in ids and len(set(ids)) == 1
    assert "0" not in status["Groups"].split()


def test_it_is_in_namespaces_of_its_own(guest: GuestProcess) -> None:
    entry = _emulator(guest.folder)
    for name in ("pid", "net", "ipc", "uts", "mnt"):
        assert (entry / "ns" / name).readlink() != Path("/proc/self/ns", name).readlink(), name
    devices = (entry / "net/dev").read_text().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in devices] == ["lo"]


def test_it_sees_no_file_of_ours_and_writes_to_none(guest: GuestProcess) -> None:
    root = _emulator(guest.folder) / "root"
    for path in (Path.home(), Path("/etc/passwd"), Path("/var"), paths.ROOT, Path("/dev/kvm")):
        seen = root / path.relative_to("/")
        # Allow the folder to exist as the parent of a visible file.
        assert not seen.is_file() and not (seen / ".git").exists()
        assert not seen.is_dir() or not any(p.name == ".bashrc" for p in seen.iterdir())
    there = sorted(p.name for p in (root / guest.folder.relative_to("/")).iterdir())
    assert there == ["channel.in", "channel.out", "files", "initramfs", "shell.in", "shell.out"]
    mounts = (_emulator(guest.folder) / "mounts").read_text().splitlines()
    writable = {
        line.split()[1]
        for line in mounts
        if "rw" in line.split()[3].split(",") and not line.split()[1].startswith(("/proc", "/dev/"))
    }
    lines = {
        f"{guest.folder}/{line}.{end}" for line in guest_process.LINES for end in ("in", "out")
    }
    assert writable == {"/tmp", *lines}


def test_its_environment_holds_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_SECRET", "swordfish")
    guest = qemu.SMP.boot()
    try:
        environment = (_emulator(guest.folder) / "environ").read_bytes()
        assert b"swordfish" not in environment and b"HOME=/tmp" in environment
    finally:
        guest.stop()


def test_no_machine_changes_the_memory_that_others_resume(guest: GuestProcess) -> None:
    """The memory of a running QEMU can be opened through /proc, but a write to it is refused."""
    entry = _emulator(guest.folder)
    memory = [fd for fd in (entry / "fd").iterdir() if "memfd:memory" in str(fd.readlink())]
    assert memory
    for path in memory:
        fd = os.open(path, os.O_RDWR)
        try:
            with pytest.raises(PermissionError):
                os.pwrite(fd, b"poison", 0)
        finally:
            os.close(fd)


def _group_gone(group: int) -> bool:
    until = time.monotonic() + 20
    while scratch.group_runs(group) and time.monotonic() < until:
        time.sleep(0.05)
    return not scratch.group_runs(group)


def test_stopped_it_is_gone_at_once() -> None:
    guest = qemu.SMP.boot()
    process = _emulator(guest.folder)
    guest.stop()
    assert not process.exists() and not guest.folder.exists()


def test_killed_by_the_system_it_is_said_so() -> None:
    """If the system kills QEMU alone, as when memory is exhausted, the error says so."""
    guest = qemu.SMP.boot()
    try:
        os.kill(int(_emulator(guest.folder).name), signal.SIGKILL)
        with pytest.raises(MachineDied):
            guest.channel.run("sleep 5", 10)
        assert guest.killed()
    finally:
        guest.stop()


def test_ended_by_itself_it_was_not_killed() -> None:
    guest = qemu.SMP.boot()
    try:
        with pytest.raises(MachineDied):
            guest.channel.run("echo c >/proc/sysrq-trigger; sleep 5", 20)
        assert not guest.killed()
    finally:
        guest.stop()


def test_a_console_that_never_ends_fills_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    guest = qemu.SMP.boot()
    try:
        fds = _emulator(guest.folder) / "limits"
        (line,) = [x for x in fds.read_text().splitlines() if x.startswith("Max file size")]
        assert int(line.split()[3]) <= 64 << 20
    finally:
        guest.stop()


GRADER = """\
import sys, time
from grader.base import command
from grader.lab import qemu
def work():
    guest = qemu.SMP.boot()
    print(guest.pid, guest.folder, flush=True)
    guest.channel.run("sleep 100", 100)
    return 0
sys.exit(command.end("tiny", work))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_dies_with_the_grader(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", GRADER], cwd=paths.ROOT, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    words = process.stdout.readline().split()
    group, folder = int(words[0]), Path(words[1])
    emulator = _emulator(folder)
    assert scratch.group_runs(group)
    process.send_signal(number)
    process.wait(30)
    assert _group_gone(group)
    until = time.monotonic() + 20
    while (folder.exists() or emulator.exists()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not folder.exists() and not emulator.exists()


def test_without_a_sandbox_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        qemu.sandbox, "why_unavailable", lambda: "bubblewrap is missing: install it"
    )
    qemu._unconfined.cache_clear()
    try:
        for _ in range(2):
            guest = qemu.SMP.boot()
            assert guest.channel.check("echo up", 60) == "up\n"
            guest.stop()
    finally:
        qemu._unconfined.cache_clear()
    said = capfd.readouterr().err
    assert said == "note: QEMU is not confined: bubblewrap is missing: install it\n"


def test_a_sandbox_that_cannot_be_made_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "_elsewhere", lambda: (Path("/nowhere/at/all"),))
    with pytest.raises(LabError, match=r"did not come up .*: bwrap: .*/nowhere/at/all"):
        qemu.SMP.boot(Contents())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user for the test")
@pytest.mark.parametrize(
    ("mode", "group", "allowed"),
    [(0o600, 0, False), (0o660, 0, False), (0o660, 104, True), (0o666, 0, True)],
)
def test_what_of_kvm_another_user_may_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, group: int, allowed: bool
) -> None:
    device = tmp_path / "kvm"
    device.touch()
    os.chown(device, 0, group)
    device.chmod(mode)
    monkeypatch.setattr(kvm, "DEVICE", device)
    monkeypatch.setattr(kvm, "_probe", lambda _: "tried")
    (tmp_path / "entry").mkdir()
    (tmp_path / "entry/vmlinuz").touch()
    reason = kvm.why_unavailable(tmp_path / "entry/vmlinuz")
    assert reason == "tried" if allowed else re.search("root's alone", reason)


def test_killed_while_it_comes_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu.SMP, "_command", lambda *_: ["sh", "-c", "kill -KILL $$"])
    monkeypatch.setattr(qemu.snapshot, "obtain", lambda *_: None)
    with pytest.raises(MachineKilled):
        qemu.SMP.boot()
