# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test grading a class: points, result files, and continuing after an interruption."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import paths
from grader.base.errors import HostFault, LabError, MachineDied, MachineTimeout, ProgramKilled
from grader.classroom import dispatcher, fingerprint, grade_one, outcome, pages, tables
from grader.classroom.outcome import SubmissionOutcome
from grader.classroom.submissions import Submission
from grader.classroom.tables import ClassRow
from grader.exercise.files import exercises
from grader.scoring.points import Line
from tests import class_submissions
from tests.class_submissions import class_sh, rows
from tests.leftovers import leftovers
from tests.sandbox_calls import needs_sandbox

SEED = 7
ODD = "$(touch pwned) 'q\" \n<b>&amp; =1"
# This is ODD as a CSV cell: one line, without characters that a program may read as a separator.
ODD_CELL = "$(touch pwned) 'q\" \\n<b>&amp\uff1b =1"
needs_parallel = pytest.mark.skipif(not shutil.which("parallel"), reason="no GNU parallel")

# The expected points, status and cause of each submission.
EXPECTED = {
    ODD: ("100", "ok", "^$"),
    "anna": ("0", "wrong", "expected 55, got 0"),
    "bob": ("30", "wrong", r"F\(0\)|expected"),
    "carol": ("0", "wrong", "a constructor or destructor"),
    "dave": ("0", "build-failed", "^1-iterative-u64/fib.c:[0-9]+:[0-9]+: error: expected '\uff1b'"),
    "eve": ("0", "build-failed", ".incbin in assembly is not allowed"),
    "frank": ("0", "refused", "^the submission is a link, which is not followed"),
    "grace": ("0", "refused", "'../x.c', which leads out of it"),
}


def _make_class(folder: Path, secret: Path) -> None:
    class_submissions.reference(folder / ODD, 1)
    class_submissions.solved(folder / "anna", 1)
    class_submissions.mistake(folder / "bob", 1, "one step too many")
    class_submissions.packed(folder / "bob", folder / "bob.zip")
    class_submissions.faulty(folder / "carol", 1, "has-a-constructor")
    class_submissions.faulty(folder / "dave", 1, "does-not-compile")
    class_submissions.packed(folder / "dave", folder / "dave.tar.gz")
    class_submissions.added(folder / "eve", 1, f'asm(".incbin \\"{secret}\\"");\n')
    (folder / "frank").symlink_to(paths.STAGES)
    (folder / "x.c").write_text("")
    with tarfile.open(folder / "grace.tar", "w") as archive:
        archive.add(folder / "x.c", "../x.c")
    (folder / "x.c").unlink()
    (folder / "grades.csv").write_text("")


def _grade(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    words = [
        str(folder / "submissions"),
        "--stage",
        "1",
        "--out",
        str(folder / "out"),
        "--jobs",
        "2",
    ]
    return class_sh(*words, "--seed", str(SEED), *more, TMPDIR=str(folder / "tmp"))


# The short form has a single test, because each pytest process would grade the class again.


@needs_sandbox
@needs_parallel
@pytest.mark.machine
def test_a_class_of_eight(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(class_submissions.SECRET)
    (tmp_path / "submissions").mkdir()
    (tmp_path / "tmp").mkdir()
    _make_class(tmp_path / "submissions", tmp_path / "secret")
    completed = _grade(tmp_path)
    assert completed.returncode == 0, completed.stderr
    assert "files that are not submissions are ignored: 'grades.csv'" in completed.stderr
    assert "8 of 8 are graded: 1 with 100 points, 2 refused" in completed.stdout
    assert leftovers(tmp_path / "tmp") == []
    _each_has_the_points_that_it_must_have(tmp_path)
    _nothing_says_where_it_was_made_or_what_the_host_keeps(tmp_path)
    _a_students_page_has_nothing_of_the_others(tmp_path)
    _the_class_page_fetches_nothing_and_leads_to_each(tmp_path)
    _again_it_does_only_what_is_not_done(tmp_path)


def _each_has_the_points_that_it_must_have(graded: Path) -> None:
    found = rows(graded / "out")
    found[ODD] = found.pop(ODD_CELL)
    assert {name: row["points"] for name, row in found.items()} == {
        name: points for name, (points, _, _) in EXPECTED.items()
    }
    for name, (_, status, cause) in EXPECTED.items():
        assert found[name]["status"] == status, found[name]
        assert re.search(cause, found[name]["cause"]), found[name]
        parts = [found[name][task] for task in ("compute", "decimal", "device")]
        assert sum(map(int, parts)) == int(found[name]["points"])


def _nothing_says_where_it_was_made_or_what_the_host_keeps(graded: Path) -> None:
    for path in (graded / "out").rglob("*"):
        if path.is_file() and path.name not in ("parallel.log", "parallel.err"):
            text = path.read_text()
            for place in (graded / "submissions", graded / "tmp", graded / "out"):
                assert str(place) not in text, path
            assert class_submissions.SECRET not in text, path


def _a_students_page_has_nothing_of_the_others(graded: Path) -> None:
    out = graded / "out"
    names = {Submission(name, Path()).id: name for name in EXPECTED}
    folders = sorted((out / "students").iterdir())
    assert [folder.name for folder in folders] == sorted(names)
    for folder in folders:
        page = (folder / "index.html").read_text()
        for other in set(EXPECTED) - {names[folder.name], ODD}:
            assert not re.search(rf"\b{other}\b", page), (folder, other)
        assert "<b>" not in page
        points, status, _ = EXPECTED[names[folder.name]]
        assert f"<strong>{points} of 100 points</strong>" in page
        results = json.loads((folder / "results.json").read_text())
        assert results["score"] == int(points)
        assert sum(test["max_score"] for test in results["tests"]) == 100


def _the_class_page_fetches_nothing_and_leads_to_each(graded: Path) -> None:
    text = (graded / "out" / "class.html").read_text()
    assert not re.search(r"(src|href)=\"(?!students/)|url\(|@import|<script|<b>", text)
    for link in re.findall(r'href="([^"]*)"', text):
        assert (graded / "out" / link).is_file()


def _again_it_does_only_what_is_not_done(graded: Path) -> None:
    results = graded / "out" / "results"
    before = {path.name: path.stat().st_mtime_ns for path in results.iterdir()}
    dave = next(path for path in results.iterdir() if path.name.startswith("dave"))
    dave.unlink()
    completed = _grade(graded)
    assert completed.returncode == 0 and "7 are done, 1 to do" in completed.stderr, completed.stderr
    after = {path.name: path.stat().st_mtime_ns for path in results.iterdir()}
    refused = [n for n in before if n.startswith("frank")]  # not graded, but listed
    assert [n for n in before if before[n] != after[n] and n not in refused] == [dave.name]
    assert rows(graded / "out")["dave"]["status"] == "build-failed"
    # Grade one submission in a separate process, as a job of a cluster does.
    dave.unlink()
    archive = graded / "submissions" / "dave.tar.gz"
    completed = class_sh("--one", archive, "--stage", "1", "--seed", "7", "--out", graded / "out")
    assert completed.returncode == 0 and "0 of 100 points; build-failed" in completed.stdout, (
        completed.stderr
    )
    assert "all are done" in _grade(graded).stderr
    # A damaged result file counts as missing.
    dave.write_text(dave.read_text()[:-20])
    assert "7 are done, 1 to do" in _grade(graded).stderr


def _line(name: str, earned: int) -> Line:
    return Line(name, earned, 50, "said")


def test_the_computers_fault_is_never_the_submissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = class_submissions.reference(tmp_path / "anna", 1).parent
    for error in (
        LabError("killed\nmore", "run it again"),
        HostFault("full\nmore", "run it again"),
        ProgramKilled(),
        MachineDied("gone"),
        OSError(28, "full"),
        MemoryError(),
    ):

        def fails(*_: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(grade_one, "_judged", fails)
        made = grade_one.grade(path, exercises.find(1), SEED)
        assert made.status == outcome.NOT_GRADED and not made.lines and "\n" not in made.cause
        assert made.cause


def test_not_graded_is_no_number_and_no_result(tmp_path: Path) -> None:
    undone = ClassRow(
        Submission("=anna", tmp_path), SubmissionOutcome("f", outcome.NOT_GRADED, "full")
    )
    done = ClassRow(
        Submission("bob", tmp_path), SubmissionOutcome("f", "ok", "", (_line("a", 50),))
    )
    text = tables.class_csv([undone, done], ["a"])
    assert text.splitlines()[1:] == ["'=anna,,,not graded,full,0.0,f", "bob,50,50,ok,,0.0,f"]
    tables.write_gradescope(tmp_path / "results.json", done.outcome)
    tables.write_gradescope(tmp_path / "results.json", undone.outcome)
    assert not (tmp_path / "results.json").exists()
    facts = {"title": "x", "again": "x", "seed": 1, "kit": "x"}
    assert "1 is not graded" in pages.class_page([undone, done], ["a"], facts, None)


def test_a_time_out_counts_when_it_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    class Judged:
        def __init__(self, earned: int, cause: str) -> None:
            self.earned = earned
            self.status, self.cause = "x", cause
            self.lines = ()

    late = [True, False]

    def judge(*_: object, **__: object) -> Judged:
        if late[len(calls)]:
            MachineTimeout("no answer in time")
        calls.append(1)
        return Judged(50 * len(calls), "assertion: no answer within 50 s, it was not done after")

    monkeypatch.setattr(grade_one, "judge", judge)
    stage = exercises.find(1)
    assert grade_one._judged(tmp_path, stage, SEED).earned == 100 and len(calls) == 2
    # Retry only after a real time-out: a submission can choose a cause that reads like one.
    calls.clear()
    late[:] = [False]
    assert grade_one._judged(tmp_path, stage, SEED).earned == 50 and len(calls) == 1


def test_another_seed_kit_or_text_is_another_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    prints = {
        fingerprint.of_submission(*a)
        for a in ((b"a", "1", 1), (b"b", "1", 1), (b"a", "2", 1), (b"a", "1", 2))
    }
    monkeypatch.setattr(fingerprint, "kit", lambda: "other")
    assert len(prints | {fingerprint.of_submission(b"a", "1", 1)}) == 5


def test_bounds_of_the_longest_line() -> None:
    bars = pages.distribution([0, 9, 10, 99, 100, 100])
    assert [bar["count"] for bar in bars] == [2, 1, *[0] * 7, 1, 2]
    assert bars[0]["share"] == 100


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none", "--stage", "1"], "No such file"),
        ([".", "--stage", "99"], "there is no stage 99"),
        (["--stage", "1"], "give a folder of them"),
        (["--one", "x", "--stage", "1"], "--one: wrong options; give --seed, --out or --json"),
        (["--one", "/none", "--stage", "1", "--seed", "1", "--json", "x"], "/none does not exist"),
        (["stages", "--stage", "1", "--prepare-hosts"], "--prepare-hosts needs --hosts"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path: Path, words: list[str], said: str) -> None:
    completed = subprocess.run(
        class_submissions.command(*words), cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert completed.returncode == 2 and said in completed.stderr.splitlines()[-1], completed.stderr
    assert not list(tmp_path.iterdir())


def test_results_of_another_exercise_are_refused(tmp_path: Path) -> None:
    class_submissions.solved(tmp_path / "class/anna", 1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/class.json").write_text('{"exercise": "1", "seed": 7}')
    words = ("class", "--stage", "2", "--out", "out")
    completed = subprocess.run(
        class_submissions.command(*words), cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert completed.returncode == 2, completed.stderr
    assert "out holds the results of another exercise, 1; give another --out" in completed.stderr


@needs_sandbox
@needs_parallel
@pytest.mark.machine
def test_interrupted_it_leaves_nothing_running(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    folder = tmp_path / "submissions"
    for name in ("a", "b", "c"):
        class_submissions.added(folder / name, 1, f"/* {name} */\n")
    out = tmp_path / "out"
    words = class_submissions.command(
        folder, "--stage", "1", "--seed", "7", "--jobs", "2", "--out", out
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    first = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not list(tmp_path.glob("tmp/fibdrv-lab-*/m*/console.log")):
        assert time.monotonic() < until and first.poll() is None
        time.sleep(0.1)
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 130 and said.splitlines()[-1].startswith("class: stopped;"), said
    assert leftovers(tmp_path / "tmp") == []
    assert leftovers(out) == []
    assert not list((out / "results").glob("*.json"))


def _qemu_of(place: Path) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if command.startswith(b"qemu-system") and os.fsencode(place) in command:
            found.append(int(entry.name))
    return found


@needs_sandbox
@needs_parallel
@pytest.mark.machine
@pytest.mark.long
def test_a_killed_qemu_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    class_submissions.reference(tmp_path / "submissions" / "anna", 1)
    out = tmp_path / "out"
    words = class_submissions.command(tmp_path / "submissions", "--stage", "1", "--out", out)
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    for fewest, most, status, points in ((1, 1, 0, "100"), (dispatcher.TRIES, 99, 2, "")):
        shutil.rmtree(out, ignore_errors=True)
        call = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
        killed: set[int] = set()
        while call.poll() is None:
            for pid in _qemu_of(tmp_path / "tmp"):
                # Wait only 0.1 s, because a machine that resumes a snapshot already runs its short
                # tests then.
                if len(killed) < most and pid not in killed:
                    time.sleep(0.1)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        killed.add(pid)
            time.sleep(0.02)
        assert fewest <= len(killed) <= most
        assert (call.returncode, rows(out)["anna"]["points"]) == (status, points), call.stdout
    assert rows(out)["anna"]["status"] == "not graded"
    assert leftovers(tmp_path / "tmp") == []


def test_the_call_quotes_what_may_hold_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = dispatcher.Dispatcher(tmp_path, exercises.find(5), 7, kept_packages=("ODD",))
    monkeypatch.setenv("ODD", "a b$(x)")
    assert "'ODD=a b$(x)'" in work.parallel()[-1]
    assert "--sshloginfile" not in work.parallel()
    assert "--sshloginfile" in replace(work, hosts=Path("x")).parallel()
