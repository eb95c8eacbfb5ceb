# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A stage's handout has the parts that every one has, and the tasks of its skeleton."""

from __future__ import annotations

import re

import pytest

from grader.base import paths
from grader.exercise.files import stages, tasks
from tests.language import in_english


def test_every_stage_has_its_handout() -> None:
    for directory in paths.STAGES.glob("[0-9]*"):
        assert (paths.ROOT / "handouts" / f"{directory.name}.md").is_file()


@in_english
@pytest.mark.parametrize("number", sorted(stages.known()))
def test_the_tasks_are_those_of_the_skeleton(number: int) -> None:
    (handout,) = (paths.ROOT / "handouts").glob(f"{number}-*.md")
    section = re.split(r"^## ", handout.read_text(), flags=re.M)
    (listed,) = [s for s in section if s.startswith("Tasks\n")]
    shown = re.findall(r"^(\d+)\. \*\*(.+?)\*\*[^\n]*?(?:, (\d+) points)", listed, re.M)
    course = tasks.course(number)
    assert shown == [(str(t.number), t.name, str(t.points)) for t in course.tasks]


PARTS = ("Measure first", "The idea", "Tasks", "Mistakes people make", "Done?", "Questions")


@in_english
@pytest.mark.parametrize("number", sorted(stages.manifests()))
def test_a_stage_s_handout_has_all_its_parts(number: int) -> None:
    (handout,) = (paths.ROOT / "handouts").glob(f"{number}-*.md")
    text = handout.read_text()
    headings = re.findall(r"^## (.*)$", text, re.M)
    assert [heading for heading in headings if heading in PARTS] == list(PARTS)
    assert "\n**Goal:** " in text
    assert "\nGo deeper: " in text
    done = text.split("\n## Done?\n")[1].split("\n## Questions\n")[0]
    assert len(re.findall(r"^- \[ \] ", done.split("\nBefore you go on:\n")[1], re.M)) >= 3
