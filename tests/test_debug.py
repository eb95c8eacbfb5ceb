# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test make debug: no finding in a correct stage, and a planted fault for each checker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import catalogue
import pytest

from grader.__main__ import main as grade
from grader.base import paths
from grader.exercise.build import stage_module
from grader.exercise.conformance import test_inputs
from grader.exercise.files import device, stages
from grader.exercise.stress.debug_kernel import StressPlan, examine
from grader.lab import log_diagnostics, machines
from grader.lab.log_diagnostics import LogContext
from grader.lab.machines import Machine
from grader.lab.module import Kernel

nowhere = LogContext("fibdrv", device.DIALECT, lambda _symbol, _offset, _size: ("", ""))


@pytest.mark.parametrize(
    ("log", "meaning"),
    [
        ("UBSAN: shift-out-of-bounds in stages/3-x/bignum.c:7:9\n"
         "shift exponent 64 is too large for 64-bit type 'long long int'", "a shift by 64"),
        ("UBSAN: array-index-out-of-bounds in a.c:1:2\n"
         "index 5 is out of range for type 'u64 [5]'",
         "index 5 is outside of an array of type u64 [5]"),
        ("BUG: KASAN: double-free or invalid-free in fib_free+0x2/0x9 [fibdrv]\n",
         "freed twice"),
        ("BUG: KASAN: null-ptr-deref in bn_add+0x2/0x9 [fibdrv]\n", "null pointer"),
        ("fibdrv: F(10) leaves 16 bytes in 2 blocks unfreed", "2 block(s) from fib_alloc, 16 byt"),
        ("fibdrv: F(10): the stage returned -5", "-ENOMEM"),
        ("fibdrv: F(10): decimal does not keep to 1 bytes", "a buffer of 1 bytes, one too few"),
        ("fibdrv: F(10): the stage returned -34 (ERANGE)", "and -34 (ERANGE) is neither"),
        ("fibdrv: F(10): decimal returned -34 (ERANGE) for a buffer of exactly its 2 bytes",
         "2 digits fit into 2 bytes"),
        ("fibdrv: F(10): decimal changes the number it is given", "must not change the number"),
        ("WARNING: possible circular locking dependency detected", "in the other order"),
        ("BUG: sleeping function called from invalid context at mm.c:9", "waiting is forbidden"),
        ("Kernel panic - not syncing: Kernel mode fault at addr 0x8, ip 0x6", "a null pointer"),
        ("Kernel panic - not syncing: Kernel mode fault at addr 0xdead0000, ip 0x6", "is invalid"),
        ("WARNING: CPU: 0 PID: 3 at stages/3-x/bignum.c:7 bn_sub+0x8/0x9 [fibdrv]", "assertion"),
    ],
)  # fmt: skip
def test_meaning(log: str, meaning: str) -> None:
    assert meaning in log_diagnostics.sentence(log, nowhere)


def test_the_function_of_a_fault() -> None:
    """The instruction pointer names the function, not a pointer to a function on the stack."""
    log = (
        "RIP: 0033:bn_create+0x58/0x140 [fibdrv]\n"
        "Kernel panic - not syncing: Kernel mode fault at addr 0x0, ip 0xb8028d88\n"
        "Call Trace:\n [<b8028d30>] ? bn_dup+0x0/0x140 [fibdrv]\n"
        " [<b802adc6>] fib_compute+0x36/0x360 [fibdrv]\n"
    )
    found = log_diagnostics.frames(log, "fibdrv")
    assert list(found) == [("bn_create", 0x58, 0x140), ("fib_compute", 0x35, 0x360)]
    known = LogContext("fibdrv", device.DIALECT, lambda symbol, _offset, _size: (symbol, "a.c:9"))
    assert "is used in bn_create (a.c:9)" in log_diagnostics.sentence(log, known)


def test_first_report_counts() -> None:
    log = "fibdrv: F(1): the stage returned -5\nWARNING: possible circular locking dependency\n"
    assert "-ENOMEM" in log_diagnostics.sentence(log, nowhere)
    assert log_diagnostics.sentence("all is well", nowhere) == ""


def test_leaks_are_counted_by_place() -> None:
    block = (
        "unreferenced object 0x914cb240 (size 32):\n  backtrace:\n"
        "    [<00>] fib_alloc+0x40/0xe0 [fibdrv]\n    [<00>] bn_create+0xc1/0x200 [fibdrv]\n"
    )
    assert log_diagnostics.leaked(block * 3) == 3
    text = log_diagnostics.leaks(block * 3, nowhere)
    assert "3 blocks of memory (96 bytes), allocated in bn_create, are never freed" in text
    assert log_diagnostics.leaks("", nowhere) == ""


def test_a_leak_of_the_kernels_own_is_none_of_the_stage() -> None:
    report = (
        "unreferenced object 0x1 (size 16):\n  backtrace:\n    [<00>] kobject_set_name+0xe8/0x100\n"
        "    [<00>] __class_register+0x112/0x2f0\n    [<00>] 0xa1809068\n"
    )
    assert log_diagnostics.leaked(report) == 0
    assert log_diagnostics.leaked(report.replace("__class_register", "fibdrv_init")) == 1


def _hammered(key: str, command: str, machine: Machine, kernel: Kernel) -> tuple[int, str]:
    built = stage_module.build(next(s for s in stages.find(paths.STAGES) if s.key == key), kernel)
    guest = machine.boot(
        device.contents({"fibdrv": built.module.stripped}, {"fibstress": device.stress_client()})
    )
    try:
        guest.channel.check("insmod /lib/fibdrv/fibdrv.ko", 30)
        result = guest.channel.run(command, 120)
        return result.status, result.output
    finally:
        guest.stop()


@pytest.mark.machine
def test_random_calls_pass(uml: Machine, kernel: Kernel) -> None:
    command = "fibstress calls 7 10000 1000000 3000"
    status, output = _hammered("7-preallocation", command, uml, kernel)
    assert status == 0, output
    assert int(output.split("calls=")[1]) >= 10000


@pytest.mark.machine
@pytest.mark.timeout(900)
@pytest.mark.long
def test_a_sound_stage_is_clean() -> None:
    machine = machines.get("uml-debug")
    stage = next(s for s in stages.find(paths.STAGES) if s.number == 7)
    built = stage_module.build(stage, machine.kernel())
    result = examine(built, machine, StressPlan(seed=3, calls=2000, quick=True), lambda what: None)
    assert not result.cause, f"{result.cause}\n{result.excerpt}"
    assert result.figures["calls"] >= 2000
    assert result.figures["failed allocations"] >= 20
    assert result.figures["refused calls"] >= 20
    assert result.figures["leaks"] == 0
    # The module is loaded ten times in a row and a few times more.
    assert result.figures["loads"] > 10


@pytest.mark.machine
@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_grader_does_the_same_on_that_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The debug kernel finds a leak and an unchecked allocation that no other check finds."""
    monkeypatch.setattr(test_inputs, "EVERY_N_TO", 50)
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("unchecked allocation", "leak"):
        copy = catalogue.plant(catalogue.named(3, name, "debug"), tmp_path)
        copy.rename(tree / f"3-{name.replace(' ', '-')}")
    words = ["--machine", "uml-debug", "--quick", "--tree", str(tree), "--out", str(tmp_path / "r")]
    assert grade(words) == 1
    report = json.loads((tmp_path / "r/report.json").read_text())
    *leaky, unchecked = report["stages"]
    for leak in leaky:
        assert leak["status"] == "dirty-log"
        assert leak["cause"].startswith("leak scan: ")
    assert unchecked["status"] == "crashed"
    assert "allocations that fail" in unchecked["cause"]
    assert "in bn_create, tree/3-unchecked-allocation/bignum.c:" in unchecked["cause"]
    assert unchecked["log"].startswith("What it means: a null pointer is used in bn_create")
    assert unchecked["correctness"]["failures"][-1]["test"] == "debug: debug kernel"
    assert unchecked["debug"]["calls"] >= 5000
    assert report["machines"][0]["name"] == "uml-debug"
    assert not unchecked["samples"]
    assert "clean: " not in capsys.readouterr().err


# The debug kernel's configuration is uml.config with the additions of uml-debug.config.


def lab_kernel(call: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one function of scripts/lab-kernel.sh in this folder, without the rest of the script."""
    script = (paths.SCRIPTS / "lab-kernel.sh").read_text()
    assert script.endswith("\nmain; exit\n")
    (folder / "scripts").mkdir()
    for name in ("lib.sh", "kernel-source.sh", "kernel"):
        (folder / "scripts" / name).symlink_to(paths.SCRIPTS / name)
    copy = folder / "scripts/lab-kernel.sh"
    copy.write_text(script.removesuffix("main; exit\n") + call)
    return subprocess.run(
        ["bash", str(copy), "uml-debug"], cwd=folder, capture_output=True, text=True
    )


@pytest.mark.parametrize(("number", "offered"), [(6001, False), (6011, False), (6012, True)])
def test_sleeping_in_atomic_context_from_6_12_on(
    tmp_path: Path, number: int, offered: bool
) -> None:
    completed = lab_kernel(f"number={number}; fragment", tmp_path)
    assert completed.returncode == 0
    options = completed.stdout.splitlines()
    assert ("CONFIG_DEBUG_ATOMIC_SLEEP=y" in options) == offered
    for name in ("KASAN", "DEBUG_KMEMLEAK", "PROVE_LOCKING", "UBSAN_BOUNDS", "UBSAN_SHIFT",
                 "FAULT_INJECTION", "FAILSLAB", "FAIL_PAGE_ALLOC"):  # fmt: skip
        assert f"CONFIG_{name}=y" in options
    # Each option occurs once. The debug kernel's setting replaces the general one.
    assert "# CONFIG_STATIC_LINK is not set" in options
    assert "CONFIG_STATIC_LINK=y" not in options


@pytest.mark.parametrize(
    ("final", "lost"),
    [
        ("CONFIG_KASAN=y\nCONFIG_LOG=14\n", ""),
        ("# CONFIG_KASAN is not set\nCONFIG_LOG=14\n", "CONFIG_KASAN=y"),
        ("CONFIG_LOG=14\n", "CONFIG_KASAN=y"),
        ("CONFIG_KASAN=m\nCONFIG_LOG=14\n", "CONFIG_KASAN=y"),
        ("CONFIG_KASAN=y\nCONFIG_LOG=17\n", "CONFIG_LOG=14"),
        ("CONFIG_KASAN=y\nCONFIG_LOG=14\nCONFIG_TRAP=y\n", "CONFIG_TRAP (wanted: not set)"),
    ],
)
def test_an_option_that_got_lost_is_an_error(tmp_path: Path, final: str, lost: str) -> None:
    (tmp_path / "fragment").write_text("CONFIG_KASAN=y\nCONFIG_LOG=14\n# CONFIG_TRAP is not set\n")
    (tmp_path / "final").write_text(final)
    completed = lab_kernel("version=6.9; check_config fragment final", tmp_path)
    assert completed.returncode == (2 if lost else 0)
    if lost:
        assert f"    {lost}\n" in completed.stderr
        assert (
            "uml-debug lost 1 option(s); correct scripts/kernel"
            in completed.stderr.splitlines()[-1]
        )


@pytest.mark.machine
def test_the_kernel_has_every_option_asked_for(tmp_path: Path) -> None:
    kernel = machines.get("uml-debug").kernel()
    major, minor = map(int, kernel.release.split(".")[:2])
    wanted = lab_kernel(f"number={major * 1000 + minor}; fragment", tmp_path).stdout
    final = (kernel.tree.parent / "config").read_text().splitlines()
    assert len(wanted.splitlines()) > 60
    assert [x for x in wanted.splitlines() if x not in final and not x.startswith("#")] == []


def test_no_such_stage() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "grader.debug", "--stage", "99"],
        cwd=paths.ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 2
    assert run.stderr.startswith("debug: there is no stage 99")
    assert run.stdout == ""
