# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that untrusted text becomes printable as soon as the grader reads it."""

from __future__ import annotations

import csv
import io
import random
import re
import shutil
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import paths
from grader.base.errors import in_one_line
from grader.base.printable import decoded, in_a_line, printable
from grader.classroom import tables
from grader.classroom.outcome import SubmissionOutcome
from grader.classroom.submissions import Submission, find
from grader.classroom.tables import ClassRow
from grader.exercise.build import stage_module
from grader.exercise.build.preprocess import Texts
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.lab import module
from grader.lab.guest_process import console_text
from grader.lab.module import Kernel
from grader.sandbox import CommandResult
from grader.scoring.points import Line

# Terminal control sequences, and characters that reorder or hide text.
HOSTILE = {
    "colour": "\x1b[31mred\x1b[0m",
    "title, ended by BEL": "\x1b]0;owned\x07",
    "link, ended by ST": "\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\",
    "8-bit CSI": "\x9b2J",
    "8-bit OSC": "\x9d52;c;cHduZWQ=\x9c",
    "device control": "\x1bP+q544e\x1b\\",
    "charset": "\x1b(0\x0e",
    "back over it": "right\b\b\b\b\bwrong",
    "carriage return": "FAIL\rPASS",
    "form feed and more": "\f\v\0\x7f\x05",
    "override": "abc\u202edcba",
    "isolate": "\u2066\u2069\u2067x",
    "marks": "\u200e\u200f\u061c",
    "separators": "one\u2028two\u2029three\x85four\x1cfive",
    "tags": "\U000e0041\U000e007f",
    "byte order mark": "\ufeffx",
    "not a character": "\uffff\U0010ffff",
    "private": "\ue000",
    "bytes that are no text": "\udc9b2J\udcff",
}


def _obeyed(text: str) -> list[str]:
    """Return the invisible characters of a text, except newlines, tabs and joiners."""
    kinds = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return [c for c in text if unicodedata.category(c) in kinds and c not in "\n\t\u200c\u200d"]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_nothing_is_left_that_is_obeyed(text: str) -> None:
    assert _obeyed(text), "this text is no attack"
    for made in (printable(text), in_a_line(text), decoded(text.encode(errors="replace"))):
        assert _obeyed(made) == []
    assert len(in_a_line(f"{text}\n\t{text}").splitlines()) == 1


def test_every_character_there_is() -> None:
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    assert _obeyed(printable(text)) == []
    # Visible characters stay as they are, and invisible ones become escape sequences.
    for character in "aß漢字\u3000\u00a0é\u0301🙂\ufffd~ \\":
        assert printable(character) == character
    assert printable("\x1b") == "\\x1b" and printable("\u202e") == "\\u202e"
    assert printable("one\r\ntwo\tthree\n") == "one\ntwo\tthree\n"
    assert in_a_line("one\ntwo\tthree\r") == "one\\ntwo\\tthree\\r"


def test_names_that_people_have_stay_theirs() -> None:
    for name in ("Łukasz Żółć", "王小明", "क्‍ष", "می‌خواهم", "O'Neill-García", "Анна"):
        assert in_a_line(name) == name


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_each_door_of_untrusted_text(text: str, tmp_path: Path) -> None:
    content = text.encode(errors="surrogatepass")
    result = CommandResult(1, content, content)
    submission = Submission(f"a{text}", tmp_path)
    for said in (
        result.text,
        result.error_text,
        console_text(content),
        paths.shown(tmp_path / f"x{text.replace(chr(0), '')}"),
        in_one_line(OSError(2, "No such file", f"x{text}")),
        submission.student,
    ):
        assert _obeyed(said) == []
    # Two students stay distinct even if their printable names are equal.
    alike = replace(submission, name=submission.student)
    assert alike.student == submission.student and alike.id != submission.id


def test_a_folder_of_odd_names(tmp_path: Path) -> None:
    names = [b"\x1b[2Janna", b"b\xff\xfeob", "c\u202eelrahc".encode(), b"d\nan", b"e;=1+1"]
    for name in names:
        Path(bytes(tmp_path).decode(), name.decode(errors="surrogateescape")).mkdir()
    found, _ = find(tmp_path)
    assert len({one.id for one in found}) == len(names)
    assert all(_obeyed(one.student) == [] and "\n" not in one.student for one in found)
    assert sorted(one.student for one in found)[0].startswith("\\x1b[2J")


SOURCES = {
    "error": "#error \x1b]0;owned\x07 \x9b2J",
    "warning": "#warning \x1b[31m\u202e",
    "message": '#pragma message "\\x1b[2J\\033]0;x\\a"\nint x = 1 +;',
    "assertion": '_Static_assert(0, "\\x1b[2J\\u202e");',
    "attribute": 'void f(void) __attribute__((error("\\x1b[2J")));\nvoid g(void) { f(); }',
    "line": '#line 1 "\\x1b[31mfib.c"\nint x = ;',
    "name": "int a\u202e\u2066b = ;",
    "assembly": 'asm(".error \\"\\x1b[2J\\"");',
    "symbol": 'extern int f(void) asm("\\x1b[31mf"); int (*g)(void) = f;',
    "section": 'int x __attribute__((section(".\\x1b[31m"))) = 1;',
}


@pytest.mark.machine
@pytest.mark.parametrize("text", SOURCES.values(), ids=SOURCES.keys())
@pytest.mark.parametrize("place", ["fib.c", "more.h"])
def test_what_a_build_says(kernel: Kernel, tmp_path: Path, text: str, place: str) -> None:
    directory = tmp_path / "1-mine"
    directory.mkdir()
    for path in (paths.STAGES / "1-iterative-u64").glob("*.[ch]"):
        (directory / path.name).write_bytes(path.read_bytes())
    (directory / "more.h").write_text("")
    with (directory / "fib.c").open("a") as file:
        file.write('\n#include "more.h"\n')
    with (directory / place).open("a") as file:
        file.write(f"{text}\n")
    stage = Stage(directory, stages.manifests()[1])
    try:
        built = stage_module.build(stage, kernel)
    finally:
        shutil.rmtree(
            module.folder_of(stage_module._recipe(stage, kernel, Texts()), kernel),
            ignore_errors=True,
        )
    said = [built.cause, built.rejection, built.module.log, *built.module.warnings]
    said += [str(violation.got) for violation in built.violations]
    assert any(said), "the build reports nothing"
    assert [_obeyed(one) for one in said if _obeyed(one)] == []


# No CSV cell may become a formula, whatever separator the program that reads it expects.

FORMULAS = [
    "=1+1", "x;=1+1", 'x;"=1+1"', "x\t=1+1", "x\n=1+1", "x\r=1+1", "+1", "-1", "@SUM(1)", " =1",
    '"=1', "'=1", "＝1+1", "；＝1", 'x";=1;"', ";;=1", "\t=1", "\r=1", "a,=1", 'a",=1', "\u00a0=1",
]  # fmt: skip


def _row(name: str, cause: str) -> ClassRow:
    lines = (Line("add", 3, 10, "x"),)
    return ClassRow(Submission(name, Path()), SubmissionOutcome("f" * 8, "wrong", cause, lines))


def _random_names() -> list[str]:
    rng = random.Random(7)
    letters = ";,\"'=+-@|\t\r\n\\ xé＝；\x1b"
    return ["".join(rng.choices(letters, k=rng.randrange(1, 9))) for _ in range(2000)]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_cell_is_a_formula_whatever_separates(separator: str) -> None:
    names = [*FORMULAS, *_random_names()]
    text = tables.class_csv([_row(n, c) for n, c in zip(names, reversed(names))], ["add"])
    assert _obeyed(text) == []
    read = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    assert len(read) == len(names) + 1
    for line in read:
        assert len(line) == (7 if separator == "," else 1)
        for cell in line:
            begin = unicodedata.normalize("NFKC", cell).lstrip(' "\t\r\n\u00a0')[:1]
            assert begin not in tuple("=+-@"), cell


def test_a_plain_name_and_cause_stay_as_they_are() -> None:
    text = tables.class_csv([_row("O'Neill, Anna", "F(93): expected 5, got 4")], ["add"])
    row = next(csv.DictReader(io.StringIO(text)))
    assert row["student"] == "O'Neill, Anna" and row["cause"] == "F(93): expected 5, got 4"
    assert re.fullmatch(r"\d+\.\d+", row["seconds"])
