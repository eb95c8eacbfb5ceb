# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that each stage's handout has the common parts and the tasks of its skeleton."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.base import paths
from grader.base.errors import LabError
from grader.exercise.files import exercises, stages, tasks
from handouts.figures import graded_tables
from tests.language import in_english

HANDOUTS = paths.ROOT / "handouts"
COURSE = HANDOUTS / "README.md"


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


# The labels at the top of a handout, after its goal. A page without code has no label for files.
BEGINNING = (
    "Afterwards you can",
    "Read before",
    "Read these files first",
    "Shortest way",
    "You may leave out",
    "Time",
)
PAGES = ("measuring", "debugging", "concurrency")


def beginning(handout: Path) -> dict[str, str]:
    """Return the texts at the top of a handout by their labels."""
    top = handout.read_text().split("\n## ")[0].split("\n**Goal:** ")[1]
    return {
        label: " ".join(text.split())
        for label, text in re.findall(r"^- \*\*(.+?):\*\* (.*(?:\n  .*)*)", top, re.M)
    }


@in_english
@pytest.mark.parametrize("name", [*exercises.names(), *PAGES])
def test_a_handout_begins_with_what_it_needs(name: str) -> None:
    """A handout begins with its labels: hours as in the contents, and files that exist."""
    page = name in PAGES
    handout = HANDOUTS / f"{name}.md" if page else exercises.find(name).handout
    top = beginning(handout)
    assert [label for label in BEGINNING if label in top or not page] == list(top)
    contents = re.search(
        rf"\]\({re.escape(handout.name)}\).*\| (\d+) \|$", COURSE.read_text(), re.M
    )
    if contents:
        assert top["Time"].startswith(f"about {contents[1]} hour")
    if not page:
        files = re.findall(r"`([\w.]+\.[chS])`", top["Read these files first"])
        assert files
        sources = exercises.find(name).sources
        assert [file for file in files if not (sources / file).is_file()] == []


@in_english
@pytest.mark.parametrize("name", exercises.names())
def test_what_is_graded_is_what_the_tasks_say(name: str) -> None:
    """The table of points agrees with tasks.toml. handouts/figures/graded_tables.py updates it."""
    exercise = exercises.find(name)
    text = exercise.handout.read_text()
    assert graded_tables.renewed(exercise.handout, exercise.course) == text
    section = text.split("\n## What is graded\n")[1].split("\n## ")[0]
    assert sum(map(int, re.findall(r"^\| .* \| (\d+) \| .* \|$", section, re.M))) == 100


@in_english
def test_a_stale_table_is_noticed(tmp_path: Path) -> None:
    exercise = exercises.find(exercises.names()[0])
    text = exercise.handout.read_text()
    row = graded_tables.table(exercise.course).splitlines()[2]
    points = exercise.course.tasks[0].points
    handout = tmp_path / exercise.handout.name
    handout.write_text(text.replace(row, row.replace(f"| {points} |", f"| {points + 1} |")))
    assert handout.read_text() != text
    assert graded_tables.renewed(handout, exercise.course) == text
    handout.write_text(text.replace(graded_tables.HEAD, ""))
    with pytest.raises(LabError, match="no table of graded parts"):
        graded_tables.renewed(handout, exercise.course)


CONSTANT = re.compile(r"python3 -c '(.+?)'.*?const u64 \w+ = (\d+)", re.S)


@pytest.mark.skipif(stages.exported(), reason="the constants are part of the solutions")
@pytest.mark.parametrize(
    "directory", [path.parent for path in sorted(paths.STAGES.glob("*/column.h"))], ids=paths.shown
)
def test_a_comment_s_command_prints_the_constant(directory: Path) -> None:
    found = 0
    for name in ("column.h", "decimal.c"):
        for command, constant in CONSTANT.findall((directory / name).read_text()):
            completed = subprocess.run(
                [sys.executable, "-c", command], capture_output=True, text=True
            )
            assert completed.stdout == f"{constant}\n", f"{name}: {command}"
            found += 1
    assert found == 2
