# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the mistakes in the handouts: the grader reports each in a copy as the handout shows it.

A comment before the block names the mistake (tests/faults/):

    <!-- mistake: no cast -->

Each line of the block that begins with a bracket, joined with its continuation lines, must be in
the output of make stage=N check. "..." stands for any text within a line.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import catalogue
import pytest
from test_handouts import checkout, run

from grader.base import paths
from grader.exercise.files import stages

__all__ = ["checkout"]
MISTAKES = {
    (number, name): fault
    for number in sorted(stages.known())
    for name, fault in catalogue.shown_in_handouts(number).items()
}
# One mistake is always graded; the others take five minutes.
ALWAYS = {(3, "losing the old number")}
GRADED = [
    pytest.param(m, id=f"{m[0]} {m[1]}", marks=[] if m in ALWAYS else pytest.mark.long)
    for m in MISTAKES
]


def shown(number: int) -> dict[str, list[str]]:
    """Return the entries of each marked block of a stage's handout, each entry in one line."""
    (handout,) = (paths.ROOT / "handouts").glob(f"{number}-*.md")
    pattern = re.compile(r"^<!-- mistake: ([^\n]*) -->\n```text\n(.*?)^```$", re.M | re.S)
    found = {m[1]: entries(m[2]) for m in pattern.finditer(handout.read_text())}
    assert len(found) == handout.read_text().count("<!-- mistake:"), handout
    return found


def entries(text: str) -> list[str]:
    """Return the entries of a block. An entry begins with a bracket and may have further lines."""
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith("["):
            found.append(line)
        elif found and line.startswith("  "):
            found[-1] += " " + line
    return [" ".join(entry.split()) for entry in found]


def says(entry: str, output: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in entry.split("..."))
    return any(re.fullmatch(pattern, line) for line in entries(output))


@pytest.fixture
def work(checkout: Path) -> Iterator[Path]:
    folder = checkout / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def make(mistake: tuple[int, str], work: Path) -> None:
    """Plant the mistake in a learner's copy of the kit's stage."""
    catalogue.plant(MISTAKES[mistake], work, mistake[0])


@pytest.mark.parametrize("number", sorted(stages.known()))
def test_the_handout_shows_these_mistakes(number: int) -> None:
    assert set(shown(number)) == {name for n, name in MISTAKES if n == number}


@pytest.mark.machine
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mistake", GRADED)
def test_the_grader_says_what_is_shown(
    mistake: tuple[int, str], work: Path, checkout: Path
) -> None:
    make(mistake, work)
    done = run(checkout, f"make stage={mistake[0]} check 2>/dev/null")
    assert done.returncode, "full points"
    block = shown(mistake[0])[mistake[1]]
    assert block
    missing = [entry for entry in block if not says(entry, done.stdout)]
    assert not missing, f"not said: {missing}\n{done.stdout}"


def test_the_comparison_can_fail() -> None:
    output = (
        "[  0/ 30] compute: F(0): expected 0x0,\n                   got 0x1\nstage 1: 0 points\n"
    )
    assert says("[ 0/ 30] compute: F(0): expected 0x0, got 0x1", output)
    assert says("[ 0/ 30] compute: ..., got 0x1", output)
    assert not says("[ 0/ 30] compute: F(0): expected 0x0, got 0x2", output)
    assert not says("[ 0/ 30] compute: F(0)", output)
