# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make debug: that it finds nothing in a sound stage, and that each of its parts can find."""

from __future__ import annotations

import subprocess
import sys

import pytest

from grader import build, explain, initramfs, machines, paths, stages
from grader.build import Kernel
from grader.debug.session import Plan, examine
from grader.machines import Machine

MUTANTS = {s.key: s for s in stages.find(paths.ROOT / "tests/mutants")}


def nowhere(_symbol: str, _offset: int, _size: int) -> tuple[str, str]:
    return "", ""


@pytest.mark.parametrize(
    ("log", "meaning"),
    [
        ("UBSAN: shift-out-of-bounds in stages/3-x/bignum.c:7:9\n"
         "shift exponent 64 is too large for 64-bit type 'long long int'", "a shift by 64"),
        ("UBSAN: array-index-out-of-bounds in a.c:1:2\n"
         "index 5 is out of range for type 'u64 [5]'", "array of type u64 [5] has no element 5"),
        ("BUG: KASAN: double-free or invalid-free in fib_free+0x2/0x9 [fibdrv]\n",
         "given back twice"),
        ("BUG: KASAN: null-ptr-deref in bn_add+0x2/0x9 [fibdrv]\n", "null pointer"),
        ("fibdrv: F(10) leaves 16 bytes in 2 blocks unfreed", "2 block(s) from fib_alloc, 16 byt"),
        ("fibdrv: F(10): the stage returned -5", "-ENOMEM"),
        ("fibdrv: F(10): decimal does not keep to 1 bytes", "given 1 bytes, one too few"),
        ("fibdrv: F(10): decimal changes the number it is given", "leave the number as it is"),
        ("WARNING: possible circular locking dependency detected", "in the other order"),
        ("BUG: sleeping function called from invalid context at mm.c:9", "waiting is forbidden"),
        ("Kernel panic - not syncing: Kernel mode fault at addr 0x8, ip 0x6", "a null pointer"),
        ("Kernel panic - not syncing: Kernel mode fault at addr 0xdead00000000, ip 0x6", "spoilt"),
        ("WARNING: CPU: 0 PID: 3 at stages/3-x/bignum.c:7 bn_sub+0x8/0x9 [fibdrv]", "assertion"),
    ],
)  # fmt: skip
def test_meaning(log: str, meaning: str) -> None:
    assert meaning in explain.sentence(log, nowhere)


def test_first_report_counts() -> None:
    log = "fibdrv: F(1): the stage returned -5\nWARNING: possible circular locking dependency\n"
    assert "-ENOMEM" in explain.sentence(log, nowhere)
    assert explain.sentence("all is well", nowhere) == ""


def test_leaks_are_counted_by_place() -> None:
    block = (
        "unreferenced object 0x914cb240 (size 32):\n  backtrace:\n"
        "    [<00>] fib_alloc+0x40/0xe0 [fibdrv]\n    [<00>] bn_create+0xc1/0x200 [fibdrv]\n"
    )
    assert explain.leaked(block * 3) == 3
    text = explain.leaks(block * 3, nowhere)
    assert "3 blocks of memory (96 bytes), allocated in bn_create, are never given back" in text
    assert explain.leaks("", nowhere) == ""


def test_a_leak_of_the_kernels_own_is_none_of_the_stage() -> None:
    report = (
        "unreferenced object 0x1 (size 16):\n  backtrace:\n    [<00>] kobject_set_name+0xe8/0x100\n"
        "    [<00>] __class_register+0x112/0x2f0\n    [<00>] 0xa1809068\n"
    )
    assert explain.leaked(report) == 0
    assert explain.leaked(report.replace("__class_register", "fibdrv_init")) == 1


def _hammered(key: str, command: str, machine: Machine, kernel: Kernel) -> tuple[int, str]:
    stage = MUTANTS.get(key) or next(s for s in stages.find(paths.STAGES) if s.key == key)
    built = build.build(stage, kernel)
    guest = machine.boot({"fibdrv": built.stripped, "hammer": initramfs.hammer()})
    try:
        guest.wire.check("insmod /lib/fibdrv/fibdrv.ko", 30)
        done = guest.wire.run(command, 120)
        return done.status, done.output
    finally:
        guest.stop()


CALLS = "hammer calls 7 10000 93 93"


@pytest.mark.machine
@pytest.mark.parametrize(
    ("key", "complaint"),
    [
        ("1-wrong-at-71", "read of F(71)"),
        ("1-clamps", "lseek from"),
        ("1-truncates", "read of F("),
        ("1-shares-position", "the position is"),
    ],
)
def test_random_calls_find(key: str, complaint: str, uml: Machine, kernel: Kernel) -> None:
    status, output = _hammered(key, CALLS, uml, kernel)
    assert status == 1
    assert any(line.startswith(f"wrong: {complaint}") for line in output.splitlines()), output


@pytest.mark.machine
def test_random_calls_pass(uml: Machine, kernel: Kernel) -> None:
    command = "hammer calls 7 10000 1000000 3000"
    status, output = _hammered("7-preallocation", command, uml, kernel)
    assert status == 0, output
    assert int(output.split("calls=")[1]) >= 10000


@pytest.mark.machine
@pytest.mark.timeout(900)
def test_a_sound_stage_is_clean() -> None:
    machine = machines.get("uml-debug")
    stage = next(s for s in stages.find(paths.STAGES) if s.number == 7)
    built = build.build(stage, machine.kernel())
    result = examine(built, machine, Plan(seed=3, calls=2000, quick=True), lambda what: None)
    assert not result.cause, f"{result.cause}\n{result.excerpt}"
    assert result.figures["calls"] >= 2000
    assert result.figures["failed allocations"] >= 20
    assert result.figures["refused calls"] >= 20
    assert result.figures["leaks"] == 0


def test_no_such_stage() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "grader.debug", "--stage", "99"],
        cwd=paths.ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 2
    assert run.stderr.startswith("debug: there is no stage 99")
    assert run.stdout == ""
