# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Faults that only the debug kernel sees are named: the function, the line, what it means.

One boot each at least, for the kernel's checkers go quiet after a first report.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from grader.base import paths
from grader.exercise.build import stage_module
from grader.exercise.conformance import test_inputs
from grader.exercise.files import stages
from grader.exercise.stress.debug_kernel import Plan, examine
from grader.lab import machines
from grader.lab.machines import Machine

FAULTS = paths.ROOT / "tests/faults"
FOUND = {stage.key: stage for stage in stages.find(FAULTS)}


@dataclass(frozen=True)
class Planted:
    """What must be said of a fault: of the line that holds `at`, in `function`."""

    function: str
    at: str
    report: str
    meaning: tuple[str, ...]


PLANTED = {
    "3-out-of-bounds-write": Planted(
        "bn_step",
        "b->chunk[a->size] = carry;",
        "BUG: KASAN: slab-out-of-bounds",
        ("write of 8 bytes just past a 16-byte block allocated in bn_create",),
    ),
    "3-use-after-free": Planted(
        "fib_release",
        "f->big->size = 0;",
        "use-after-free",  # from Linux 6.4 on KASAN says slab-use-after-free
        (
            "write of 8 bytes in a block allocated in bn_create",
            "had been given back in fib_rel",
            "; used in fib_release (tests/faults/3-use-after-free/fib.c:",
        ),
    ),
    "3-leak": Planted(
        "bn_create",
        "fib_alloc(call, 1, sizeof(*a)",
        "leak scan",
        ("allocated in bn_create", "never given back"),
    ),
    "3-unchecked-allocation": Planted(
        "bn_create",
        "memset(a->chunk, 0, size * sizeof(u64));",
        "allocations that fail",
        ("a null pointer is used in bn_create", "nobody has looked whether there was memory"),
    ),
}


@pytest.fixture(scope="module")
def debug() -> Machine:
    machine = machines.get("uml-debug")
    machine.kernel()
    return machine


def test_table_is_complete() -> None:
    assert sorted(PLANTED) == sorted(FOUND)


@pytest.mark.machine
@pytest.mark.parametrize(
    "key",
    [
        key if key in ("3-use-after-free", "3-leak") else pytest.param(key, marks=pytest.mark.long)
        for key in PLANTED
    ],
)
def test_planted(key: str, debug: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_inputs, "EVERY_N_TO", 50)  # these show themselves at once
    stage, want = FOUND[key], PLANTED[key]
    lines = (stage.directory / "fib.c").read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if want.at in text)

    built = stage_module.build(stage, debug.kernel())
    assert built.ok, built.module.log
    found = examine(built, debug, Plan(calls=200, quick=True), lambda what: None)

    assert want.report in found.cause
    assert f"in {want.function}" in found.cause
    assert f"tests/faults/{key}/fib.c:{line}" in found.cause
    meaning = found.excerpt.splitlines()[0]
    assert meaning.startswith("What it means: ")
    for part in want.meaning:
        assert part in meaning
