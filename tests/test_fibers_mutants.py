# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Elective fibers: each trap has its mutant, and each is caught by the trial that is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from electives.fibers import parts, trials
from electives.fibers.trials import Trial
from grader.base import scratch, toml

pytestmark = [pytest.mark.machine, pytest.mark.timeout(900)]
MUTANTS = toml.read(Path(__file__).with_name("fibers_mutants.toml"))["mutant"]
# In the short form: the quickest, and one of each planted fault.
SHORT = ("TLS goes along", "a key that is freed", "planted: used")
# Leaves its CPU before a switch and comes back behind it: what is in that CPU's registers is old.
WANDER = {
    "	if (command == FIBERS_SWITCH)\n		return fibers_switch(table, argument);": """\
	if (command == FIBERS_SWITCH) {
		set_cpus_allowed_ptr(current, cpumask_of(1));
		done = fibers_switch(table, argument);
		set_cpus_allowed_ptr(current, cpumask_of(0));
		return done;
	}"""
}


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    scratch.remove_all()


def changed(file: str, changes: dict[str, str]) -> dict[str, bytes]:
    """A file of the module in which some text is replaced, each once."""
    text = (parts.SOURCES / file).read_text()
    for old, new in changes.items():
        assert text.count(old) == 1, f"{file}: {old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    return {file: text.encode()}


def wandering() -> dict[str, bytes]:
    return changed("table.c", WANDER)


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(
            one, id=one["name"], marks=[] if one["name"].startswith(SHORT) else [pytest.mark.long]
        )
        for one in MUTANTS
    ],
)
def test_a_mutant_is_caught(mutant: dict[str, Any]) -> None:
    files = changed(mutant["file"], {mutant["old"]: mutant["new"]})
    if mutant.get("wander"):
        files |= wandering()
    trial: Trial = getattr(trials, mutant["trial"])
    wrong = trials.attempt(mutant["machine"], [trial], files)[trial]
    assert re.search(mutant["says"], wrong), wrong


@pytest.mark.long
def test_a_thread_that_wanders_keeps_its_registers() -> None:
    """The counterpart of the first mutant."""
    found = trials.attempt("qemu-smp", [trials.REGISTERS, trials.HAMMER_FEW], wandering())
    assert set(found.values()) == {""}
