# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test concurrent callers, killed callers, callers without memory, and access rights.

Real concurrency needs two CPUs, which machine qemu-smp has. The long form, LAB_TESTS=long, takes
half a minute for each of three cases: eight threads with separate files, eight threads on one file,
and eight threads while the module is unloaded and loaded.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.base import paths
from grader.exercise.build import stage_module
from grader.exercise.files import device, stages
from grader.exercise.files.stages import Stage
from grader.lab import kernel_log, machines, qemu
from grader.lab.machines import Machine, Running
from grader.lab.module import Module

LONG = os.environ.get("LAB_TESTS") == "long"
SECONDS = 90 if LONG else 4
SEED = int(os.environ.get("CONCURRENCY_SEED") or 1)
MODULE = "/lib/fibdrv/fibdrv.ko"
# The default time limit in seconds, which suits a computer that boots the machine in 0.5 s.
PATIENCE = 40.0

Loaded = Callable[[str | Machine, Stage], Running]

# On this machine each instruction takes one virtual nanosecond, which is also the resolution of its
# timers.
EXACT_TIMERS = qemu.Qemu(
    "qemu",
    "instructions",
    qemu.COUNTING,
    1,
    f"{qemu.EMULATED_ARGUMENTS} {qemu.CLOCK_ARGUMENTS}",
    qemu.EMULATED_CPU,
)
# The maximum number of instructions, in any stage, for one limb product or for another step that
# fib_account_work() counts as one product.
INSTRUCTIONS_A_PRODUCT = 30
# FIB_WORK_LIMIT of common/stage.h: the maximum number of products between two
# calls of fib_yield().
WORK_LIMIT = 100_000


def kit_stage(number: int) -> Stage:
    return stages.find(paths.STAGES, [number])[0]


@pytest.fixture
def loaded() -> Iterator[Loaded]:
    """Yield a function that boots a machine with a stage. Fail if its log contains a problem."""
    running: list[tuple[Running, Module]] = []

    def load(name: str | Machine, stage: Stage) -> Running:
        machine = machines.get(name) if isinstance(name, str) else name
        built = stage_module.build(stage, machine.kernel())
        assert built.ok, built.module.log
        guest = machine.boot(
            device.contents(
                {"fibdrv": built.module.stripped}, {"fibstress": device.stress_client()}
            )
        )
        running.append((guest, built.module))
        guest.channel.check(f"insmod {MODULE}", PATIENCE * guest.speed_factor)
        return guest

    yield load
    try:
        for guest, module in running:
            finding = kernel_log.first_problem(guest.console(), module)
            assert finding is None, finding.excerpt
    finally:
        for guest, _ in running:
            guest.stop()


def run(guest: Running, command: str) -> tuple[int, str]:
    result = guest.channel.run(command, SECONDS + PATIENCE * guest.speed_factor)
    return result.status, result.output


def storm(seconds: int, top: int, max_n: int) -> str:
    return f"fibstress concurrent {SEED} {seconds} 8 {top} {max_n} {MODULE}"


@pytest.mark.machine
@pytest.mark.long
def test_storm(loaded: Loaded) -> None:
    """Eight threads read correct values: from separate files, from one file, and during reloads."""
    guest = loaded("qemu-smp", kit_stage(7))
    assert run(guest, "grep -c ^processor /proc/cpuinfo") == (0, "2\n")
    status, output = run(guest, storm(SECONDS, 3000, 1_000_000))
    assert status == 0, output
    figures = dict(word.split("=") for word in output.split())
    print(output)
    # The bound is low, because the computer may be busy.
    assert int(figures["calls"]) > 100 * SECONDS
    assert int(figures["loads"]) >= 1


def killed(guest: Running, stage: Stage, count: int) -> dict[str, int]:
    """Kill `count` readers of F(max_n). Return the numbers that `fibstress kill` prints."""
    status, output = run(guest, f"fibstress kill {SEED} {count} {stage.manifest.max_n}")
    print(output)
    assert status == 0, output
    return {name: int(value) for name, value in (word.split("=") for word in output.split())}


def allowed(figures: dict[str, int]) -> int:
    """Return the maximum number of instructions from the reader's SIGKILL to its exit."""
    return figures["idle"] + WORK_LIMIT * INSTRUCTIONS_A_PRODUCT


@pytest.mark.machine
@pytest.mark.parametrize("number", [3, 4, 5, 6, 7] if LONG else [6])
def test_killed(loaded: Loaded, number: int) -> None:
    """A reader of F(max_n) that is killed at any time ends after a bounded amount of work.

    The instructions from the kill until the parent's wait() returns are counted. The driver would
    report leaked memory of the call in the log; make debug also looks for leaks with kmemleak.
    """
    count = 20 if number == 7 or not LONG else 100
    stage = kit_stage(number)
    figures = killed(loaded(EXACT_TIMERS, stage), stage, count)
    assert figures["killed"] >= count * 3 // 4
    assert figures["latest"] <= allowed(figures)
    # The limit must be far below the cost of a full call.
    assert figures["whole"] > 5 * allowed(figures)


@pytest.mark.machine
def test_one_that_never_looks_up_is_caught(loaded: Loaded, tmp_path: Path) -> None:
    directory = tmp_path / "6-never-looks-up"
    shutil.copytree(kit_stage(6).directory, directory)
    header = directory / "bignum.h"
    text = header.read_text()
    assert '#include "stage.h"\n' in text
    instead = "#define fib_account_work(call, products) ((void)(call), (void)(products), 0)\n"
    header.write_text(text.replace('#include "stage.h"\n', f'#include "stage.h"\n{instead}'))
    stage = Stage(directory, kit_stage(6).manifest)
    figures = killed(loaded(EXACT_TIMERS, stage), stage, 20)
    assert figures["latest"] > 3 * allowed(figures)


@pytest.mark.machine
def test_a_short_read_is_served_among_long_ones(loaded: Loaded) -> None:
    """On one CPU without preemption, long reads must yield to a short read."""
    guest = loaded("uml", kit_stage(7))
    status, output = run(
        guest,
        "fibctl measure 1000000 100000 & A=$!; fibctl measure 1000000 100000 & B=$!;"
        " fibctl read 10; kill -0 $A && kill -0 $B && echo both; kill -9 $A $B; wait; echo done",
    )
    assert status == 0
    assert output.split() == ["55", "both", "done"]


# F(1,000,000) takes 434 kB for the numbers and 209 kB for the digits. The client needs more memory
# of its own.
CAGE = """
mkdir -p /tmp/cage && mount -t cgroup2 none /tmp/cage && cd /tmp/cage || exit 9
echo +memory >cgroup.subtree_control && mkdir small && echo 600000 >small/memory.max || exit 9
before=$(cat small/memory.current)
sleep 1000 & beside=$!
for i in 1 2 3; do
	sh -c 'echo $$ >small/cgroup.procs; exec fibctl read 1000000' >/tmp/digits 2>/tmp/error
	echo "status $? digits $(wc -c </tmp/digits)"
done
cat /tmp/error
# All charged memory is released, except in the caches that the kernel keeps for the group.
for i in 1 2 3 4 5 6 7 8 9 10; do
	now=$(cat small/memory.current)
	[ "$now" -lt 100000 ] && break
	echo 90000 >small/memory.max
	sleep 0.1
done
echo "before $before after $now"
grep oom_kill small/memory.events
kill $beside && echo "nobody else was killed"
fibctl read 1000000 | wc -c
"""


@pytest.mark.machine
@pytest.mark.parametrize("name", ["uml", "qemu-smp"] if LONG else ["uml"])
def test_a_small_memory_cgroup(loaded: Loaded, name: str) -> None:
    """If a memory cgroup is too small, only its process gets ENOMEM or is killed."""
    guest = loaded(name, kit_stage(7))
    guest.channel.put("/tmp/cage.sh", CAGE.encode(), PATIENCE)
    status, output = run(guest, "sh /tmp/cage.sh")
    print(output)
    assert status == 0
    lines = output.splitlines()
    for line in lines[:3]:
        assert line in ("status 1 digits 0", "status 137 digits 0")
    after = next(line for line in lines if line.startswith("before")).split()[3]
    assert int(after) < 100_000
    assert lines[-2] == "nobody else was killed"
    assert lines[-1] == "208989"  # 208,988 digits and a newline, read outside of the cgroup


@pytest.mark.machine
def test_who_may(loaded: Loaded) -> None:
    """Only root may open the device; another user gets EACCES until root changes the mode."""
    guest = loaded("uml", kit_stage(1))
    assert run(guest, "stat -c '%a %u %g' /dev/fibonacci") == (0, "600 0 0\n")
    for command in ("read 10", "time 10", "measure 10"):
        status, output = run(guest, f"su learner -c 'fibctl {command}' 2>&1")
        assert status == 1
        assert "Permission denied" in output
    status, output = run(
        guest, "su learner -c 'echo 0 >/sys/class/fibonacci/fibonacci/ktime_measure' 2>&1"
    )
    assert status != 0
    assert run(guest, "cat /sys/class/fibonacci/fibonacci/ktime_measure") == (0, "1\n")
    assert run(guest, "chmod 666 /dev/fibonacci; su learner -c 'fibctl read 10'") == (0, "55\n")
