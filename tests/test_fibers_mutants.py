# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Elective fibers: each trap has its mutant, and each is caught by the trial that is named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from electives.fibers import parts, trials, verbs
from electives.fibers.trials import Trial
from grader.base import scratch, toml

EXERCISE = "fibers"

pytestmark = [pytest.mark.machine, pytest.mark.timeout(900)]
MUTANTS = toml.read(Path(__file__).with_name("fibers_mutants.toml"))["mutant"]
# In the short form: the quickest.
SHORT = ("a key that is freed", "its caller")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    scratch.remove_all()


def changed(file: str, changes: Iterable[tuple[str, str]]) -> dict[str, bytes]:
    """A file of the module in which some text is replaced, each once."""
    text = (parts.SOURCES / file).read_text()
    for old, new in changes:
        assert text.count(old) == 1, f"{file}: {old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    return {file: text.encode()}


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
    files = changed(mutant["file"], mutant.get("changes") or [(mutant["old"], mutant["new"])])
    trial: Trial = getattr(trials, mutant["trial"])
    wrong = trials.attempt(mutant["machine"], [trial], files)[trial]
    assert re.search(mutant["says"], wrong), wrong


@pytest.mark.parametrize("machine", ["wide", "poison"])
def test_a_class_is_graded_on_the_machine_that_finds_it(machine: str) -> None:
    tried = {trial for task in verbs.IN_QEMU.values() for name, them in task if name == machine
             for trial in them}  # fmt: skip
    needed = {getattr(trials, one["trial"]) for one in MUTANTS if one["machine"] == machine}
    assert needed and needed <= tried
