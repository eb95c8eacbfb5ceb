# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the sections in which a stage uses vector registers: see common/vector.h.

Faults of them are planted into copies of stage 12, each a line or two, and must be found.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import paths, processor
from grader.exercise.build import stage_module
from grader.exercise.conformance.verify import MODULE
from grader.exercise.files import device, stages, tasks
from grader.exercise.operations import unit_tests
from grader.exercise.workload.stage_workload import SECTION_INSTRUCTIONS, StageSubject, contents
from grader.lab import guest_program, machines, qemu
from grader.lab.machines import Machine
from grader.rulers import counter
from grader.tools import compile_commands
from grader.verdict import points

EXERCISE = "12"

REGISTERS = Path(__file__).with_name("vector_registers.c")
LONGEST = "cat /sys/module/fibdrv/parameters/longest_section"
N = 50_000  # for which stage 12 uses vectors
BEGIN, END = "\tfib_fpu_begin();\n", "\tfib_fpu_end();\n"
PRINT = "\t\tdigits_avx2_print(text, a->digit + left, count);\n"
CONSTANTS = "\tfft_avx2_constants(value, count);\n"

STATIC = {
    "one call before begin": (
        "digits.c", f"\t{BEGIN}{PRINT}", f"{PRINT}\t{BEGIN}{PRINT}",
        "a call of digits_avx2_print outside of a section",
    ),
    "one call after end": (
        "digits.c", f"{PRINT}\t{END}", f"{PRINT}\t{END}{PRINT}",
        "a call of digits_avx2_print outside of a section",
    ),
    "it yields in a section": (
        "digits.c", PRINT, f"{PRINT}\t\tfib_look_up(call);\n",
        "a call of fib_look_up within a section",
    ),
    "it takes memory in a section": (
        "digits.c", PRINT, f"{PRINT}\t\tfib_free(fib_alloc(call, 1, 1));\n",
        "a call of fib_alloc within a section",
    ),
    "no end": (
        "fft.c", f"{CONSTANTS}{END}", CONSTANTS,
        "a section within a section",
    ),
    "an end too many": (
        "fft.c", f"{CONSTANTS}{END}", f"{CONSTANTS}{END}{END}",
        "fib_fpu_end without fib_fpu_begin",
    ),
    "a vector instruction in another file": (
        "digits.c", f"{PRINT}\t{END}", f'{PRINT}\t\tasm volatile("vzeroupper");\n\t{END}',
        "the instruction vzeroupper (floating point or vectors)",
    ),
    "a section within a vector file": (
        "fft_avx2.c", "void fft_avx2_constants(s64 *value, size_t count)\n{\n",
        "void fib_fpu_begin(void);\n"
        "void fft_avx2_constants(s64 *value, size_t count)\n{\n\tfib_fpu_begin();\n",
        "a use of fib_fpu_begin in fft_avx2.c",
    ),
    "another rounding mode": (
        "fft_avx2.c", "void fft_avx2_constants(s64 *value, size_t count)\n{\n",
        "void fft_avx2_constants(s64 *value, size_t count)\n{\n"
        "\tunsigned int mxcsr = 0x7f80;\n\n"
        '\tasm volatile("vldmxcsr %0" : : "m"(mxcsr));\n',
        "the instruction vldmxcsr (floating point or vectors)",
    ),
}  # fmt: skip
# A section of more than 30 million instructions.
OVERLONG = (
    "\t\tfft_avx2_top(fft, f, a->digit, i, end);\n",
    "\t\tfor (int j = 0; j < 3000; j++)\n\t\t\tfft_avx2_top(fft, f, a->digit, i, end);\n",
)


def copy(folder: Path, file: str, right: str, wrong: str) -> stages.Stage:
    """A copy of stage 12 with one fault."""
    place = folder / "12-fault"
    shutil.copytree(paths.STAGES / "12-fft-avx2", place)
    text = (place / file).read_text()
    assert right in text, right
    (place / file).write_text(text.replace(right, wrong, 1))
    return stages.single(place, f"fault-{folder.name}")


@pytest.fixture(scope="module")
def counting() -> machines.CountingMachine:
    return machines.counting()


@pytest.mark.parametrize("name", STATIC)
def test_a_faulty_section_is_found_in_the_objects(
    name: str, tmp_path: Path, counting: machines.CountingMachine
) -> None:
    file, right, wrong, got = STATIC[name]
    built = stage_module.build(copy(tmp_path, file, right, wrong), counting.kernel())
    assert built.ok, built.cause
    assert any(breach.got.startswith(got) for breach in built.breaches), built.breaches


@pytest.mark.parametrize("machine", ["uml", "qemu"])
def test_the_kits_stage_has_no_breach(machine: str) -> None:
    built = stage_module.build(stages.kit(12), machines.get(machine).kernel())
    assert built.ok and not built.breaches, (built.cause, built.breaches)


def test_a_section_that_is_too_long_is_found(
    tmp_path: Path, counting: machines.CountingMachine
) -> None:
    built = stage_module.build(copy(tmp_path, "fft.c", *OVERLONG), counting.kernel())
    found = counter.one(counting, StageSubject(built), contents, N)
    assert not isinstance(found, counter.Count)
    assert found.failure is not None
    assert "fib_fpu_begin to fib_fpu_end" in found.failure.title
    assert int(found.failure.got.replace(",", "")) > 30_000_000 > SECTION_INSTRUCTIONS
    right = StageSubject(stage_module.build(stages.kit(12), counting.kernel()))
    assert isinstance(counter.one(counting, right, contents, N), counter.Count)


def test_without_avx2_the_stage_computes_in_limbs_and_says_so(
    counting: machines.CountingMachine,
) -> None:
    built = stage_module.build(stages.kit(12), counting.kernel())
    has, said = {}, {}
    for vectors in (False, True):
        modules = {device.NAME: built.module.stripped}
        guest = qemu.MACHINE.boot(device.contents(modules, vectors=vectors))
        try:
            guest.wire.check(f"insmod {MODULE}", 60)
            has[vectors] = guest.wire.check("cat /sys/module/fibdrv/parameters/avx2", 60).strip()
            said[vectors] = guest.wire.check(f"fibctl read {N}", 200)
            assert (int(guest.wire.check(LONGEST, 60)) > 0) is vectors
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
        guest.wire.check(f"insmod {MODULE}", 60)
        # Three at a time, so that they take turns on a CPU, and two of them with vectors.
        both = f"registers {N} 20 & registers {2 * N} 20 & registers 1000 300 & wait; wait; wait"
        said = guest.wire.check(both, 300 * guest.speed_factor)
        assert said.split() == ["kept"] * 3
        assert int(guest.wire.check(LONGEST, 60)) > 0
    finally:
        guest.stop()
