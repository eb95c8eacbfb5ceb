# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that status and errno alone tell a fault of the host from an error in a submission."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from pathlib import Path

import pytest

from grader import sandbox
from grader.base import paths
from grader.base.errors import HostFault, ProgramKilled
from grader.classroom import grade_one
from grader.exercise.build import stage_module
from grader.exercise.files import exercises, stages
from grader.exercise.files.stages import Stage
from grader.exercise.operations import test_program
from grader.exercise.operations.test_program import NoTestProgramError
from grader.lab.module import Kernel
from grader.sandbox import COMPILER, CommandResult, running
from tests import class_submissions
from tests.class_submissions import rows
from tests.sandbox_calls import needs_sandbox
from tests.test_printable import _obeyed

SENTENCES = [
    "No space left on device",
    "not all data was written to the output",
    "Killed signal terminated program cc1",
    "it ended with status -9",
    "no answer within 50 s: an endless loop?",
    "Disk quota exceeded",
    "virtual memory exhausted: Cannot allocate memory",
]
FORMS = {
    "error": "#error {}",
    "warning and error": "#warning {}\n#error {}",
    "message": '#pragma message "{}"\nint x = ;',
    "raw line": '#pragma message "\\ngcc: fatal error: {}\\ncompilation terminated."\nint x = ;',
    "assertion": '_Static_assert(0, "{}");',
    "include": '#include "{}"',
    "line": '#line 1 "gcc: fatal error: {}"\nint x = ;',
    "assembly": 'asm(".error \\"{}\\"");',
}


def _stage(folder: Path, text: str, header: bool) -> Stage:
    directory = folder / "1-mine"
    directory.mkdir()
    for path in (paths.STAGES / "1-iterative-u64").glob("*.[ch]"):
        (directory / path.name).write_bytes(path.read_bytes())
    if header:
        (directory / "more.h").write_text(f"{text}\n")
        text = '#include "more.h"'
    with (directory / "fib.c").open("a") as file:
        file.write(f"\n{text}\n")
    return Stage(directory, stages.manifests()[1])


@pytest.mark.once
@pytest.mark.machine
@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_source_that_says_so_is_its_authors_fault(
    kernel: Kernel, tmp_path: Path, form: str, header: bool
) -> None:
    sentence = SENTENCES[list(FORMS.values()).index(form) % len(SENTENCES)]
    for number, said in enumerate((sentence, SENTENCES[0], SENTENCES[2])):
        folder = tmp_path / str(number)
        folder.mkdir()
        stage = _stage(folder, form.replace("{}", said), header)
        built = stage_module.build(stage, kernel)
        assert not built.ok and built.cause
        with pytest.raises(NoTestProgramError, match="does not compile"):
            test_program.program(stage)


@needs_sandbox
@pytest.mark.skipif(not shutil.which("parallel"), reason="there is no GNU parallel")
@pytest.mark.machine
def test_a_class_goes_on_and_blames_who_wrote_it(tmp_path: Path) -> None:
    folder, out = tmp_path / "submissions", tmp_path / "out"
    texts = {
        "disk": "#error No space left on device",
        "killed": "#error Killed signal terminated program",
        "\x1b]0;esc\x07": '#pragma message "\\x1b[2J\\u202e"\n#error \x1b[31m\x9b2J \u202e',
        "x;=1+1": "#error it was not done after 300 s",
        "=2+2": '#line 1 "\\x1b[31m"\nint x = ;',
    }
    for name, text in texts.items():
        class_submissions.added(folder / name, 1, f"{text}\n")
    class_submissions.reference(folder / "right", 1)
    completed = class_submissions.class_sh(
        folder, "--stage", "1", "--seed", "7", "--jobs", "1", "--out", out
    )
    assert completed.returncode == 0, completed.stderr
    assert _obeyed(completed.stdout) == _obeyed(completed.stderr) == []
    found = rows(out)
    assert len(found) == len(texts) + 1 and found["right"]["points"] == "100"
    for name, row in found.items():
        assert row["status"] == ("ok" if name == "right" else "build-failed"), row
    for path in (out / "class.csv", out / "class.html", *out.glob("students/*/*")):
        assert _obeyed(path.read_text(encoding="utf-8")) == [], path
    lines = (out / "class.csv").read_text().splitlines()
    assert len(lines) == len(found) + 1 and not any(";" in line for line in lines)


# These errors of the host must end the command.


def _ended(status: int) -> CommandResult:
    return CommandResult(status, b"", b"")


def test_a_tool_that_was_killed(tmp_path: Path) -> None:
    result = sandbox.run(["sh", "-c", "kill -KILL $$"], COMPILER)
    assert result.status == -signal.SIGKILL
    with pytest.raises(ProgramKilled):
        result.check_host(tmp_path)
    _ended(1).check_host(tmp_path)
    _ended(0).check_host(tmp_path)


def test_a_tool_whose_child_the_kernel_has_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the kernel kills cc1, gcc only exits with 1, but the kernel's count of kills increases."""
    counts = iter([5, 6, 6, 6, 6, 7])
    monkeypatch.setattr(running, "oom_kills", lambda: next(counts))
    with pytest.raises(ProgramKilled):
        sandbox.run(["false"], COMPILER)
    assert sandbox.run(["false"], COMPILER).status == 1
    assert sandbox.run(["true"], COMPILER).status == 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_told_by_errno(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """A simulated full disk is recognised by errno; tests/test_environment.py fills real disks."""

    def refused(*_: int) -> None:
        raise OSError(number, "it says nothing")

    _ended(2).check_host(tmp_path)
    monkeypatch.setattr(os, "posix_fallocate", refused)
    _ended(0).check_host(tmp_path)
    if number == errno.EIO:
        _ended(2).check_host(tmp_path)
    else:
        with pytest.raises(
            HostFault, match=f"{tmp_path}: No space left on device; free some space"
        ):
            _ended(2).check_host(tmp_path)


def test_a_fault_of_the_host_makes_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grader reports an error of the host as such, and does not deduct points for it."""
    submission = class_submissions.reference(tmp_path / "anna", 2).parent

    def killed(*_: object, **__: object) -> CommandResult:
        raise ProgramKilled

    monkeypatch.setattr(test_program.sandbox, "run", killed)
    outcome = grade_one.grade(submission, exercises.find(2), 7)
    assert outcome.status == "not graded" and "was killed on this computer" in outcome.cause
