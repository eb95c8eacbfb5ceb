# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test lab kernels with another memblock_add_range(): build, boot, comparison, and stage 2."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import catalogue
import pytest

from electives.memblock import boot, kernels, variants
from electives.memblock.kernels import VariantNotBuiltError
from electives.memblock.variants import Variant
from grader.base import paths, scratch
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import persistent_machine, uml

EXERCISE = "memblock"

LOOK = variants.of_file(kernels.HERE / "solution" / variants.SOLUTION, "look", "")


@pytest.fixture(autouse=True)
def _no_folders_left() -> Iterator[None]:
    yield
    scratch.remove_all()


@pytest.fixture(scope="session")
def entry() -> Path:
    """Return the tree of the built lab kernel."""
    return boot.tree()


def faulty(name: str) -> Variant:
    """Return the kit's function with a planted fault."""
    (text,) = catalogue.texts(catalogue.named("memblock", name, "boot")).values()
    return replace(LOOK, name="changed", text=text)


def make(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run make as a learner would type it."""
    return subprocess.run(
        ["make", *words], cwd=paths.ROOT, env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def test_of_the_kernels_log_the_calls_and_the_regions_count() -> None:
    for line, said in {
        "[    0.00] memblock_reserve: [0x1-0x2] memblock_alloc_range_nid+0xdd/0x191":
            "memblock_reserve: [0x1-0x2] memblock_alloc_range_nid",
        "MEMBLOCK configuration:": "MEMBLOCK configuration:",
        "[ 0.1]  reserved[0x0]\t[0x0-0x1], 0x2 bytes flags: 0x0":
            " reserved[0x0]\t[0x0-0x1], 0x2 bytes flags: 0x0",
        "[ 0.1]  memory.cnt  = 0x1": " memory.cnt  = 0x1",
    }.items():  # fmt: skip
        found = boot.LINE.match(line)
        assert found and boot.PLACE.sub("", found[1]) == said
    assert not boot.LINE.match("Kernel command line: mem=256M memblock=debug")


def test_another_executable_is_booted_in_place_of_the_labs(tmp_path: Path) -> None:
    other = tmp_path / "linux"
    shutil.copy(uml.MACHINE.entry() / "linux", other)
    machine = uml.Uml("uml", "", 256, linux=other)
    guest = machine.boot()
    try:
        assert Path(f"/proc/{guest.pid}/exe").resolve() == other.resolve()
    finally:
        guest.stop()
    assert machine.facts() == {"linux": str(other)}
    other.chmod(0o644)
    said = make("stage=2", "load", LAB_LINUX=str(other))
    assert f"lab: {other} is not a kernel that can be run" in said.stdout


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_lab_kernel_with_the_change_says_the_same_and_takes_stage_2(entry: Path) -> None:
    completed = make("elective=memblock", "kernel", LAB_REF="1")
    assert completed.returncode == 0, completed.stdout
    assert "with look boots; memblock=debug prints the same" in completed.stdout
    assert "memblock_reserve: [0x" in completed.stdout and "reserved[0x0]" in completed.stdout
    # F(n) is computed by the changed kernel and not by the lab's own kernel.
    ours = paths.BUILD / "memblock" / "linux"
    assert os.access(ours, os.X_OK)
    loaded = make("stage=2", "load", LAB_LINUX=str(ours))
    try:
        said = make("-s", "fib", "n=93").stdout
        pid = json.loads((persistent_machine.folder("uml") / "state.json").read_text())["pid"]
        assert Path(f"/proc/{pid}/exe").resolve() == ours.resolve()
    finally:
        make("unload")
    assert said == "12200160415121876738\n", loaded.stdout


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_kernel_with_a_fault_is_told_from_one_without(entry: Path) -> None:
    progress = Progress()
    kernels_own = boot.built(entry, variants.KERNEL, progress)
    before = boot.log(kernels_own)
    # Two boots print the same fixed addresses, and the log has calls to compare.
    assert before == boot.log(kernels_own)
    assert any(line.startswith("memblock_reserve") for line in before)
    assert any(line.startswith(" reserved[") for line in before)
    other = boot.log(boot.built(entry, faulty("one byte too many"), progress))
    assert other != before
    # A changed kernel size alone is not reported as a fault.
    large = boot.built(entry, faulty("larger code"), progress)
    by = boot.end_of_image(large) - boot.end_of_image(kernels_own)
    assert by >= 8192 and boot.log(large) == boot.moved(before, by) != before
    with pytest.raises(LabError, match="did not come up .*lost"):
        boot.log(boot.built(entry, faulty("never"), progress))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_function_that_does_not_compile_leaves_no_kernel(entry: Path) -> None:
    there = sorted(boot.FOLDER.glob("*"))
    with pytest.raises(VariantNotBuiltError, match=r"add_range.c:\d+:\d+: error: .*idx"):
        boot.built(entry, faulty("a variable is not declared"), Progress())
    assert sorted(boot.FOLDER.glob("*")) == there


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_ctrl_c_while_a_kernel_is_built_leaves_none(entry: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "electives", "memblock", "kernel"],
        cwd=paths.ROOT,
        env={**os.environ, "LAB_BUILD": str(tmp_path), "PYTHONPATH": str(paths.ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    changed_file = tmp_path / "memblock/kernels/half/tree/mm/memblock.c"
    while not changed_file.is_file() or "memblock_say_regions" not in changed_file.read_text():
        assert process.poll() is None
        time.sleep(0.1)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "elective: stopped; no process is left running"
    left = [path.name for path in (tmp_path / "memblock/kernels").iterdir()]
    assert left == ["lock"]
