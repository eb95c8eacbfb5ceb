# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Elective fibers: the module on every machine, by the programs of electives/fibers/tries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from electives.fibers import parts, trials
from electives.fibers.trials import HAMMER_FEW, Trial
from grader.base import scratch
from grader.base.errors import LabError
from grader.lab.module import Kernel

pytestmark = [pytest.mark.machine, pytest.mark.timeout(900)]
MINUTE = Trial("8 threads in 1,000 fibers for a minute", "hammer 8 1000 60000", 300)
LONG_KILL = Trial("killed at random moments, 300 times", "hammer kill 300", 600)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    scratch.remove_all()


def short(name: str) -> tuple[Trial, ...]:
    """What takes little."""
    dear = {
        "qemu": {trials.TIMER, trials.ERRORS, trials.ENDS},
        "uml": {trials.TIMER, trials.MOST, trials.KILL},
        "uml-debug": {trials.TIMER, trials.MOST, trials.KILL, trials.MANY, trials.ERRORS},
        "qemu-smp": {trials.TIMER, trials.MOST},
        "wide": {trials.TIMER},
    }
    return tuple(one for one in trials.ALL[name] if one not in dear.get(name, set()))


@pytest.mark.parametrize(
    "name", ["uml", "qemu-smp", "uml-debug", "wide", pytest.param("qemu", marks=pytest.mark.long)]
)
def test_on_every_machine(name: str) -> None:
    """Each trial, nothing left of it, a clean log, and the module can go."""
    found = trials.attempt(name, short(name))
    assert {one.title: wrong for one, wrong in found.items() if wrong} == {}
    assert set(found) == set(short(name))


@pytest.mark.long
@pytest.mark.parametrize("name", ["uml", "qemu", "qemu-smp", "uml-debug"])
def test_long(name: str) -> None:
    """All, a minute of the hammer, 300 processes killed."""
    more = (*trials.ALL[name], LONG_KILL, *([MINUTE] if name == "qemu-smp" else [HAMMER_FEW]))
    assert {k.title: v for k, v in trials.attempt(name, more).items() if v} == {}


def test_a_processor_that_is_not_known() -> None:
    kernel = Kernel("key", parts.HERE, "arm64", "6.1", "gcc")
    with pytest.raises(LabError, match="know the registers of x86 and of user-mode Linux, not arm"):
        parts.built(kernel)
