# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the elective fibers: run the programs in electives/fibers on every machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import catalogue
import pytest

from electives import source_folder
from electives.fibers import build, runner, verbs
from electives.fibers.runner import FiberTest
from grader.base import marked_regions, paths, scratch, test_record
from grader.base.errors import LabError
from grader.lab import machines
from grader.lab.module import Kernel

EXERCISE = "fibers"

pytestmark = [pytest.mark.machine, pytest.mark.timeout(900)]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    scratch.remove_all()


def short(name: str) -> tuple[FiberTest, ...]:
    """Return the machine's test cases, without the slow ones."""
    dear = {
        "uml": {runner.TIMER, runner.MOST, runner.KILL},
        "uml-debug": {
            runner.TIMER,
            runner.MOST,
            runner.KILL,
            runner.MANY,
            runner.ERRORS,
            runner.DYING,
        },
        "qemu-smp": {runner.TIMER, runner.MOST, runner.KILL},
        "wide": {runner.TIMER, runner.STRESS_FEW},
    }
    return tuple(one for one in runner.ALL[name] if one not in dear.get(name, set()))


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        ("cmpxchg_acquire(&fiber->owner, NULL, me)", ""),
        ("cmpxchg(&fiber->owner, NULL, me)", ""),
        (
            "cmpxchg_relaxed(&fiber->owner, NULL, me)",
            "cmpxchg_relaxed does not order later accesses",
        ),
        (
            "NULL;\n\t__atomic_compare_exchange_n(&fiber->owner, &owner, me, 0, 0, 0)",
            "__atomic_compare_exchange_n is not an operation of the kernel",
        ),
    ],
)
def test_a_claim_must_order_later_accesses(claim: str, fault: str) -> None:
    kits = "cmpxchg_acquire(&fiber->owner, NULL, me)"
    text = (build.SOURCES / "fiber.c").read_text()
    assert text.count(kits) == 1
    message = build.unordered(text.replace(kits, claim), "fiber.c")
    assert message == (f"fiber.c: {fault}; use cmpxchg_acquire" if fault else "")


@pytest.mark.parametrize("order", ["relaxed", "acquire", "release"])
@pytest.mark.parametrize(
    "release", ["xchg_{}(&from->owner, NULL)", "cmpxchg_{}(&from->owner, me, NULL)"]
)
def test_an_exchange_may_release_a_fiber(release: str, order: str) -> None:
    kits = "smp_store_release(&from->owner, NULL)"
    text = (build.SOURCES / "fiber.c").read_text()
    assert text.count(kits) == 1
    message = build.unordered(text.replace(kits, release.format(order)), "fiber.c")
    assert bool(message) == (order != "release"), message


RELEASE = "\tsmp_store_release(&from->owner, NULL);\n"
CLAIM = "\towner = cmpxchg_acquire(&fiber->owner, NULL, me);\n"


@pytest.mark.parametrize(
    ("helper", "claim", "fault"),
    [
        ("", CLAIM, ""),
        # A right claim by a loop, which also looks at the owner's state at the end of the loop.
        (
            "",
            "\tdo\n\t\towner = READ_ONCE(fiber->owner);\n"
            "\twhile (!owner && !try_cmpxchg_acquire(&fiber->owner, &owner, me));\n",
            "",
        ),
        # A function that no switch calls may take a lock.
        (
            "static DEFINE_SPINLOCK(lock);\nvoid kept(void);\n"
            "void kept(void)\n{\n\tspin_lock(&lock);\n\tspin_unlock(&lock);\n}\n",
            CLAIM,
            "",
        ),
        (
            "static DEFINE_SPINLOCK(lock);\n"
            "static noinline void cold(void)\n"
            "{\n\tspin_lock(&lock);\n\tspin_unlock(&lock);\n}\n",
            f"\tif (unlikely(table->count > 100))\n\t\tcold();\n{CLAIM}",
            "a switch may reach _raw_spin_",
        ),
        (
            "",
            "\tif (unlikely(table->count == 77))\n"
            f"\t\tmutex_lock((struct mutex *)&table->lock);\n{CLAIM}",
            "a switch may reach mutex_lock",
        ),
        (
            "static void (*volatile take)(struct mutex *) = mutex_lock;\n",
            f"\tif (table->count == 77)\n\t\ttake((struct mutex *)&table->lock);\n{CLAIM}",
            "a switch may reach a call through a pointer",
        ),
        # A global variable, a message and another way to the owner of a fiber never wait.
        (
            "extern unsigned long refusals;\nunsigned long refusals;\n",
            f"{CLAIM}\tif (owner) {{\n\t\tstruct task_struct *task;\n\n"
            "\t\ttask = get_pid_task(owner->pid, PIDTYPE_PID);\n\t\tif (!task)\n"
            '\t\t\tpr_info("thread %d has ended\\n", owner->number);\n\t\telse\n'
            "\t\t\tput_task_struct(task);\n\t\trefusals++;\n\t}\n",
            "",
        ),
        (
            "",
            f"\tif (unlikely(table->count == 77))\n\t\tkfree(kmalloc(8, GFP_KERNEL));\n{CLAIM}",
            "a switch may reach k",
        ),
    ],
)
def test_a_switch_must_not_reach_a_lock(helper: str, claim: str, fault: str) -> None:
    text = (build.SOURCES / "fiber.c").read_text()
    assert text.count(CLAIM) == text.count("static int claim(") == 1
    text = text.replace(CLAIM, claim).replace("static int claim(", f"{helper}static int claim(")
    made = build.built(machines.get("qemu-smp").kernel(), {"fiber.c": text.encode()})
    message = build.waiting(made, "fiber.c")
    assert message.startswith(f"fiber.c: {fault}") if fault else not message, message


@pytest.mark.long
@pytest.mark.parametrize(
    ("claim", "release"),
    [
        (
            "\tdo\n\t\towner = READ_ONCE(fiber->owner);\n"
            "\twhile (!owner && !try_cmpxchg_acquire(&fiber->owner, &owner, me));\n",
            "\tsmp_mb();\n\tWRITE_ONCE(from->owner, NULL);\n",
        ),
        (
            "\tsmp_mb();\n\towner = READ_ONCE(fiber->owner);\n"
            "\tif (!owner)\n\t\towner = cmpxchg(&fiber->owner, NULL, me);\n",
            "\tsmp_wmb();\n\tfrom->owner = NULL;\n",
        ),
        (CLAIM, "\txchg_release(&from->owner, NULL);\n"),
    ],
)
def test_other_right_claims_and_releases(claim: str, release: str) -> None:
    text = changed("fiber.c", (CLAIM, claim), (RELEASE, release))
    test = runner.INTERLEAVED
    assert runner.attempt("interleaved", [test], {"fiber.c": text.encode()}) == {test: ""}
    assert build.unordered(text, "fiber.c") == ""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("uml", "qemu-smp") else pytest.mark.long)
        for name in runner.ALL
    ],
)
def test_on_every_machine(name: str) -> None:
    """Each test case passes and leaks nothing; the log is clean; the module can be unloaded."""
    found = runner.attempt(name, short(name))
    assert {one.title: wrong for one, wrong in found.items() if wrong} == {}
    assert set(found) == set(short(name))


@pytest.mark.long
@pytest.mark.parametrize("name", runner.ALL)
def test_long(name: str) -> None:
    """All test cases pass, with a minute of stress test and 300 killed processes."""
    more = (*runner.ALL[name], *runner.LONG.get(name, ()))
    assert {k.title: v for k, v in runner.attempt(name, more).items() if v} == {}


@pytest.mark.parametrize("name", ["use_after_free", pytest.param("leak", marks=pytest.mark.long)])
def test_a_fault_that_is_planted_is_found(name: str) -> None:
    trial, word = runner.PLANTED[name]
    assert word in runner.attempt(name, [trial])[trial]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("basic", ["there-and-back", "thread", "moves", "signal", "windows"]),
        ("storage", []),
        ("stress", ["2", "3", "1000"]),
        ("stress", ["8", "1000", "1000"]),
    ],
)
def test_the_library_without_a_kernel(tmp_path: Path, program: str, words: list[str]) -> None:
    """The same programs test the library as an ordinary program, without the module."""
    output = tmp_path / program
    subprocess.run(
        ["gcc", "-std=gnu11", "-O2", "-Wall", "-pthread", "-DFIBERS_USERSPACE", "-o", output,
         f"-I{build.SOURCES}", f"-I{build.USER}", f"-I{test_record.INCLUDE}",
         build.TEST_PROGRAMS / f"{program}.c"],
        check=True,
    )  # fmt: skip
    completed = subprocess.run([output, *words], capture_output=True, text=True, timeout=60)
    assert (completed.returncode, completed.stderr) == (0, ""), completed.stdout


def test_a_processor_that_is_not_known() -> None:
    kernel = Kernel("key", build.HERE, "arm64", "6.1", "gcc")
    with pytest.raises(LabError, match="registers of x86 and of user-mode Linux, not of arm"):
        build.built(kernel)


def changed(name: str, *changes: tuple[str, str]) -> str:
    """Return a file of the kit's module with replacements, each of which applies once."""
    text = (build.SOURCES / name).read_text()
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("by", ["copy", "submission"])
def test_only_files_with_a_task_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    with_task = {p.name for p in build.SOURCES.iterdir() if any(marked_regions.find(p.read_text()))}
    assert set(build.TASK_FILES) == with_task
    (tmp_path / "fibers").mkdir()
    kits = {path.name: path.read_bytes() for path in build.SOURCES.iterdir()}
    for name in {*kits, "mine.h"} - {"context_um.c", "list.c"}:
        (tmp_path / "fibers" / name).write_bytes(kits.get(name, b"") + b"/* changed */\n")
    (tmp_path / "fibers/fibers.h").write_bytes(kits["fibers.h"])
    monkeypatch.delenv("LAB_REF", raising=False)
    if by == "copy":
        monkeypatch.setattr(source_folder, "WORK", tmp_path)
    else:
        monkeypatch.setenv(paths.SUBMISSION, str(tmp_path / "fibers"))
    files = build.recipe("x86").files
    own = {"context_x86.c", "fiber.c", "storage.c"}
    assert set(files) == {*own, "context.h", "fibers.h", "list.c", "table.c", "table.h"}
    assert {name for name, text in files.items() if text != kits[name]} == own
    # A file with a task does not come from the kit, even if it is missing.
    assert "context_um.c" not in build.recipe("um").files
    unused = "is left out: the kit's own file of this name is used"
    assert verbs.excluded() == [
        f"context.h {unused}",
        "mine.h is left out: only files with a task are used",
        f"table.c {unused}",
        f"table.h {unused}",
    ]


def test_a_table_of_its_own_does_not_avoid_the_migration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variant of table.c renames fibers_switch; a learner's table.c calls another function."""
    kit = build.SOURCES
    (tmp_path / "fibers").mkdir()
    for path in kit.iterdir():
        (tmp_path / "fibers" / path.name).write_bytes(path.read_bytes())
    go = "long fibers_go(struct table *table, unsigned long id)"
    files = {
        "context_x86.c": changed("context_x86.c", ("\tfpu->last_cpu = -1;\n", "")),
        "fiber.c": changed(
            "fiber.c",
            ("/* Make @me the owner of a waiting fiber. */", f"{go};"),
            ("long fibers_switch(struct table *table, unsigned long id)", go),
            (
                "long fibers_delete(",
                "long fibers_switch(struct table *table, unsigned long id)\n"
                "{\n\treturn fibers_go(table, id);\n}\n\nlong fibers_delete(",
            ),
        ),
        "table.c": changed(
            "table.c",
            ("static long local(", f"{go};\n\nstatic long local("),
            (
                "\tif (command == FIBERS_SWITCH)\n",
                "\tif (command == FIBERS_SWITCH && argument >> 62 == 0)\n"
                "\t\treturn fibers_go(table, argument);\n"
                "\tif (command == FIBERS_SWITCH)\n",
            ),
        ),
    }
    for name, text in files.items():
        (tmp_path / "fibers" / name).write_text(text)
    monkeypatch.delenv("LAB_REF", raising=False)
    monkeypatch.setattr(source_folder, "WORK", tmp_path)
    message = runner.attempt("migration", [runner.MOVED])[runner.MOVED]
    assert re.search(r"register \d+ is|x87", message), message


def test_each_task_is_tested_with_its_own_files_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(build.SOURCES, tmp_path / "fibers")
    for name in build.TASK_FILES:
        (tmp_path / "fibers" / name).write_text("not C\n")
    monkeypatch.delenv("LAB_REF", raising=False)
    monkeypatch.setattr(source_folder, "WORK", tmp_path)
    for own in build.FILES_OF_TASKS.values():
        for arch, context in build.CONTEXTS.items():
            made = build.recipe(arch, own=own)
            wrong = {name for name, text in made.files.items() if text == b"not C\n"}
            unused = {*build.CONTEXT_FILES} - {f"{context}.c"}
            assert wrong == {*own} - unused
            assert made.folder != build.recipe(arch).folder


@pytest.mark.parametrize("machine", ["wide", "poison"])
def test_a_class_is_graded_on_the_machine_that_finds_it(machine: str) -> None:
    tried = {trial for task in verbs.IN_QEMU.values() for name, them in task if name == machine
             for trial in them}  # fmt: skip
    needed = {
        getattr(runner, fault.options["trial"])
        for fault in catalogue.found_by("trial")
        if fault.options["machine"] == machine
    }
    assert needed and needed <= tried
