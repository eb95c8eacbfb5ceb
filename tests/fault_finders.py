# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run the check that must find a planted fault: one function for each `by` in tests/faults/.

Each function returns the error code and the text of the finding. Checks share a machine until a
fault may have damaged it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import catalogue
import pytest
from catalogue import Fault
from shared_machine import Shared

from electives import source_folder
from grader.base import paths
from grader.base.errors import LabError
from grader.base.finding import Code, Finding
from grader.course import check
from grader.exercise.build import preprocess, stage_module
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.conformance import verify
from grader.exercise.contract_tests import runner
from grader.exercise.driver import verify as first_verify
from grader.exercise.files import device, exercises, stages, tasks
from grader.exercise.operations import test_program, unit_tests
from grader.exercise.stress.debug_kernel import StressPlan, examine
from grader.exercise.workload.stage_workload import StageWorkload, contents
from grader.lab import machines
from grader.lab.module import Kernel
from grader.measure import instructions
from grader.scoring import status

SEED = 1
# Time limits in seconds. With these small n, a stage exceeds them only if the machine hangs.
CALL_TIMEOUT = 2.0
CONTRACT_TIMEOUT = 10.0
RANDOM_CALLS = "fibstress calls 7 10000 93 93"
MANY_N = 50_000  # Stage 12 uses vector instructions for this n.
LONG = os.environ.get("LAB_TESTS") == "long"


@dataclass(frozen=True)
class Found:
    """A finding: its error code, its text, and the name of the failed test, if any."""

    code: str
    text: str
    test: str = ""
    booted: bool = False  # This is true if the check certainly used a machine.


@cache
def shared(name: str) -> Shared:
    """Return the shared machine of this kind."""
    return Shared(machines.get(name))


def end_machines() -> list[Shared]:
    """End the shared machines and return them."""
    used = [shared(name) for name in ("uml", "qemu-smp")]
    for machine in used:
        machine.end()
    return used


def verification(fault: Fault, folder: Path) -> Found:
    """Verify the stage as the grader does."""
    machine = shared("uml")
    before = machine.uses
    built = stage_module.build(catalogue.stage(fault, folder), machine.kernel())
    result = verify.verify(built, machine, SEED, True, lambda _: None)
    stands = status.decide_verified(result)
    test = result.failures[0].test if result.failures else ""
    assert all("build files are used" in note for note in built.excluded)
    return Found(stands.code, stands.cause, test, machine.uses > before)


def program(fault: Fault, folder: Path) -> Found:
    """Verify the module. Return the contract violations of the stage's user-space program."""
    from test_stage_contract import program as violations

    right = verification(fault, folder)
    assert right.code == Code.OK, right
    copy = next(folder.iterdir())
    found = violations(folder, sorted(copy.glob("*.c")))
    return Found(Code.CONTRACT, "\n".join(violation.got for violation in found))


def sanitizer(fault: Fault, folder: Path) -> Found:
    """Check that the module passes verification. Return the sanitizer's report on its program."""
    right = verification(fault, folder)
    assert right.code == Code.OK, right
    copy = next(folder.iterdir())
    subprocess.run(
        ["make", "-s", "-C", str(paths.COMMON / "userspace"), f"STAGE_DIR={copy}", "FLAVOUR=asan",
         f"OUT={folder / 'out'}"],
        check=True,
    )  # fmt: skip
    run = subprocess.run([str(folder / "out/fib"), "fib", "100"], capture_output=True, text=True)
    assert run.returncode
    return Found("", run.stderr)


@cache
def _right(number: int, machine: str) -> BuiltStage:
    return stage_module.build(stages.kit(number), machines.get(machine).kernel())


def contract_tests(fault: Fault, folder: Path) -> Found:
    """Link the stage with the contract tests and run them."""
    machine = shared(fault.options.get("machine", "uml"))
    built = recompiled(_right(fault.stages[0], machine.name), fault, folder, machine.kernel())
    runner.link(built, machine.kernel())
    module = built.module.directory / f"{runner.NAME}.stripped.ko"
    guest = machine.boot(device.contents({runner.NAME: module}))
    try:
        timeout = CONTRACT_TIMEOUT * guest.speed_factor
        failures = runner.run(guest, built, SEED, timeout)
    finally:
        guest.stop()
    if not failures:
        return Found(Code.OK, "")
    return Found(failures[0].kind or Code.WRONG, failures[0].title, failures[0].test)


def recompiled(built: BuiltStage, fault: Fault, folder: Path, kernel: Kernel) -> BuiltStage:
    """Return the stage with only the faulty files recompiled, by the commands that kbuild saved."""
    directory = built.module.directory
    shutil.copytree(directory / "stage", folder / "stage")
    linked = f".{built.module.name}.o.cmd"
    shutil.copy(directory / linked, folder / linked)
    copy = catalogue.plant(fault, folder)
    stage = replace(built.stage, directory=copy)
    made = preprocess.texts(stage, list(stage_module.sources(stage, [])))
    assert not made.cause, made.cause
    for name in catalogue.texts(fault):
        source = folder / "stage" / name
        source.write_bytes(made.files[name])
        noted = (directory / "stage" / f".{source.stem}.o.cmd").read_text().splitlines()[0]
        command = noted.split(" := ", 1)[1].split(" ; ")[0]
        # Keep the paths of the kit's headers; change every other path to a path in the copy.
        if f"{directory}/stage/" in command:
            command = command.replace(f"{directory}/stage/", f"{folder}/stage/")
            subprocess.run(command, shell=True, cwd=kernel.tree, check=True)
        else:  # since Linux 6.13 file names are relative to the module
            if not (folder / "kit").exists():
                (folder / "kit").symlink_to(directory / "kit")
            subprocess.run(command, shell=True, cwd=folder, check=True)
    return replace(built, module=replace(built.module, directory=folder))


def operation(fault: Fault, folder: Path) -> Found:
    """Run the unit tests of one operation, and those of the functions of its task."""
    stage = catalogue.stage(fault, folder)
    try:
        tested = test_program.program(stage)
    except LabError as error:
        return Found("", error.problem)
    name = fault.options["operation"]
    outcome = unit_tests.outcome(stage, tested, name, SEED)
    for task in tasks.course(stage.number).tasks:
        if outcome.large and task.operation == name:
            outcome = unit_tests.with_broken_function(outcome, stage, task, SEED)
    return Found(outcome.code, outcome.fault)


def objects(fault: Fault, folder: Path) -> Found:
    """Check the objects of the stage against the contract."""
    built = stage_module.build(catalogue.stage(fault, folder), machines.counting().kernel())
    assert built.ok, built.cause
    return Found(Code.CONTRACT, "\n".join(violation.got for violation in built.violations))


def count(fault: Fault, folder: Path) -> Found:
    """Count the instructions of a call, even of a stage that violates the contract."""
    machine, vectors = machines.counting(), fault.stages == (12,)
    built = stage_module.build(catalogue.stage(fault, folder), machine.kernel())
    assert built.ok, built.cause
    n = MANY_N if vectors else 93
    found = instructions.count_call(
        machine, StageWorkload(built, () if vectors else (n,)), contents, n
    )
    return Found(found.code, found.cause) if isinstance(found, Finding) else Found(Code.OK, "")


def task(fault: Fault, folder: Path) -> Found:
    """Test one task of stage 0; the long form also tests earlier tasks, which must pass."""
    machine = shared("uml")
    numbers = {one.name: one.number for one in tasks.course(0).tasks}
    number = numbers[fault.options["task"]]
    before = [one for one in range(1, numbers["two callers"]) if one < number and LONG]
    # Use an empty label, because with a label the message would be too long and be shortened.
    stage = replace(catalogue.stage(fault, folder), label="")
    built = stage_module.build(stage, machine.kernel())
    found = first_verify.verify(
        built, machine, SEED, lambda _: None, only=[*before, number]
    ).by_task
    assert not any(one in found for one in before), found
    return Found(found[number].code, found[number].cause) if number in found else Found("ok", "")


def random_calls(fault: Fault, folder: Path) -> Found:
    """Make random calls to the device."""
    machine = shared("uml")
    built = stage_module.build(catalogue.stage(fault, folder), machine.kernel())
    return Found("", stressed(machine, built, RANDOM_CALLS))


def random_calls_at_once(fault: Fault, folder: Path) -> Found:
    """Make random calls to the device from eight threads."""
    machine = shared("qemu-smp")
    built = stage_module.build(catalogue.stage(fault, folder), machine.kernel())
    command = f"fibstress concurrent 7 3 8 3000 100000 {verify.MODULE}"
    return Found("", stressed(machine, built, command))


def stressed(machine: Shared, built: BuiltStage, command: str) -> str:
    """Run a program that makes random calls to the device and must fail. Return its output."""
    assert built.ok, built.cause
    programs = {"fibstress": device.stress_client()}
    guest = machine.boot(device.contents({"fibdrv": built.module.stripped}, programs))
    try:
        guest.channel.check(f"insmod {verify.MODULE}", 30)
        done = guest.channel.run(command, 120)
    finally:
        guest.stop()
    assert done.status == 1
    return str(done.output)


def debug(fault: Fault, folder: Path) -> Found:
    """Run the stage in a separate debug kernel, because the checkers report only one error."""
    machine = machines.get("uml-debug")
    built = stage_module.build(catalogue.stage(fault, folder), machine.kernel())
    assert built.ok, built.module.log
    found = examine(built, machine, StressPlan(calls=200, quick=True), lambda _: None)
    meaning = found.excerpt.splitlines()[0] if found.excerpt else ""
    assert re.search(fault.options.get("meaning", ""), meaning), meaning
    return Found(found.findings[0].code if found.findings else Code.OK, found.cause)


def trial(fault: Fault, folder: Path) -> Found:
    """Build the module of the elective fibers, and run a test program."""
    from electives.fibers import build as fibers_build
    from electives.fibers import runner as fibers_trials

    one: fibers_trials.FiberTest = getattr(fibers_trials, fault.options["trial"])
    files = {file: text.encode() for file, text in catalogue.texts(fault).items()}
    try:
        return Found("", fibers_trials.attempt(fault.options["machine"], [one], files)[one])
    except fibers_build.ModuleNotBuiltError as error:
        return Found(Code.BUILD_FAILED, error.problem)


def elective_task(fault: Fault, folder: Path) -> Found:
    """Check an elective with the fault; only the task that the fault names may lose points."""
    elective = exercises.find(fault.exercise)
    subprocess.run([paths.SCRIPTS / "setup.sh", elective.packages], check=True)
    catalogue.plant(fault, folder).rename(folder / elective.copy_name)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LAB_REF", raising=False)
        patch.setattr(source_folder, "WORK", folder)
        result = check.check(elective, folder / elective.copy_name, SEED)
    wrong = [line for line in result.lines if not line.full]
    assert [line.name for line in wrong] == [fault.options["task"]], result.lines
    return Found(wrong[0].code, wrong[0].remark)


FINDERS: dict[str, Callable[[Fault, Path], Found]] = {
    "verification": verification,
    "program": program,
    "sanitizer": sanitizer,
    "contract tests": contract_tests,
    "operation": operation,
    "objects": objects,
    "count": count,
    "task": task,
    "random calls": random_calls,
    "random calls at once": random_calls_at_once,
    "debug": debug,
    "trial": trial,
    "elective task": elective_task,
}
# These values of `by` have no function here; the named test files plant and find their faults.
ELSEWHERE = {
    "handout": "test_handout_mistakes.py",
    "operands": "test_operands.py",
    "user build": "test_user_build.py",
    "boot": "test_memblock_boot.py",
    "sizes": "test_size_classes.py",
    "ideas": "test_ideas.py",
    "repeated count": "test_instructions.py",
    "stage 0 commands": "test_stage0_commands.py",
    "random test": "test_memblock.py",
}
