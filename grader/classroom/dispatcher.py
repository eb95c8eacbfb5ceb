# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The submissions that are not done yet, given out by GNU parallel: to cores, or hosts by ssh.

What is done is what has a result with the fingerprint that it must have; parallel's own log is for
people. A job that ends without one is tried again, elsewhere where there is an elsewhere.
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

# How often a submission is begun that comes to nothing by no fault of its own.
TRIES = 3
# Seconds; the worst that a submission can do to each of its limits comes to less.
LONGEST = 3600
# Milliseconds from the request to end until the end.
TERMSEQ = "TERM,8000,TERM,2000,KILL,100"
LOOK_SECONDS = 0.5
SAY_SECONDS = 60.0
# A host that does not answer for 45 s is given up, and its work goes to another.
SSH_OPTIONS = (
    "-o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=3"
)


@dataclass(frozen=True)
class Dispatcher:
    """Where it is graded."""

    output_folder: Path  # packed/ID.tar there becomes results/ID.json
    exercise: Exercise
    seed: int
    jobs: str = ""  # as parallel takes it; a job for each core if not given
    hosts: Path | None = None
    kept_packages: tuple[str, ...] = field(default=("XDG_CACHE_HOME", "LAB_BUILD", "TMPDIR", "CC"))

    @property
    def ssh(self) -> str:
        """How hosts are reached; PARALLEL_SSH is parallel's own name for another ssh."""
        return f"{os.environ.get('PARALLEL_SSH') or 'ssh'} {SSH_OPTIONS}"

    def command(self) -> list[str]:
        """What grades one submission, {} being its id."""
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
        """The whole call."""
        words = ["parallel", "--will-cite", "--no-run-if-empty", "--retries", str(TRIES)]
        words += ["--timeout", str(LONGEST), "--termseq", TERMSEQ, "--joblog", "parallel.log"]
        if self.jobs:
            words += ["--jobs", self.jobs]
        if self.hosts:
            # Neither a host that is gone nor what it had is the end: elsewhere it goes on.
            words += ["--ssh", self.ssh, "--sshloginfile", str(self.hosts.absolute())]
            # A folder for each job on the host, removed behind it.
            words += ["--wd", "...", "--transferfile", "packed/{}.tar"]
            words += ["--return", "results/{}.json", "--cleanup"]
        # Quoted for the shell that parallel has run it; {} is a plain name.
        return [*words, " ".join(w if w == "exec" else _quoted(w) for w in self.command())]


def _quoted(word: str) -> str:
    return word if "{}" in word else shlex.quote(word)


def finished_outcome(out: Path, name: str, fingerprint: str) -> SubmissionOutcome | None:
    """The outcome of a submission, if it has one that holds."""
    found = outcome.read(out / "results" / f"{name}.json")
    return found if found and found.graded and found.fingerprint == fingerprint else None


def run(engine: Dispatcher, todo: Mapping[str, str], progress: Progress) -> None:
    """Grade what is to be graded: fingerprints by id. What came of each is in results/."""
    if not todo:
        return
    if shutil.which("parallel") is None:
        raise LabError("GNU parallel is missing: scripts/setup.sh class installs it")
    (engine.output_folder / "results").mkdir(parents=True, exist_ok=True)
    with (engine.output_folder / "parallel.err").open("wb") as said:
        process = subprocess.Popen(
            engine.parallel(),
            cwd=engine.output_folder,
            # Else it keeps files in the home directory.
            env={**os.environ, "PARALLEL_HOME": str(engine.output_folder / ".parallel")},
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            start_new_session=True,
            preexec_fn=lambda: parent_death.set_parent_death_signal(signal.SIGKILL),  # noqa: PLW1509
        )
    try:
        assert process.stdin
        process.stdin.write("".join(f"{name}\n" for name in todo).encode())
        process.stdin.close()
        _attend(engine, process, todo, progress)
    finally:
        _end(process)
        shutil.rmtree(engine.output_folder / ".parallel", ignore_errors=True)


def _attend(
    engine: Dispatcher,
    process: subprocess.Popen[bytes],
    todo: Mapping[str, str],
    progress: Progress,
) -> None:
    left, begin, said = dict(todo), time.monotonic(), time.monotonic()
    while process.poll() is None:
        scratch.check_stopped()
        for name in [
            n
            for n, print_of_it in left.items()
            if finished_outcome(engine.output_folder, n, print_of_it)
        ]:
            del left[name]
        count, passed = len(todo) - len(left), time.monotonic() - begin
        text = f"graded {count} of {len(todo)}{_remaining(count, len(left), passed)}"
        if progress.live:
            progress.step(text)
        elif time.monotonic() - said >= SAY_SECONDS:
            said = time.monotonic()
            progress.say(f"[{progress.elapsed():4.0f} s] {text}")
        time.sleep(LOOK_SECONDS)
    progress.clear()


def _remaining(count: int, unfinished: int, seconds: float) -> str:
    if not count:
        return ""
    still = seconds / count * unfinished
    return f", {still / 60:.0f} min left" if still >= 90 else f", {still:.0f} s left"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Whatever has happened, nothing of it runs when this returns."""
    # Asked once, parallel waits for what runs; asked twice, it ends that.
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
    """The last that was said, for a submission that has no result at all."""
    try:
        text = decoded((out / "parallel.err").read_bytes())
    except OSError:
        return ()
    return [line for line in text.splitlines() if line.strip()][-3:]
