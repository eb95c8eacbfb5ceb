# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the record that ends a test's output, and that programs which skip the test are detected."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import paths, test_record
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.contract_tests import runner
from grader.exercise.driver import call_trace
from grader.exercise.files import stages
from grader.exercise.operations import test_program
from grader.lab.module import Module
from tests.sandbox_calls import needs_sandbox

NONCE = 0x00FFEE1122334455
QUESTIONS = ("add 1 2", "add 1234567890 5")
ANSWERS = ["3", "123456789a"]

# Programs that print the right answers, but no valid record: the body of main(), and the error
# message that the grader must print.
PRETENDERS = {
    "it ends with status 0": ('puts("3\\n123456789a");', "it has printed no record"),
    "it does not know the nonce": (
        'puts("3\\n123456789a\\nrecord: 2 checks, digest 0123456789abcdef");',
        "not that of this run",
    ),
    "it ends too early": (
        'test_record_begin(&r, gets_line()); test_record_check(&r, 8); puts("3\\n123456789a"); '
        "printf(TEST_RECORD_FORMAT, TEST_RECORD_ARGUMENTS(&r));",
        "1 of 2 checks",
    ),
    "it prints behind its record": (
        "test_record_begin(&r, gets_line()); test_record_check(&r, 8); test_record_check(&r, 17);"
        ' puts("3"); printf(TEST_RECORD_FORMAT, TEST_RECORD_ARGUMENTS(&r)); puts("123456789a");',
        "it has printed no record",
    ),
    "it answers once more than it is asked": (
        "test_record_begin(&r, gets_line()); test_record_check(&r, 8); test_record_check(&r, 17);"
        ' puts("3\\n123456789a\\n0"); printf(TEST_RECORD_FORMAT, TEST_RECORD_ARGUMENTS(&r));',
        "3 answers to 2 questions",
    ),
}
HONEST = (
    "test_record_begin(&r, gets_line()); test_record_check(&r, 8); test_record_check(&r, 17);"
    ' puts("3\\n123456789a"); printf(TEST_RECORD_FORMAT, TEST_RECORD_ARGUMENTS(&r));'
)


def program(folder: Path, body: str) -> Path:
    """Build a program with this body of main(). Any user may read the folders above the program."""
    source = folder / "program.c"
    source.write_text(f"""
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "test_record.h"
static char line[4096];
static char *gets_line(void) {{ return fgets(line, sizeof(line), stdin); }}
static int there(const char *path) {{ return !access(path, F_OK); }}
int main(int argc, char **argv)
{{
	static struct test_record r;
	{body}
	return (void)r, (void)gets_line, (void)there, (void)argc, (void)argv, 0;
}}
""")
    made = folder / "program"
    subprocess.run(
        ["gcc", "-std=gnu11", f"-I{test_record.INCLUDE}", "-o", made, source], check=True
    )
    return made


@pytest.mark.parametrize("body", PRETENDERS)
def test_a_program_that_pretends_is_told(tmp_path: Path, body: str) -> None:
    made = program(tmp_path, PRETENDERS[body][0])
    _, fault = test_program.ask(made, QUESTIONS, isolated=False)
    assert PRETENDERS[body][1] in fault


def test_a_program_that_does_as_it_is_asked_is_believed(tmp_path: Path) -> None:
    made = program(tmp_path, HONEST)
    assert test_program.ask(made, QUESTIONS, isolated=False) == (ANSWERS, "")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that every user can read. Tests in other processes have their own."""
    paths.BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tests-records-", dir=paths.BUILD) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@needs_sandbox
@pytest.mark.parametrize(
    ("body", "says"),
    [
        # The sandbox must not run the system's Python, which could compute the right answers.
        (
            'execl("/usr/bin/python3", "python3", "-c", "print(3)", (char *)0); puts("refused");',
            "refused",
        ),
        ("execl(argv[0], argv[0], (char *)0); puts(strerror(errno));", "Operation not permitted"),
        (
            "int me = open(argv[0], O_RDONLY); char *no[] = { argv[0], 0 };"
            ' execveat(me, "", no, no, AT_EMPTY_PATH); puts(strerror(errno));',
            "Operation not permitted",
        ),
        (
            "if (!fork()) { execl(argv[0], argv[0], (char *)0); puts(strerror(errno)); }"
            " else sleep(1);",
            "Operation not permitted",
        ),
        (
            'printf("%d %d %d %d\\n", there("/usr/bin"), there("/bin/sh"), there("/var"),'
            ' there("/etc/passwd"));',
            "0 0 0 0",
        ),
        ('gets_line(); puts(lseek(0, 0, SEEK_SET) ? "once" : "twice");', "once"),
        (
            'while (gets_line()) {} int f = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK);'
            ' char c; puts(f < 0 || read(f, &c, 1) <= 0 ? "once" : "twice");',
            "once",
        ),
        ('int f = open(argv[0], O_WRONLY); puts(f < 0 ? "refused" : "DONE");', "refused"),
    ],
)
def test_a_program_in_the_sandbox_is_alone(open_folder: Path, body: str, says: str) -> None:
    answers, _ = test_program.ask(program(open_folder, body), QUESTIONS, isolated=True)
    assert answers == [says]


@needs_sandbox
def test_a_program_in_the_sandbox_gets_all_its_questions(open_folder: Path) -> None:
    """A program in the sandbox can receive more questions than a pipe can hold."""
    count = 'size_t n = 0; for (int c; (c = getchar()) != EOF;) n++; printf("%zu\\n", n);'
    made = program(open_folder, count)
    answers, _ = test_program.ask(made, ["x" * 999] * 1000, isolated=True)
    assert answers == [str(17 + 1_000_000)]


class Answering:
    """A fake machine that is also its own channel. Its contract tests print the given lines."""

    def __init__(self, said: str) -> None:
        self.said = said
        self.channel = self

    def check(self, command: str, _timeout: float) -> str:
        return self.said if command.startswith("echo") else ""


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("", "no record"),
        ("record: 0 checks, digest 0000000000000000\n", "0 of"),
        ("callers=1\nrecord: 1 checks, digest 0123456789abcdef\n", "not that of this run"),
    ],
)
def test_a_trial_that_answers_nothing_proves_nothing(
    said: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "questions", lambda *_: ["together 100 1 7"] * 3)
    guest = Answering(said)
    built = BuiltStage(stages.kit(2), Module("none", Path(), "not built"))
    found = runner.run(guest, built, 1, 1.0)  # type: ignore[arg-type]
    assert [fault in failure.title for failure in found] == [True]


def test_the_steps_of_a_driver_end_with_their_record() -> None:
    told = "+ kmalloc 1f\n- kfree 1f\n"
    digest = test_record.digest(NONCE, test_record.texts(told.splitlines()))
    whole = f"{told}record: 2 checks, digest {digest:016x}\n"
    assert call_trace.fault(whole, NONCE) == ""
    assert [step.kind for step in call_trace.read(whole)] == ["+", "-"]
    assert "no record" in call_trace.fault(told, NONCE)
    assert "not that of this run" in call_trace.fault(whole.replace("kmalloc", "vmalloc"), NONCE)
    assert "not that of this run" in call_trace.fault(whole, NONCE + 1)


def test_a_digest_has_a_fixed_value() -> None:
    """The digest and the number of checks in a record must both match the values."""
    values = range(1000)
    record = test_record.Record(1000, test_record.digest(NONCE, values))
    assert test_record.fault(record, NONCE, values) == ""
    assert "not that of this run" in test_record.fault(record, NONCE + 1, values)
    assert "not that of this run" in test_record.fault(record, NONCE, values[::-1])
    assert "of 999 checks" in test_record.fault(record, NONCE, values[:-1])
    assert test_record.split("a\nrecord: 2 checks, digest 00000000000000ff\n") == (
        "a",
        test_record.Record(2, 255),
    )
