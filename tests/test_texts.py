# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the languages of tasks and hints: the learner's texts differ, and the code does not."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import scratch, wrapping
from grader.base.errors import LabError
from grader.course import carry_forward, check, commands, records, skeleton, texts
from grader.exercise.files import exercises, stages

CHINESE = re.compile("[\u4e00-\u9fff]")
COMMENT = re.compile(r"^[ \t]*/\*.*?\*/\n", re.DOTALL | re.MULTILINE)
# The available languages except that of the skeletons. A student repository has only one.
OTHERS = [x for x in texts.available() if x != texts.NATIVE] if not stages.exported() else []


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="l"))
    monkeypatch.setattr(skeleton, "WORK", folder / "work")
    monkeypatch.setattr(records, "_folder", lambda: folder / "course")
    yield folder / "work"
    shutil.rmtree(folder)
    scratch.remove_all()


@pytest.mark.skipif(stages.exported(), reason="a course has its tasks in one language")
def test_there_is_chinese() -> None:
    assert "zh-TW" in OTHERS


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("number", sorted(stages.manifests()))
def test_only_comments_differ(number: int, language: str) -> None:
    """A skeleton has the same code, and its tasks can be found, in every language."""
    known = texts.available()[language]
    english, other = skeleton.sources(number), skeleton.sources(number, texts=known)
    for file, text in english.items():
        assert COMMENT.sub("", text) == COMMENT.sub("", other[file])
        begins = re.findall(r"(Task \d+, [^:]+:)", text)
        assert re.findall(r"(Task \d+, [^:]+:)", other[file]) == begins
        chinese = [x for x in other[file].expandtabs(8).splitlines() if CHINESE.search(x)]
        assert [line for line in chinese if wrapping.columns(line) > 80] == []
    for task in exercises.find(number).course.tasks:
        assert known(task.text) != task.text or not task.text, task.name
        assert all(hint in known.table for hint in task.hints), task.name


@pytest.mark.once(all_files=True)
@pytest.mark.machine
@pytest.mark.skipif(not OTHERS, reason="a course has its tasks in one language")
def test_a_course_in_chinese_is_checked_like_one_in_english(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A chosen language is kept; skeletons and solutions earn the same points in each language."""
    exercise = exercises.find(1)
    found = {}
    for language in (OTHERS[0], texts.NATIVE):
        commands.start(exercise, language)
        own = skeleton.learner_directory(1)
        assert own is not None
        assert bool(CHINESE.search((own / "fib.c").read_text())) == (language != texts.NATIVE)
        capsys.readouterr()
        commands.hint(exercise, 7, "1")
        assert bool(CHINESE.search(capsys.readouterr().out)) == (language != texts.NATIVE)
        lines = [(line.name, line.earned) for line in check.check(exercise, own, 7).lines]
        # This loop adds code below the comment, as a learner does.
        for file in ("fib.c", "decimal.c"):
            note = re.search(r"\t/\*\n?.*?\*/\n", (own / file).read_text(), re.DOTALL)
            solved = (exercise.sources / file).read_text() if not stages.exported() else ""
            there = skeleton.functions(solved)[f"fib_{'compute' if file == 'fib.c' else 'decimal'}"]
            assert note
            (own / file).write_text(solved[: there.body] + note[0] + solved[there.body :])
        solved_lines = [line.earned for line in check.check(exercise, own, 7).lines]
        assert sum(solved_lines) == 100
        found[language] = lines, solved_lines
        shutil.rmtree(own)
    assert found[OTHERS[0]] == found[texts.NATIVE]


@pytest.mark.skipif(not OTHERS, reason="a course has its tasks in one language")
def test_a_language_can_be_chosen_until_work_begins(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exercise = exercises.find(2)
    commands.start(exercise)
    commands.start(exercise, OTHERS[0])  # The kit asks no question, because the copy is unchanged.
    own = skeleton.learner_directory(2)
    assert own is not None
    assert CHINESE.search((own / "fib.c").read_text())
    capsys.readouterr()
    commands.start(exercise)  # keeps the chosen language
    assert "exists and is unchanged" in capsys.readouterr().out
    (own / "fib.c").write_text("mine\n")
    monkeypatch.setattr("sys.stdin", (work / "language").open())
    with pytest.raises(LabError, match="holds your work"):
        commands.start(exercise, texts.NATIVE)
    assert (own / "fib.c").read_text() == "mine\n"


def test_an_unknown_language_is_refused(work: Path) -> None:
    with pytest.raises(LabError, match="no language tlh; choose one of "):
        texts.chosen(work, "tlh")
    assert not (work / texts.CHOICE).exists()
    work.mkdir()
    # A kit with more languages may have written this file.
    (work / texts.CHOICE).write_text("tlh\n")
    assert texts.chosen(work) == next(iter(texts.available().values()))


@pytest.mark.skipif(not OTHERS, reason="a course has its tasks in one language")
def test_a_stub_in_another_language_is_still_a_stub(work: Path) -> None:
    """A stub is recognised by its code, so the language of its comments makes no difference."""
    for language in (texts.NATIVE, *OTHERS):
        text = skeleton.sources(3, texts=texts.available()[language])["bignum.c"]
        code = carry_forward._code(text, "limbs_add")
        assert "return 0;" in code
        assert "Task" not in code
        assert not CHINESE.search(code)


@pytest.mark.parametrize("width", [20, 40, 73])
def test_chinese_is_wrapped_by_its_width(width: int) -> None:
    text = (
        "讓 fib_compute(n) 的每一步由前一對算出 F(i)、F(i + 1)，不要用遞迴。「真的」需要哪些？" * 3
    )
    lines = wrapping.wrapped(text, width)
    # Punctuation may exceed the width, because it must not begin a line.
    assert max(map(wrapping.columns, lines)) <= width + 2
    assert not [line for line in lines if line[0] in "，。、」？" or line[-1] in "「（"]
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)
    assert wrapping.wrapped("some words in English", 10) == ["some words", "in English"]
