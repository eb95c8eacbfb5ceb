# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Judge each task: load a module that is built from the learner's file and the tests."""

from __future__ import annotations

import shutil
from pathlib import Path

from electives import source_folder
from grader.base import paths, test_record
from grader.base.errors import MachineError
from grader.base.finding import Finding
from grader.lab import failure_classification, kernel_log, machines, module
from grader.lab.machines import Contents, Machine
from grader.lab.module import Module, Recipe

HERE = Path(__file__).parent
NAME = HERE.name
SOURCES = HERE / "kernel"
HARNESS = HERE / "harness"
KO = "/lib/test.ko"
# The time limit of a task, long enough for an emulated machine on a busy computer.
SECONDS = 60.0
# For each task, the values that harness/test.c checks, in order. The test record must match them.
CHECKS = ((0, 3, 0x100000002, 0x100000002, 0x100000009), (3, *[0xFFFFFFFF] * 3))


def judge(machine: str, seed: int) -> list[Finding | None]:
    """Test each task on its own machine. Return for each a finding, or None if it is solved."""
    where = machines.get(machine or "uml")
    built = module.build(_recipe(), where.kernel())
    try:
        if not built.ok:
            return [Finding("build-failed", built.cause, built.log)] * len(CHECKS)
        return [_test(where, built, task) for task in range(1, len(CHECKS) + 1)]
    finally:
        # Remove a submission's build, because no later run reuses it.
        if source_folder.submission():
            shutil.rmtree(built.directory, ignore_errors=True)
            built.directory.with_suffix(".lock").unlink(missing_ok=True)


def _recipe() -> Recipe:
    """Return the build recipe: the kit's header, the learner's C file and the tests."""
    folder = source_folder.folder(NAME, SOURCES)
    files = [folder / "numbers.c", SOURCES / "numbers.h", HARNESS / "test.c"]
    files += [test_record.INCLUDE / header for header in test_record.HEADERS]
    return Recipe(
        name="elective_test",
        folder=source_folder.build_name(NAME, folder, SOURCES),
        files={path.name: path.read_bytes() for path in files},
        objects=("numbers", "test"),
        labels={"": paths.shown(folder)},
        isolated=source_folder.submission() is not None,
    )


def _test(where: Machine, built: Module, task: int) -> Finding | None:
    guest = where.boot(Contents({KO: built.stripped}, built.name))
    nonce = test_record.draw()
    load = f"insmod {KO} task={task} nonce={test_record.line(nonce).strip()}"
    try:
        said = guest.channel.check(
            f"{load} && cat /sys/module/{built.name}/parameters/result", SECONDS
        )
        guest.channel.check(f"rmmod {built.name}", SECONDS)
        console = guest.console()
    except MachineError as error:
        return failure_classification.classify(error, guest, built)
    finally:
        guest.stop()
    failure, record = test_record.split(said.rstrip("\n") + "\n")
    wrong = failure.strip() or test_record.fault(record, nonce, CHECKS[task - 1])
    return Finding("wrong", wrong) if wrong else kernel_log.first_problem(console, built)
