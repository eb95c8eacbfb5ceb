# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the mistakes in the handouts: the grader reports each in a copy as the handout shows it.

A comment before the block names the mistake (tests/faults/):

    <!-- mistake: no cast -->

Each line of the block that begins with a bracket, joined with its continuation lines, must be in
the output of make stage=N check. "..." stands for any text within a line, and a number of tries for
any number of tries, because new test cases change it. A comment can state that the operands in the
block are random, because they depend on the learner's seed. The operands and the results of an
operation may then differ from those in the block:

    <!-- mistake: no cast; operands are drawn -->

The remark that names the wrong function of a task may be missing in the block; test_alone.py tests
this remark.

If the output depends on whether the debug kernel has been built, the handout has a block for each:

    <!-- mistake: lock kept; with the debug kernel -->
    <!-- mistake: lock kept; without the debug kernel -->
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import catalogue
import pytest
from test_handouts import checkout, run

from grader.base import paths
from grader.exercise.files import stages
from grader.lab import uml_debug

__all__ = ["checkout"]
MISTAKES = {
    (number, name): fault
    for number in sorted(stages.known())
    for name, fault in catalogue.shown_in_handouts(number).items()
}
# The mistakes that the short form grades; the others take five minutes.
ALWAYS = {(3, "losing the old number")}
GRADED = [
    pytest.param(m, id=f"{m[0]} {m[1]}", marks=[] if m in ALWAYS else pytest.mark.long)
    for m in MISTAKES
]


TRIES = re.compile(r"\b\d[\d,]* tries\b")
# The call of an operation, such as mul-s(0x2, 0x2) or decimal(0xff...ff (1027 digits), 1235), and
# its results. The letter after the hyphen names the number that gets the result. F(n) does not
# match, because its n is not random.
CALL = re.compile(r"\b([a-z]\w*)(?:-[a-z])?\((?:[^()]|\([^()]*\))*\)(?=:| is wrong from digit)")
# The remark that names the wrong function: see grader/exercise/operations/alone.py.
NAMED = re.compile(
    r"; (?:look for the mistake in \w+ and in what it calls, because |\w+ is wrong\b).*"
)
FROM_DIGIT = re.compile(r"\bfrom digit \d+ on\b")
RESULT = re.compile(
    r"\b(expected|got) (?=[.\w]*\d)(?:\.\.\.)?(?:0x)?[\da-f]+"
    r"(?:\.\.\.[\da-f]*)?(?: \(\d+ digits\))?"
)


DRAWN, WITH, WITHOUT = "operands are drawn", "with the debug kernel", "without the debug kernel"


@dataclass(frozen=True)
class Block:
    """A marked block: the name of the mistake, a remark, and the entries, each in one line."""

    mistake: str
    remark: str
    entries: list[str]

    def applies(self) -> bool:
        """Return True if `check` on this computer prints the output of the block."""
        if self.remark not in (WITH, WITHOUT):
            return True
        return uml_debug.MACHINE.is_built() == (self.remark == WITH)


def shown(number: int) -> list[Block]:
    """Return the marked blocks of a stage's handout."""
    (handout,) = (paths.ROOT / "handouts").glob(f"{number}-*.md")
    remarks = "|".join((DRAWN, WITH, WITHOUT))
    pattern = re.compile(
        rf"^<!-- mistake: ([^\n;]*)(?:; ({remarks}))? -->\n```text\n(.*?)^```$", re.M | re.S
    )
    text = handout.read_text()
    found = [Block(m[1], m[2] or "", entries(m[3])) for m in pattern.finditer(text)]
    assert len(found) == text.count("<!-- mistake:"), handout
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


def general(entry: str, drawn: bool) -> str:
    """Return an entry without its number of tries and without its operands, if these are random."""
    entry = NAMED.sub("", TRIES.sub("N tries", entry))
    if drawn and CALL.search(entry):
        entry = RESULT.sub(r"\1 NUMBER", CALL.sub(r"\1(OPERANDS)", entry))
        entry = FROM_DIGIT.sub("from digit N on", entry)
    return entry


def says(entry: str, output: str, drawn: bool = False) -> bool:
    pattern = ".*".join(re.escape(part) for part in general(entry, drawn).split("..."))
    return any(re.fullmatch(pattern, general(line, drawn)) for line in entries(output))


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
    blocks = shown(number)
    assert {block.mistake for block in blocks} == {name for n, name in MISTAKES if n == number}
    for name in {block.mistake for block in blocks}:
        remarks = sorted(block.remark for block in blocks if block.mistake == name)
        assert len(remarks) == 1 or remarks == [WITH, WITHOUT], name


@pytest.mark.once(all_files=True)
@pytest.mark.machine
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mistake", GRADED)
def test_the_grader_says_what_is_shown(
    mistake: tuple[int, str], work: Path, checkout: Path
) -> None:
    make(mistake, work)
    done = run(checkout, f"make stage={mistake[0]} check 2>/dev/null")
    assert done.returncode, "full points"
    (block,) = (b for b in shown(mistake[0]) if b.mistake == mistake[1] and b.applies())
    assert block.entries
    drawn = block.remark == DRAWN
    missing = [entry for entry in block.entries if not says(entry, done.stdout, drawn)]
    assert not missing, f"missing in the output: {missing}\n{done.stdout}"


def test_the_comparison_can_fail() -> None:
    output = (
        "[  0/ 30] compute: F(0): expected 0x0,\n                   got 0x1\nstage 1: 0 points\n"
    )
    assert says("[ 0/ 30] compute: F(0): expected 0x0, got 0x1", output)
    assert says("[ 0/ 30] compute: ..., got 0x1", output)
    assert not says("[ 0/ 30] compute: F(0): expected 0x0, got 0x2", output)
    assert not says("[ 0/ 30] compute: F(0)", output)


def test_any_number_of_tries_is_as_good() -> None:
    assert says(
        "[ 30/ 30] decimal: 94 tries, all right", "[ 30/ 30] decimal: 1,012 tries, all right"
    )
    assert not says(
        "[ 30/ 30] decimal: 94 tries, all right", "[  0/ 30] decimal: F(0): expected 0x0, got 0x1"
    )


PRODUCT = "mul(0x5, 0x6): expected 0x1e, got 0x1"
LONG = "decimal({}...ff (99 digits), {}) is wrong from digit {} on: expected ...{}..., got ...1..."


@pytest.mark.parametrize(
    ("shown", "came", "drawn"),
    [
        # These differences are ignored: random operands, equal operands, and the position of the
        # first wrong digit.
        (PRODUCT, "mul-s(0x7, 0x7): expected 0x31, got 0x11", True),
        (LONG.format("0xff", 9, 5, 12), LONG.format("0x3a", 7, 6, 43), True),
        # A different operation, kind of failure, or n of F(n) is reported, because none of them is
        # random.
        (PRODUCT, "add(0x5, 0x6): expected 0xb, got 0x1", False),
        (PRODUCT, "mul(0x5, 0x6): no answer", False),
        (PRODUCT, "mul(0x5, 0x6): expected 0x1e, got an error", False),
        ("F(7): expected 0xd, got 0x1", "F(8): expected 0x15, got 0x1", False),
    ],
)
def test_drawn_operands_are_an_example(shown: str, came: str, drawn: bool) -> None:
    shown, came = f"[ 0/ 20] task: {shown}", f"[ 0/ 20] task: {came}\n"
    assert says(shown, shown)
    assert not says(shown, came)
    assert says(shown, came, drawn=True) == drawn
