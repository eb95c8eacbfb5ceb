# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that the grader prints the messages that handouts/messages.md explains."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from grader.base import paths

HANDOUTS = paths.ROOT / "handouts"
PAGE = HANDOUTS / "messages.md"
ROW = re.compile(r"^\| `([^`]*)` \|", re.MULTILINE)
MESSAGES = ROW.findall(PAGE.read_text())
# The grader prints the messages in the text below the tables, except OF_MAKE, a line of make.
IN_TEXT = [x for x in re.findall("`([^`]+)`", PAGE.read_text().split("\n## ")[-1]) if " " in x]
OF_MAKE = "Error 2"
# Parts of messages that are shorter than this are ignored, because they could be in any text.
SHORTEST = 5


@cache
def printed() -> str:
    """Return the output shown in the handouts and the source text of the grader as one line.

    The handouts' output is included, because other tests compare it with the grader's output.
    """
    pages = [page for page in sorted(HANDOUTS.glob("*.md")) if page != PAGE]
    shown = [
        m
        for page in pages
        for m in re.findall(r"^```\w+\n(.*?)^```$", page.read_text(), re.M | re.S)
    ]
    folders = (paths.ROOT / "grader", paths.COMMON)
    files = [x for folder in folders for x in folder.rglob("*.*") if x.suffix in (".py", ".c")]
    return " ".join(" ".join([*shown, *map(Path.read_text, sorted(files))]).split())


def parts(message: str) -> list[str]:
    """Return the constant parts of a message, without names and numbers."""
    found = [part.strip(" :,();") for part in re.split(r"\.\.\.|\b\d+ %", message)]
    return [part for part in found if len(part) >= SHORTEST]


def test_the_page_has_thirty_messages() -> None:
    assert len(MESSAGES) == len(set(MESSAGES)) == 30
    assert len(IN_TEXT) == 4


@pytest.mark.parametrize("message", [*MESSAGES, *(x for x in IN_TEXT if x != OF_MAKE)])
def test_the_grader_prints_it(message: str) -> None:
    assert parts(message)
    assert [part for part in parts(message) if part not in printed()] == []


def test_a_message_that_nothing_prints_is_noticed() -> None:
    assert parts("the assertion ... holds on Tuesdays (below: 30 %)") == [
        "the assertion", "holds on Tuesdays (below",
    ]  # fmt: skip
    assert "holds on Tuesdays" not in printed()
