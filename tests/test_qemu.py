# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the qemu machine: its kernel, the KVM probe, two CPUs, and the exact instruction count."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import paths, scratch
from grader.base.errors import LabError, MachineDied
from grader.exercise.build import stage_module
from grader.exercise.files import device, stages
from grader.exercise.workload.stage_workload import StageWorkload, contents
from grader.lab import kvm, machines, qemu, snapshot
from grader.lab.machines import NOTHING, Machine
from grader.measure import instructions, sensitivity
from grader.measure.guest_session import Measurements

SCRIPT = paths.SCRIPTS / "distro-kernel.sh"
# The script may call these programs in addition to apt-get and dpkg-deb.
TOOLS = (
    "bash cat chmod cp cut date env find flock grep ln mkdir mv pwd readlink rm rmdir sed sha256sum"
    " sleep sort tail tar touch tr uname dirname printf kill"
).split()


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    scratch.remove_all()


def put_program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/bash\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return a folder for PATH that contains only basic tools, neither apt-get nor dpkg-deb."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    return folder


def script(cache: Path, path: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), *words],
        capture_output=True,
        text=True,
        env={"HOME": "/nowhere", "XDG_CACHE_HOME": str(cache), "PATH": path},
        timeout=60,
    )


def entries(cache: Path) -> list[str]:
    return [p.name for p in (cache / "fibdrv-lab").glob("distro-*")]


# The kernel


def test_kernel_is_kept_and_whole(tmp_path: Path) -> None:
    kernel = qemu.MACHINE.kernel()
    for name in ("apt-get", "apt-cache", "dpkg-deb"):  # A second run must not call these programs.
        put_program(tmp_path, name, "exit 9")
    again = subprocess.run(
        [str(SCRIPT)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
    )
    entry = Path(again.stdout.strip())
    assert kernel.tree == entry / "build"
    assert (entry / "vmlinuz").stat().st_size > 5_000_000
    release = (entry / "build/include/generated/utsrelease.h").read_text().split('"')[1]
    assert kernel.release == release == entry.name.removeprefix("distro-")
    outside = [
        link
        for link in entry.rglob("*")
        if link.is_symlink() and not link.resolve().is_relative_to(entry.resolve())
    ]
    assert not outside, "the cache entry must not need /usr/src"
    assert "include /usr" not in (entry / "build/Makefile").read_text()


def test_without_apt_it_says_so(tmp_path: Path, bare: Path) -> None:
    completed = script(tmp_path / "cache", str(bare))
    assert completed.returncode == 2 and completed.stdout == ""
    assert "no apt-get" in completed.stderr and len(completed.stderr.splitlines()) == 1
    assert script(tmp_path / "cache", str(bare), "--print").returncode == 1


PACKAGES = {
    "linux-image-virtual": "Depends: linux-image-9.9.0-1-generic",
    "linux-image-9.9.0-1-generic": "Version: 9.9.0-1.1\nDepends: kmod",
    "linux-headers-9.9.0-1-generic": "Version: 9.9.0-1.1\nDepends: linux-headers-9.9.0-1, libc6",
}


@pytest.fixture
def ubuntu(tmp_path: Path, bare: Path) -> Path:
    """Return a PATH with a fake apt, whose tiny packages have Ubuntu's names and files."""
    (bare / "dpkg-deb").symlink_to("/usr/bin/dpkg-deb")
    offers = "\n".join(
        f"*' {name} '*|*' {name}='*) printf '%s\\n' '{fields}' ;;"
        for name, fields in PACKAGES.items()
    )
    put_program(bare, "apt-cache", f'case " $* " in\n{offers}\n*) exit 100 ;;\nesac')
    contents = {
        "linux-image-9.9.0-1-generic": {"boot/vmlinuz-9.9.0-1-generic": "an image"},
        "linux-headers-9.9.0-1-generic": {
            "usr/src/linux-headers-9.9.0-1-generic/.config": "CONFIG_X=y",
            "usr/src/linux-headers-9.9.0-1-generic/Module.symvers": "none",
        },
        "linux-headers-9.9.0-1": {
            "usr/src/linux-headers-9.9.0-1/Makefile": "all:",
            "usr/src/linux-headers-9.9.0-1/scripts/Makefile.build": "all:",
        },
    }
    debs = tmp_path / "debs"
    debs.mkdir()
    for name, files in contents.items():
        root = tmp_path / "root" / name
        (root / "DEBIAN").mkdir(parents=True)
        (root / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: 9.9.0-1.1\nArchitecture: all\n"
            "Maintainer: lab <lab@example.org>\nDescription: test\n"
        )
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text + "\n")
        if "Module" in str(files):
            headers = root / "usr/src/linux-headers-9.9.0-1-generic"
            (headers / "Makefile").symlink_to("/usr/src/linux-headers-9.9.0-1/Makefile")
            (headers / "scripts").symlink_to("../linux-headers-9.9.0-1/scripts")
        subprocess.run(
            ["dpkg-deb", "-b", str(root), str(debs / f"{name}.deb")],
            check=True,
            capture_output=True,
        )
    put_program(
        bare,
        "apt-get",
        f'while [ "$1" != download ]; do shift; done; shift\n'
        f'for p; do cp "{debs}/${{p%%=*}}.deb" . || exit 100; done',
    )
    return bare


def test_ubuntu_names(tmp_path: Path, ubuntu: Path) -> None:
    cache = tmp_path / "cache"
    completed = script(cache, str(ubuntu))
    assert completed.returncode == 0, completed.stderr
    entry = Path(completed.stdout.strip())
    assert entry.name == "distro-9.9.0-1-generic"
    assert (entry / "vmlinuz").read_text() == "an image\n"
    assert (entry / "build/Makefile").resolve() == (
        entry / "usr/src/linux-headers-9.9.0-1/Makefile"
    )
    assert script(cache, "/nonexistent:/usr/bin:/bin", "--print").stdout == completed.stdout


def test_headers_that_are_not_whole_are_refused(tmp_path: Path, ubuntu: Path) -> None:
    (tmp_path / "debs/linux-headers-9.9.0-1.deb").write_bytes(
        (tmp_path / "debs/linux-image-9.9.0-1-generic.deb").read_bytes()
    )
    completed = script(tmp_path / "cache", str(ubuntu))
    assert completed.returncode == 2 and completed.stdout == ""
    assert "do not make a kernel" in completed.stderr.splitlines()[-1]
    assert entries(tmp_path / "cache") == []


def test_a_failed_download_leaves_nothing(tmp_path: Path, ubuntu: Path) -> None:
    cache = tmp_path / "cache"
    put_program(ubuntu, "apt-get", "echo 'E: no network'; exit 100")
    completed = script(cache, str(ubuntu))
    assert completed.returncode == 2 and completed.stdout == ""
    assert "network" in completed.stderr.splitlines()[-1]
    assert entries(cache) == []


# KVM


@pytest.fixture
def probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with fakes of /dev/kvm and a kernel. PATH begins with this folder."""
    (tmp_path / "kvm").touch()
    (tmp_path / "kvm").chmod(0o666)
    (tmp_path / "entry").mkdir()
    (tmp_path / "entry/vmlinuz").touch()
    monkeypatch.setattr(kvm, "DEVICE", tmp_path / "kvm")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return tmp_path


def test_a_kvm_that_hangs_is_given_up_once(probed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvm, "LIMIT", 1.0)
    put_program(probed, qemu.QEMU, f"echo x >>{probed}/runs; sleep 1000")
    begin = time.monotonic()
    assert "hung" in kvm.why_unavailable(probed / "entry/vmlinuz")
    assert time.monotonic() - begin < 500  # The probe must end before the sleep of 1000 s does.
    assert "hung" in kvm.why_unavailable(probed / "entry/vmlinuz")
    assert (probed / "runs").read_text() == "x\n"


def test_a_kvm_that_works_is_taken(probed: Path) -> None:
    put_program(probed, qemu.QEMU, f"echo 'Kernel panic: {kvm.ROOTLESS}'")
    assert kvm.why_unavailable(probed / "entry/vmlinuz") == ""


def test_a_kvm_that_dies_says_how(probed: Path) -> None:
    put_program(probed, qemu.QEMU, "echo 'assertion failed' >&2; exit 134")
    assert "assertion failed" in kvm.why_unavailable(probed / "entry/vmlinuz")


def test_the_limit_is_below_fifteen_seconds() -> None:
    assert kvm.LIMIT < 15


# Machines


def built(number: int, machine: Machine = qemu.MACHINE) -> stage_module.BuiltStage:
    return stage_module.build(stages.find(paths.STAGES, [number])[0], machine.kernel())


def test_two_cpus_and_a_panic() -> None:
    guest = qemu.SMP.boot(device.contents({"fibdrv": built(1, qemu.SMP).module.stripped}))
    assert guest.channel.check("nproc", 60).strip() == "2"
    guest.channel.check("insmod /lib/fibdrv/fibdrv.ko", 60)
    assert guest.channel.check("fibctl read 93", 60).strip() == "12200160415121876738"
    with pytest.raises(MachineDied):
        guest.channel.run("echo c >/proc/sysrq-trigger", 60)
    assert "sysrq triggered crash" in guest.console()
    guest.stop()


@pytest.mark.long
def test_one_that_stays_rests(tmp_path: Path) -> None:
    folder = scratch.base() / f"test{os.getpid()}"
    guest = qemu.MACHINE.boot_to_stay(NOTHING, folder)
    try:
        found = qemu.MACHINE.attach(folder)
        assert found is not None and found.channel.check("echo here", 60) == "here\n"
        time.sleep(2)
        before = cpu_ticks(guest.pid)
        time.sleep(3)
        assert cpu_ticks(guest.pid) - before < 60  # A busy loop would use 300 ticks in 3 s.
    finally:
        guest.stop()
    assert not folder.exists()


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


# The exact instruction count


def count(built_stages: list[stage_module.BuiltStage]) -> Measurements:
    subjects = [StageWorkload(one) for one in built_stages]
    return instructions.count(
        machines.counting(), subjects, contents, lambda *_: None, len(subjects), limit=30_000_000
    )


@pytest.mark.long
def test_two_boots_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resumed machine and a booted machine count the same number of instructions."""
    both = [built(2), built(7)]
    first = count(both).samples
    monkeypatch.setattr(snapshot, "obtain", lambda *_: None)
    second = count(both[::-1]).samples
    assert len(first) > 20 and first.keys() == second.keys()
    for which, series in first.items():
        a, b = series.median, second[which].median
        assert not instructions.differ(a, b), (which, a, b)
        assert a > 10


@pytest.mark.long
def test_one_percent_is_seen_of_any_module() -> None:
    todo = [(loops, "a") for loops in (99, 100)]
    runs = sensitivity.machine_runs(qemu.MACHINE, todo, lambda *_: None)
    (a,), (b,) = runs[99, "a"], runs[100, "a"]
    assert instructions.differ(a, b) and 1.009 < b / a < 1.011


def test_a_machine_without_kvm_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvm, "DEVICE", Path("/nonexistent"))
    with pytest.raises(LabError, match="no /dev/kvm"):
        qemu.KVM.boot()


# The following tests check the verdicts of grader/sensitivity.sh.


def runs_of(cost: dict[int, list[float]]) -> sensitivity.Runs:
    return {(loops, copy): cost[loops] for loops in cost for copy in sensitivity.COPIES}


def test_sensitivity_tells_eyes_from_none() -> None:
    sharp = runs_of({x: [x * 1000.0 + i % 5 for i in range(50)] for x in sensitivity.LOOPS})
    blunt = runs_of({x: [x * 10.0 + i * 97 % 500 for i in range(50)] for x in sensitivity.LOOPS})
    assert sensitivity.judge_clock("sharp", sharp).sees
    assert not sensitivity.judge_clock("blunt", blunt).sees
    assert sensitivity.judge_exact("sharp", sharp).sees
    assert sensitivity.judge_exact("blunt", blunt).wolf
    shifted = {**sharp, (99, "b"): [v * 1.3 for v in sharp[99, "b"]]}
    assert sensitivity.judge_clock("shifted", shifted).wolf
    backwards = {**sharp, (99, "a"): [97_000.0 + i % 5 for i in range(50)]}
    assert not sensitivity.judge_clock("backwards", backwards).sees
    assert not sensitivity.judge_exact("backwards", backwards).sees
