# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a stage promises by stage.h, and no digit shows: each breach is said by the trial.

All in one machine: a mutant is a stage of the kit with a line changed, compiled as kbuild has
compiled the stage, linked with the trial and loaded in its turn.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.base import paths, toml
from grader.exercise.build import preprocess, stage_module
from grader.exercise.build.stage_module import Built
from grader.exercise.conformance import verify
from grader.exercise.contract_tests import runner
from grader.exercise.files import device, stages
from grader.exercise.operations import test_program, unit_tests
from grader.lab import machines
from grader.lab.machines import Machine, Running
from grader.lab.module import Kernel

MUTANTS = paths.ROOT / "tests/mutants"
OPERANDS = toml.read(MUTANTS / "operands.toml")
ROWS = toml.read(MUTANTS / "promises.toml")
SEED = 1
TIMEOUT = 10.0


def edited(row: dict[str, Any], text: str) -> str:
    """The source with the row's lines changed."""
    for old, new in row.get("edits", []):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    if "all" in row:
        old, new = row["all"]
        assert old in text
        text = text.replace(old, new)
    return text


def compiled(built: Built, row: dict[str, Any], folder: Path, kernel: Kernel) -> Built:
    """The stage with what the row names compiled anew, by the command that kbuild has noted."""
    directory = built.module.directory
    shutil.copytree(directory / "stage", folder / "stage")
    linked = f".{built.module.name}.o.cmd"
    shutil.copy(directory / linked, folder / linked)
    copy = folder / built.stage.directory.name
    shutil.copytree(built.stage.directory, copy)
    changed = [row, *row.get("beside", [])]
    for part in changed:
        source = copy / part["file"]
        source.write_text(edited(part, source.read_text()))
    stage = replace(built.stage, directory=copy)
    made = preprocess.texts(stage, list(stage_module.sources(stage, [])))
    assert not made.cause, made.cause
    for part in changed:
        source = folder / "stage" / part["file"]
        source.write_bytes(made.files[source.name])
        noted = (directory / "stage" / f".{source.stem}.o.cmd").read_text().splitlines()[0]
        command = noted.split(" := ", 1)[1].split(" ; ")[0]
        # The kit's headers are where they were; all else is the copy's.
        if f"{directory}/stage/" in command:
            command = command.replace(f"{directory}/stage/", f"{folder}/stage/")
            subprocess.run(command, shell=True, cwd=kernel.tree, check=True)
        else:  # from Linux 6.13 on all names are relative to the module
            if not (folder / "kit").exists():
                (folder / "kit").symlink_to(directory / "kit")
            subprocess.run(command, shell=True, cwd=folder, check=True)
    return replace(built, module=replace(built.module, directory=folder))


Prepared = tuple[Running, dict[str, Built]]


def of_machine(name: str) -> list[str]:
    return [key for key, row in ROWS.items() if row.get("machine", "uml") == name]


def prepared(machine: Machine, folder: Path) -> Iterator[Prepared]:
    """A machine with the trials of all its mutants on board."""
    names, kernel = of_machine(machine.name), machine.kernel()
    known = {
        n: stage_module.build(stages.kit(n), kernel) for n in {ROWS[k]["stage"] for k in names}
    }

    def make(name: str) -> Built:
        made = compiled(known[ROWS[name]["stage"]], ROWS[name], folder / name, kernel)
        runner.link(made, kernel)
        return made

    with ThreadPoolExecutor(2) as pool:
        made = dict(zip(names, pool.map(make, names)))
    modules = {
        name: one.module.directory / f"{runner.NAME}.stripped.ko" for name, one in made.items()
    }
    guest = machine.boot(device.contents(modules))
    yield guest, made
    guest.stop()


@pytest.fixture(scope="module")
def on_uml(uml: Machine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    yield from prepared(uml, tmp_path_factory.mktemp("promises"))


@pytest.fixture(scope="module")
def on_qemu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    yield from prepared(machines.get("qemu-smp"), tmp_path_factory.mktemp("promises"))


def check_said(name: str, on_trial: Prepared) -> None:
    guest, made = on_trial
    module, timeout = f"{device.MODULES}/{name}.ko", TIMEOUT * guest.speed_factor
    failures = runner.run(guest, made[name].stage, SEED, timeout, module)
    said = [failure.title for failure in failures]
    assert said, "nothing was found"
    assert re.search(ROWS[name]["said"], said[0]), said[:3]


@pytest.mark.machine
@pytest.mark.parametrize("name", of_machine("uml"))
def test_broken_promise(name: str, on_uml: Prepared) -> None:
    check_said(name, on_uml)


@pytest.mark.machine
@pytest.mark.parametrize("name", of_machine("qemu-smp"))
def test_broken_promise_where_it_shows(name: str, on_qemu: Prepared) -> None:
    check_said(name, on_qemu)


@pytest.mark.machine
def test_user_memory_is_out_of_reach() -> None:
    """The verifying machine's kernel keeps its hands off it (SMAP)."""
    smp = machines.get("qemu-smp")
    stage = next(s for s in stages.find(MUTANTS) if s.key == "1-touches-user-memory")
    built = stage_module.build(stage, smp.kernel())
    found = verify.verify(built, smp, SEED, True, lambda _what: None, runs=False).findings
    assert found[0].status == "crashed"
    assert re.search(r"direct_copy, tests/mutants/1-touches-user-memory/driver.c", found[0].cause)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> tuple[stages.Stage, Path]:
    """A copy of a stage with all the faults, and its program."""
    kit = stages.kit(OPERANDS["stage"])
    folder = tmp_path_factory.mktemp("operands") / kit.directory.name
    shutil.copytree(kit.directory, folder)
    source = folder / OPERANDS["file"]
    for fault in OPERANDS["fault"]:
        source.write_text(edited(fault, source.read_text()))
    stage = stages.single(folder, folder.name)
    return stage, test_program.program(stage)


@pytest.mark.parametrize("fault", OPERANDS["fault"], ids=lambda fault: str(fault["operation"]))
def test_fault_with_operands(fault: dict[str, Any], faulty: tuple[stages.Stage, Path]) -> None:
    outcome = unit_tests.outcome(*faulty, fault["operation"], SEED)
    assert re.search(fault["said"], outcome.fault), outcome.fault
