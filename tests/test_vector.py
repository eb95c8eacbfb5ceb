# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the sections in which a stage uses vector registers, fib_fpu_begin to fib_fpu_end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import processor
from grader.exercise.build import stage_module
from grader.exercise.conformance.verify import MODULE
from grader.exercise.files import device, stages, tasks
from grader.exercise.operations import unit_tests
from grader.exercise.workload.stage_workload import StageWorkload, contents
from grader.lab import guest_program, machines, qemu
from grader.lab.machines import Machine
from grader.measure import instructions
from grader.scoring import points
from grader.tools import compile_commands

EXERCISE = "12"

REGISTERS = Path(__file__).with_name("vector_registers.c")
LONGEST = "cat /sys/module/fibdrv/parameters/longest_section"
N = 50_000  # stage 12 uses vector instructions for this n


@pytest.fixture(scope="module")
def counting() -> machines.CountingMachine:
    return machines.counting()


@pytest.mark.parametrize("machine", ["uml", "qemu"])
def test_the_kits_stage_has_no_violation(machine: str) -> None:
    built = stage_module.build(stages.kit(12), machines.get(machine).kernel())
    assert built.ok and not built.violations, (built.cause, built.violations)


def test_the_kits_sections_are_short_enough(counting: machines.CountingMachine) -> None:
    right = StageWorkload(stage_module.build(stages.kit(12), counting.kernel()))
    assert isinstance(instructions.count_call(counting, right, contents, N), instructions.CallCount)


def test_without_avx2_the_stage_computes_in_limbs_and_says_so(
    counting: machines.CountingMachine,
) -> None:
    built = stage_module.build(stages.kit(12), counting.kernel())
    has, said = {}, {}
    for vectors in (False, True):
        modules = {device.NAME: built.module.stripped}
        guest = qemu.MACHINE.boot(device.contents(modules, vectors=vectors))
        try:
            guest.channel.check(f"insmod {MODULE}", 60)
            has[vectors] = guest.channel.check("cat /sys/module/fibdrv/parameters/avx2", 60).strip()
            said[vectors] = guest.channel.check(f"fibctl read {N}", 200)
            assert (int(guest.channel.check(LONGEST, 60)) > 0) is vectors
        finally:
            guest.stop()
    assert has == {False: "0", True: "1"}
    assert said[False] == said[True]


def test_without_avx2_functions_are_not_tested_and_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "CPUINFO", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu sse2 avx avx2\n")
    course, program = tasks.course(12), tmp_path / "no program"
    tried = {
        task.operation: unit_tests.outcome(stages.kit(12), program, task.operation, 1)
        for task in course.tasks
    }
    lines = points.task_lines(course, tried)
    assert [(line.earned, line.possible) for line in lines] == [(0, 0)] * len(course.tasks)
    assert {line.remark for line in lines} == {unit_tests.NO_VECTORS}
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu sse2 avx2 fma\n")
    assert processor.has_vectors()


def test_an_editor_learns_the_flags_of_vector_files() -> None:
    for entry in compile_commands.stage_commands(stages.kit(12)):
        words = entry["command"].split()
        vector = Path(entry["file"]).name in stages.kit(12).traits.vector
        assert ("-mavx2" in words, "-mgeneral-regs-only" in words) == (vector, not vector)


@pytest.mark.skipif(not processor.has_vectors(), reason="uml has the processor's registers")
@pytest.mark.parametrize("name", ["uml", "qemu", "qemu-smp"])
def test_a_process_keeps_its_vector_registers(name: str) -> None:
    machine: Machine = machines.get(name)
    built = stage_module.build(stages.kit(12), machine.kernel())
    program = guest_program.compiled("vector_registers", [REGISTERS], [guest_program.GUEST])
    whole = device.contents({device.NAME: built.module.stripped}, {"registers": program})
    guest = machine.boot(replace(whole, vectors=True))
    try:
        guest.channel.check(f"insmod {MODULE}", 60)
        # Three processes, two of them with vectors, must share the CPUs, so the kernel switches
        # them.
        both = f"registers {N} 20 & registers {2 * N} 20 & registers 1000 300 & wait; wait; wait"
        said = guest.channel.check(both, 300 * guest.speed_factor)
        assert said.split() == ["kept"] * 3
        assert int(guest.channel.check(LONGEST, 60)) > 0
    finally:
        guest.stop()
