# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that every handout has a picture with a description, drawn from its source."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.base import paths
from tests.language import in_english

HANDOUTS = paths.ROOT / "handouts"
DRAWN = HANDOUTS / "pictures"
# TEXTS excludes tables of data. LEARNERS also excludes the texts for teachers and the answers.
TEXTS = [
    *sorted(HANDOUTS.glob("*.md")),
    *sorted((HANDOUTS / "electives").glob("*.md")),
    *sorted((HANDOUTS / "experiments").glob("*.md")),
]
LEARNERS = [x for x in TEXTS if x.name not in ("instructor.md", "answers.md")]
PICTURE = re.compile(r"!\[([^]]*)\]\(([^)\s]+)\)")
# A word or a Chinese character.
WORD = re.compile(r"[\u2e80-\u9fff]|[^\s\u2e80-\u9fff]+")
# The smallest number of words in a picture's description.
WORDS = 6


@pytest.mark.parametrize("text", LEARNERS, ids=paths.shown)
def test_every_handout_has_a_picture(text: Path) -> None:
    assert PICTURE.search(text.read_text())


@pytest.mark.parametrize("text", [*TEXTS, paths.ROOT / "README.md"], ids=paths.shown)
def test_a_picture_says_in_words_what_it_shows(text: Path) -> None:
    assert [
        link
        for words, link in PICTURE.findall(text.read_text())
        if len(WORD.findall(words)) < WORDS
    ] == []


@in_english
def test_the_pictures_are_what_their_source_draws(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "handouts.pictures", str(tmp_path)]
    subprocess.run(call, cwd=paths.ROOT, check=True)
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert drawn == {path.name: path.read_text() for path in DRAWN.glob("*.svg")}


def test_no_picture_is_idle() -> None:
    shown = {Path(link).name for text in TEXTS for _, link in PICTURE.findall(text.read_text())}
    assert [path.name for path in DRAWN.glob("*.svg") if path.name not in shown] == []


@pytest.mark.parametrize("words", ["a word too long for its box", "iiii"])
def test_words_that_do_not_fit_are_refused(words: str) -> None:
    from handouts.pictures.canvas import Picture

    picture = Picture("p", "a picture", 40)
    if words == "iiii":
        picture.box(0, 0, 40, 40, words)
        return
    with pytest.raises(ValueError, match="too long for its box"):
        picture.box(0, 0, 40, 40, words)
    with pytest.raises(ValueError, match="leaves the picture"):
        picture.text(440, 20, words)


def test_the_worked_division_by_the_reciprocal_is_right() -> None:
    """The numbers of handout 6 equal those computed by its four steps."""
    base, divisor, number = 1 << 64, 10**19, 354224848179261915075
    v = (base**2 - 1) // divisor - base
    high, low = divmod(number, base)
    upper, lower = divmod((base + v) * high + low, base)
    wrapped = (low - (upper + 1) * divisor) % base
    assert wrapped > lower
    rest = (wrapped + divisor) % base
    assert (upper, rest) == divmod(number, divisor)
    text = (HANDOUTS / "6-u64-limbs-asm.md").read_text()
    for figure in (v, high, low, upper, lower, upper + 1, wrapped, rest):
        assert f"| {figure} |" in text, figure


@pytest.mark.parametrize("picture", sorted(HANDOUTS.glob("*/*.svg")), ids=lambda p: p.name)
def test_a_picture_can_be_drawn_for_the_pdf(picture: Path, tmp_path: Path) -> None:
    if shutil.which("rsvg-convert") is None:
        pytest.skip("rsvg-convert not found; run scripts/setup.sh pdf")
    call = ["rsvg-convert", "-f", "pdf", "-o", tmp_path / "picture.pdf", picture]
    assert subprocess.run(call, capture_output=True, text=True).stderr == ""
