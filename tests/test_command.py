# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the exit status and messages of the kit's commands. Each case runs in its own process."""

from __future__ import annotations

import io
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import paths, scratch
from grader.base.progress import Progress
from tests.leftovers import leftovers

HEAD = """
import errno, os, subprocess, sys, time
from grader.base import command, errors, progress, scratch
def work():
"""
TAIL = """
    return 0
sys.exit(command.end("tiny", work, "all is as it was"))
"""
# Simulate a machine: create a folder, and start a process in it that leads its own process group.
AT_WORK = """
folder = scratch.folder()
subprocess.Popen(["sleep", "1000", str(folder)][:2], cwd=folder, start_new_session=True)
progress.Progress().step("at work")
time.sleep(60)
"""


def program(*lines: str) -> list[str]:
    """Return a command that runs these lines through command.end(), like the kit's commands."""
    body = "\n".join(lines).strip("\n").splitlines()
    return [sys.executable, "-c", HEAD + "\n".join(f"    {line}" for line in body) + TAIL]


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="t"))
    yield folder
    shutil.rmtree(folder)


def environment(place: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**kept, "TMPDIR": str(place), "LAB_BUILD": str(place / "build"), **more}


def run(
    place: Path, *lines: str, shell: str = '"$@"', **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the lines from a bash command line, which may redirect the output."""
    return subprocess.run(
        ["bash", "-c", shell, "bash", *program(*lines)],
        cwd=paths.ROOT, env=environment(place, **more), capture_output=True, text=True, timeout=60,
    )  # fmt: skip


CORRECT = "correct this and run the command again"


@pytest.mark.parametrize(
    ("line", "status", "says"),
    [
        ("pass", 0, ""),
        ("return 1", 1, ""),
        ("sys.exit(0)", 0, ""),
        ("raise errors.LabError('no stage 8', 'choose one')", 2, "tiny: no stage 8; choose one\n"),
        ("raise errors.LabError('two\\nlines', 'join them')", 2, "tiny: two lines; join them\n"),
        (
            "raise errors.MachineDied('EOF')",
            2,
            "tiny: the machine does not answer (EOF); run the command again\n",
        ),
        ("open('/no/where')", 2, f"tiny: /no/where: No such file or directory; {CORRECT}\n"),
        ("open('/proc/self/mem/x')", 2, f"tiny: /proc/self/mem/x: Not a directory; {CORRECT}\n"),
        (
            "raise OSError(errno.ENOSPC, 'No space left on device')",
            2,
            "tiny: No space left on device; free some space, or set LAB_BUILD to another folder\n",
        ),
        (
            "raise OSError(errno.EROFS, 'Read-only file system', '/elsewhere/x')",
            2,
            f"tiny: /elsewhere/x: Read-only file system; {CORRECT}\n",
        ),
        ("raise KeyboardInterrupt", 130, "tiny: stopped; all is as it was\n"),
        # A broken pipe other than standard output is an ordinary error.
        ("raise BrokenPipeError(errno.EPIPE, 'Broken pipe')", 2, f"tiny: Broken pipe; {CORRECT}\n"),
    ],
)
def test_an_ending_is_one_line_and_a_status(line: str, status: int, says: str, place: Path) -> None:
    completed = run(place, line)
    assert (completed.returncode, completed.stdout, completed.stderr) == (status, "", says)


def test_a_pipe_gets_each_line_at_once(place: Path) -> None:
    with subprocess.Popen(
        program("print('the verdict')", "sys.stdin.readline()"), cwd=paths.ROOT,
        env=environment(place), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin and process.stdout
        assert process.stdout.readline() == "the verdict\n"
        process.stdin.close()


def test_a_fault_of_the_kit_is_not_a_failed_stage(place: Path) -> None:
    completed = run(place, "print('so far')", "1 / 0")
    assert completed.returncode == 2
    assert completed.stdout == "so far\n"
    assert "ZeroDivisionError" in completed.stderr
    assert completed.stderr.splitlines()[-1].startswith("tiny: this is a bug in the kit; ")


MUCH = "print('x' * 100 + '\\n', end='', flush=(i % 7 == 0))"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("more", ["pass", "sys.stdout.flush()", "print('x' * 100_000)"])
def test_full_output_is_one_line(more: str, unbuffered: str, place: Path) -> None:
    full = {"shell": '"$@" >/dev/full', "PYTHONUNBUFFERED": unbuffered}
    completed = run(place, "print('results')", more, **full)
    assert completed.returncode == 2
    assert completed.stderr == f"tiny: standard output: No space left on device; {CORRECT}\n"
    # If output is lost, the exit status is 2, even if a stage has failed.
    assert run(place, "print('results')", more, "return 1", **full).returncode == 2
    # After an earlier error, only this error is reported, and not the failed write to the output.
    completed = run(place, "sys.stdout.write('results')", "raise errors.LabError('x', 'y')", **full)
    assert (completed.returncode, completed.stderr.count("\n")) == (2, 1)


def test_full_errors_leave_the_status(place: Path) -> None:
    shell = '"$@" 2>/dev/full'
    assert run(place, "raise errors.LabError('x', 'y')", shell=shell).returncode == 2
    assert run(place, "progress.Progress().step('x')", shell=shell).returncode == 2
    assert run(place, "raise KeyboardInterrupt", shell=shell).returncode == 130


@pytest.mark.parametrize(
    "shell",
    [
        '"$@" | head -1; exit ${PIPESTATUS[0]}',
        '"$@" 2>&1 | head -1; exit ${PIPESTATUS[0]}',
        '"$@" | true; exit ${PIPESTATUS[0]}',
    ],
)
def test_a_reader_that_leaves_ends_it_quietly(place: Path, shell: str) -> None:
    completed = run(place, f"for i in range(100_000): {MUCH}", shell=shell)
    assert completed.returncode == 128 + signal.SIGPIPE
    assert completed.stderr == ""


def test_a_reader_of_the_progress_that_leaves_ends_it_quietly(place: Path) -> None:
    shell = '{ "$@" 2>&1 >/dev/null; echo $? >"$TMPDIR/status"; } | head -1'
    completed = run(
        place, "tell = progress.Progress()", "for i in range(100_000): tell.step(str(i))",
        shell=shell,
    )  # fmt: skip
    assert completed.stderr == ""
    assert (place / "status").read_text() == "141\n"


def test_help_that_nobody_reads(place: Path) -> None:
    lines = ("import argparse", "argparse.ArgumentParser().parse_args(['--help'])")
    assert run(place, *lines).returncode == 0
    assert run(place, *lines, shell='"$@" >/dev/full').returncode == 2
    assert (
        run(place, "import argparse", "argparse.ArgumentParser().parse_args(['x'])").returncode == 2
    )


def test_streams_that_are_closed(place: Path) -> None:
    file = "open(os.environ['TMPDIR'] + '/file', 'w')"
    lines = (
        f"kept = {file}",
        "assert kept.fileno() > 2",
        "assert not sys.stdin.isatty() and sys.stdin.read() == ''",
        "print('to stdout', flush=True)",
        "print('to stderr', file=sys.stderr)",
        "progress.Progress().step('x')",
        "subprocess.run(['sh', '-c', 'cat; echo from a child; echo and >&2'], check=True)",
        "kept.write('mine')",
    )
    for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
        completed = run(place, *lines, shell=f'"$@" {closed}')
        assert completed.returncode == 0, (closed, completed.stderr)
        assert (place / "file").read_text() == "mine"
    # An error message for a closed stderr must not appear on stdout.
    completed = run(place, "raise errors.LabError('x', 'y')", shell='"$@" 2>&-')
    assert (completed.returncode, completed.stdout) == (2, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(place: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        program(AT_WORK), cwd=paths.ROOT, env=environment(place),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr
    assert "at work" in process.stderr.readline()
    process.send_signal(number)
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(10) == 130
    assert said == "tiny: stopped; all is as it was\n"
    assert leftovers(place) == []


@pytest.mark.parametrize("ending", ["return 1", "raise errors.LabError('x', 'y')", "1 / 0"])
def test_whatever_happens_nothing_is_left(place: Path, ending: str) -> None:
    completed = run(place, AT_WORK.replace("time.sleep(60)", ending))
    assert completed.returncode == (1 if ending == "return 1" else 2)
    assert leftovers(place) == []


def test_a_folder_that_is_being_filled_goes_too(place: Path) -> None:
    """The end of a run removes a folder even if a thread is still creating files in it."""
    lines = (
        "import itertools, threading",
        "folder = scratch.folder()",
        "def fill():",
        "    for i in itertools.count():",
        "        (folder / str(i)).touch()",
        "threading.Thread(target=fill, daemon=True).start()",
        "time.sleep(0.3)",
        "raise KeyboardInterrupt",
    )
    assert run(place, *lines).returncode == 130
    assert leftovers(place) == []


def test_what_has_lost_its_first_process_goes_too(place: Path) -> None:
    """A process is killed even if its group leader has ended, as right after UML forks."""
    lines = (
        "folder = scratch.folder()",
        "call = ['sh', '-c', \"sh -c 'sleep 1000; :' $0 & exit\", folder]",
        "first = subprocess.Popen(call, start_new_session=True)",
        "first.wait()",
        "time.sleep(0.2)",
        "print(len(scratch.processes_in(folder)), first.pid)",
        "raise KeyboardInterrupt",
    )
    completed = run(place, *lines)
    assert completed.returncode == 130
    there, group = map(int, completed.stdout.split())
    assert there == 1
    assert not scratch.group_runs(group)
    assert leftovers(place) == []


def test_what_is_to_stay_stays(place: Path) -> None:
    lines = (
        f"folder = '{place}/staying'",
        "scratch.let_stay(folder)",
        "call = ['sh', '-c', 'sleep 1000; :', folder]",
        "print(subprocess.Popen(call, start_new_session=True, stdout=subprocess.DEVNULL,"
        " stderr=subprocess.DEVNULL).pid)",
        "time.sleep(0.2)",
    )
    pid = int(run(place, *lines).stdout)
    try:
        assert Path(f"/proc/{pid}").exists()
    finally:
        os.killpg(pid, signal.SIGKILL)


def test_the_progress_goes_before_the_line(place: Path) -> None:
    """On a terminal, the progress line, which has no newline, is erased before the error line."""
    ours, theirs = pty.openpty()
    lines = ("progress.Progress().step('at work')", "raise errors.LabError('x', 'y')")
    process = subprocess.Popen(
        program(*lines), cwd=paths.ROOT, env=environment(place), stderr=theirs
    )
    os.close(theirs)
    assert process.wait(60) == 2
    time.sleep(0.1)
    said = os.read(ours, 4096).decode()
    os.close(ours)
    assert said.endswith("at work\r\x1b[Ktiny: x; y\r\n"), repr(said)


def test_lines_of_two_threads_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write waits, so that another thread can write in between if nothing prevents it."""
    written: list[str] = []

    class Slow(io.StringIO):
        def write(self, text: str) -> int:
            written.append(text)
            time.sleep(0.001)
            return len(text)

    monkeypatch.setattr(sys, "stderr", Slow())
    shown = Progress()
    steps = threading.Thread(target=lambda: [shown.step(f"step {i}") for i in range(20)])
    steps.start()
    for i in range(20):
        shown.say(f"verdict {i}")
    steps.join()
    lines = "".join(written).splitlines()
    assert len(lines) == 40
    assert all(re.fullmatch(r"\[ +\d+ s\] step \d+|verdict \d+", line) for line in lines), lines
