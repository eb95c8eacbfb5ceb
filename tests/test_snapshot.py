# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test QEMU machines that resume a snapshot of their boot: their files, and repaired snapshots."""

from __future__ import annotations

import errno
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import scratch
from grader.base.errors import LabError, MachineKilled
from grader.lab import guest_process, qemu, snapshot
from grader.lab.guest_process import Surroundings
from grader.lab.machines import Contents

pytestmark = pytest.mark.machine


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield an empty cache that contains only the kernel and no snapshot."""
    real = qemu._entry()
    place = tmp_path / "a cache, and odd"
    place.mkdir()
    (place / real.name).symlink_to(real)
    monkeypatch.setattr(qemu, "_entry", lambda: place / real.name)
    yield place
    scratch.remove_all()


def _kept(cache: Path) -> list[Path]:
    return sorted(cache.glob("snapshot-*"))


def _answers(files: dict[str, Path]) -> guest_process.GuestProcess:
    guest = qemu.SMP.boot(Contents(files))
    try:
        for name, path in files.items():
            sum_there = guest.channel.check(f"sha256sum {name} && test -x /bin/run", 60).split()[0]
            ours = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True)
            assert sum_there == ours.stdout.split()[0]
        # Accept the kernel's message about a slow timer interrupt, which is normal on a busy
        # computer.
        said = [line for line in guest.console().splitlines() if "hrtimer: interrupt" not in line]
        assert said == []
    finally:
        guest.stop()
    return guest


def test_made_once_and_resumed_with_files(cache: Path, tmp_path: Path) -> None:
    large, run = tmp_path / "large", tmp_path / "run"
    large.write_bytes(os.urandom(1 << 20))
    run.write_text("#!/bin/sh\n")
    run.chmod(0o755)
    files = {"/lib/deep/er/large.ko": large, "/bin/run": run}
    _answers(files)
    (place,) = _kept(cache)
    before = (place / "memory").stat()
    second = _answers(files)
    after = (place / "memory").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert second.speed_factor >= 1
    # The memory file is sparse, so the snapshot takes little space.
    assert after.st_size == snapshot.MEMORY_BYTES and after.st_blocks * 512 < after.st_size / 2
    assert not list(cache.glob("*.new*"))


@pytest.mark.long
def test_what_one_writes_no_other_sees(cache: Path) -> None:
    first = qemu.SMP.boot()
    first.channel.check("echo mine >/root/file; dd if=/dev/urandom of=/tmp/x bs=1M count=32", 60)
    second = qemu.SMP.boot()
    assert second.channel.run("cat /root/file /tmp/x", 60).status != 0
    assert first.channel.check("cat /root/file", 60) == "mine\n"
    first.stop()
    second.stop()


@pytest.mark.long
def test_one_that_is_damaged_is_made_anew(cache: Path) -> None:
    qemu.SMP.boot().stop()
    (place,) = _kept(cache)
    whole = (place / "devices").read_bytes()
    (place / "devices").write_bytes(whole[: len(whole) // 2])
    guest = qemu.SMP.boot()
    assert guest.channel.check("echo up", 60) == "up\n" and "Linux version" not in guest.console()
    guest.stop()
    assert _kept(cache) == []
    qemu.SMP.boot().stop()
    assert (_kept(cache)[0] / "devices").stat().st_size > len(whole) / 2


@pytest.mark.long
def test_without_room_it_boots(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(snapshot, "_write", full)
    guest = qemu.SMP.boot()
    assert guest.channel.check("echo up", 60) == "up\n"
    guest.stop()
    assert [p.name for p in cache.iterdir() if p.name.startswith("snapshot")] == []


@pytest.mark.long
def test_what_was_left_half_made_and_what_is_old_goes(cache: Path) -> None:
    qemu.SMP.boot().stop()
    (place,) = _kept(cache)
    left, old, used = (
        cache / f"{place.name}.new1",
        cache / "snapshot-qemu-old",
        cache / "snapshot-qemu-used",
    )
    for folder in (left, old, used):
        folder.mkdir()
    long_ago = time.time() - snapshot.OLD_SECONDS - 60
    os.utime(old, (long_ago, long_ago))
    snapshot.remove(place)
    qemu.SMP.boot().stop()
    assert _kept(cache) == [place, used]


def test_another_kernel_or_agent_is_another_snapshot(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    monkeypatch.setattr(snapshot, "_make", lambda place, *_: (made.append(place), place.mkdir()))

    def kept(facts: str = "a", memory: str = "256M") -> Path | None:
        return snapshot.obtain(
            cache, "qemu", lambda _folder, _fds: ["-m", memory], facts, Surroundings()
        )

    assert kept() == kept() and len(made) == 1
    kept("b")
    kept("a", "128M")
    monkeypatch.setattr(snapshot, "_board", lambda: {"/bin/file_transfer": Path(__file__)})
    kept()
    assert len(set(made)) == 4


@pytest.mark.long
def test_a_machine_that_ends_while_it_resumes_is_one_line(cache: Path) -> None:
    qemu.SMP.boot().stop()
    (place,) = _kept(cache)
    with pytest.raises(LabError, match="the machine did not come up"):
        snapshot.resume(
            place,
            Contents(),
            lambda folder, _fds: ["sh", "-c", "exit 3", str(folder)],
            Surroundings(),
        )


@pytest.mark.long
def test_a_machine_killed_while_it_resumes_says_nothing_of_its_snapshot(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qemu.SMP.boot().stop()
    kept = _kept(cache)
    command = ["sh", "-c", "kill -KILL $$"]
    monkeypatch.setattr(qemu.SMP, "_command", lambda *_: command)
    monkeypatch.setattr(snapshot, "obtain", lambda *_: kept[0])
    with pytest.raises(MachineKilled, match="was killed on this computer"):
        qemu.SMP.boot()
    assert _kept(cache) == kept
