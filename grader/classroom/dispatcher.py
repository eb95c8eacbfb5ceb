# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run GNU parallel to grade unfinished submissions on local cores or, by ssh, on other hosts.

A submission is finished when it has a result with the expected fingerprint; parallel's own log is
only for human readers. A job that ends without a result is tried again, on another host if
possible.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.base import parent_death, paths, scratch
from grader.base.errors import LabError
from grader.base.printable import decoded
from grader.base.progress import Progress
from grader.classroom import outcome
from grader.classroom.outcome import SubmissionOutcome
from grader.exercise.files.exercises import Exercise

# Number of attempts at a job that ends without a result.
TRIES = 3
# Time limit for one job in seconds. It is longer than the sum of the limits within a job.
LONGEST = 3600
# Signals that end a job, with the milliseconds to wait after each.
TERMSEQ = "TERM,8000,TERM,2000,KILL,100"
LOOK_SECONDS = 0.5
SAY_SECONDS = 60.0
# A host that does not answer for 45 s counts as failed; its jobs go to another host.
SSH_OPTIONS = (
    "-o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=3"
)


@dataclass(frozen=True)
class Dispatcher:
    """The settings of a class's grading jobs, and the commands that run them."""

    output_folder: Path  # holds packed/ID.tar and, after grading, results/ID.json
    exercise: Exercise
    seed: int
    jobs: str = ""  # parallel's --jobs; one job for each core by default
    hosts: Path | None = None
    kept_packages: tuple[str, ...] = field(default=("XDG_CACHE_HOME", "LAB_BUILD", "TMPDIR", "CC"))

    @property
    def ssh(self) -> str:
        """Return the ssh command for hosts; PARALLEL_SSH, parallel's own variable, replaces ssh."""
        return f"{os.environ.get('PARALLEL_SSH') or 'ssh'} {SSH_OPTIONS}"

    def command(self) -> list[str]:
        """Return the command that grades one submission; {} stands for its id."""
        there = [
            f"{name}={os.environ[name]}" for name in self.kept_packages if os.environ.get(name)
        ]
        return [
            "exec", "env", *there, sys.executable, str(paths.SCRIPTS / "module.py"),
            "grader.class_command", "--one", "packed/{}.tar", "--json", "results/{}.json",
            f"--{self.exercise.variable}", self.exercise.name, "--seed", str(self.seed),
            "--part-of-a-class",
        ]  # fmt: skip

    def parallel(self) -> list[str]:
        """Return the complete call of GNU parallel."""
        words = ["parallel", "--will-cite", "--no-run-if-empty", "--retries", str(TRIES)]
        words += ["--timeout", str(LONGEST), "--termseq", TERMSEQ, "--joblog", "parallel.log"]
        if self.jobs:
            words += ["--jobs", self.jobs]
        if self.hosts:
            # If a host or its files disappear, parallel runs the job on another host.
            words += ["--ssh", self.ssh, "--sshloginfile", str(self.hosts.absolute())]
            # Each job has its own folder on the host, which is removed afterwards.
            words += ["--wd", "...", "--transferfile", "packed/{}.tar"]
            words += ["--return", "results/{}.json", "--cleanup"]
        # parallel passes the command to a shell, so quote it; {} is replaced by a plain name.
        return [*words, " ".join(w if w == "exec" else _quoted(w) for w in self.command())]


def _quoted(word: str) -> str:
    return word if "{}" in word else shlex.quote(word)


def finished_outcome(out: Path, name: str, fingerprint: str) -> SubmissionOutcome | None:
    """Return a submission's outcome if it is graded and has this fingerprint, else None."""
    found = outcome.read(out / "results" / f"{name}.json")
    return found if found and found.graded and found.fingerprint == fingerprint else None


def run(dispatcher: Dispatcher, todo: Mapping[str, str], progress: Progress) -> None:
    """Grade the submissions in todo (id to fingerprint). Write each outcome into results/."""
    if not todo:
        return
    if shutil.which("parallel") is None:
        raise LabError("GNU parallel not found", "run scripts/setup.sh class")
    (dispatcher.output_folder / "results").mkdir(parents=True, exist_ok=True)
    with (dispatcher.output_folder / "parallel.err").open("wb") as error_file:
        process = subprocess.Popen(
            dispatcher.parallel(),
            cwd=dispatcher.output_folder,
            # Set this variable because parallel otherwise writes files to the home directory.
            env={**os.environ, "PARALLEL_HOME": str(dispatcher.output_folder / ".parallel")},
            stdin=subprocess.PIPE,
            stdout=error_file,
            stderr=error_file,
            start_new_session=True,
            preexec_fn=lambda: parent_death.set_parent_death_signal(signal.SIGKILL),  # noqa: PLW1509
        )
    try:
        assert process.stdin
        process.stdin.write("".join(f"{name}\n" for name in todo).encode())
        process.stdin.close()
        _attend(dispatcher, process, todo, progress)
    finally:
        _end(process)
        shutil.rmtree(dispatcher.output_folder / ".parallel", ignore_errors=True)


def _attend(
    dispatcher: Dispatcher,
    process: subprocess.Popen[bytes],
    todo: Mapping[str, str],
    progress: Progress,
) -> None:
    left, begin, reported_at = dict(todo), time.monotonic(), time.monotonic()
    while process.poll() is None:
        scratch.check_stopped()
        for name in [
            n
            for n, print_of_it in left.items()
            if finished_outcome(dispatcher.output_folder, n, print_of_it)
        ]:
            del left[name]
        count, passed = len(todo) - len(left), time.monotonic() - begin
        text = f"graded {count} of {len(todo)}{_remaining(count, len(left), passed)}"
        if progress.live:
            progress.step(text)
        elif time.monotonic() - reported_at >= SAY_SECONDS:
            reported_at = time.monotonic()
            progress.say(f"[{progress.elapsed():4.0f} s] {text}")
        time.sleep(LOOK_SECONDS)
    progress.clear()


def _remaining(count: int, unfinished: int, seconds: float) -> str:
    if not count:
        return ""
    still = seconds / count * unfinished
    return f", {still / 60:.0f} min left" if still >= 90 else f", {still:.0f} s left"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Make sure that no process of parallel runs when this function returns."""
    # At the first signal parallel waits for its running jobs; at the second it ends them.
    for seconds in (1.0, 30.0):
        if process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
    scratch.kill_group(process.pid)
    process.wait()


def what_went_wrong(out: Path) -> Sequence[str]:
    """Return the last three lines of parallel's error output, to explain jobs without a result."""
    try:
        text = decoded((out / "parallel.err").read_bytes())
    except OSError:
        return ()
    return [line for line in text.splitlines() if line.strip()][-3:]
