# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Grade hundreds of submissions for stage 5 three times: python -m tests.class_many FOLDER [SIZE].

The first grading runs without other load; it is stopped after a third of the submissions and
started again. During the second, other processes keep all processors busy. The third uses two ssh
hosts, one of which is killed when half of the submissions are graded. Each time every submission
must have its expected points, status and cause. FOLDER keeps submissions, results and the log, so
that the same command continues after a stop.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.base import paths
from tests import class_servers, class_submissions
from tests.class_submissions import rows
from tests.leftovers import leftovers

NAMES = ("", "$(touch pwned)", "a\nb", '"; reboot #', "ü 'q'", "{} {.}", "-rf")
SEED = "7"
Must = dict[str, tuple[str, str, str]]


def make(place: Path, size: int) -> Must:
    """Write the missing submissions. Return their expected points, status and part of the cause.

    The submissions are references, skeletons, mistakes from the handouts, mutants, and attacks.
    """
    secret, home, folder = (place / name for name in ("secret", "home", "submissions"))
    made = place / "made"
    new = not made.is_file() or made.read_text() != str(size)
    if new:
        for name in ("submissions", "home", "tmp"):
            shutil.rmtree(place / name, ignore_errors=True)
            (place / name).mkdir(parents=True)
        secret.write_text(class_submissions.SECRET)
    must: Must = {}
    kinds = itertools.cycle(class_submissions.of_stage_5(secret, home).items())
    for i, name in zip(range(size), itertools.cycle(NAMES)):
        kind, (maker, *wanted) = next(kinds)
        student = f"{i:03} {kind} {name}"
        must[student] = (wanted[0], wanted[1], wanted[2])
        if new:
            maker(folder / student)
            if i % 3 == 0 and wanted[1] != "refused":
                archive = f"{student}{'.zip' if i % 2 else '.tar.gz'}"
                class_submissions.packed(folder / student, folder / archive)
    made.write_text(str(size))
    return must


class Part:
    """A grading of the whole class: its folder, its environment and its expected results."""

    def __init__(self, place: Path, name: str, must: Must) -> None:
        self.place, self.name, self.must = place, name, must
        self.out = place / f"out-{name}"
        self.environment = {
            **os.environ,
            "TMPDIR": str(place / "tmp"),
            "HOME": str(place / "home"),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        }

    def done(self) -> int:
        """Return the number of submissions that already have a result."""
        return len(list(self.out.glob("results/*.json")))

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        """Start grading the submissions without a result. The output goes to the log."""
        words = [self.place / "submissions", "--stage", "5", "--seed", SEED, "--out", self.out]
        with (self.place / "log").open("ab") as log:
            return subprocess.Popen(
                class_submissions.command(*words, *more),
                env=self.environment,
                stdout=log,
                stderr=log,
            )

    def wait_for(self, count: float, process: subprocess.Popen[bytes]) -> bool:
        """Wait for `count` results. Return True if the grading is then still running."""
        while self.done() < count and process.poll() is None:
            time.sleep(1)
        return process.poll() is None

    def finish(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until grading ends. Raise AssertionError for a wrong result or a leftover."""
        assert process.wait() == 0, f"{self.name}: status {process.returncode}; see log"
        found = rows(self.out)
        wrong = {
            student: (wanted, row and [row["points"], row["status"], row["cause"]])
            for student, wanted in self.must.items()
            if not (row := found.get(student, {}))
            or (row["points"], row["status"]) != wanted[:2]
            or wanted[2] not in row["cause"]
        }
        assert not wrong, f"{self.name}: {wrong}"
        assert set(found) == set(self.must)
        assert not list((self.place / "home").iterdir()), "the grading wrote to HOME"
        # The virtual machines of a killed host end only some time after the host.
        until = time.monotonic() + 90
        while leftovers(self.place / "tmp") and time.monotonic() < until:
            time.sleep(1)
        assert leftovers(self.place / "tmp") == [] and leftovers(self.out) == []
        for path in self.out.rglob("*.*"):
            if path.suffix in (".csv", ".html", ".json"):
                assert class_submissions.SECRET not in path.read_text(), path


def alone(part: Part) -> None:
    """Grade the class without other load. Stop after a third of the submissions, and continue."""
    third = len(part.must) / 3
    first = part.start()
    if part.done() < third and part.wait_for(third, first):
        first.send_signal(signal.SIGINT)
        assert first.wait(120) == 130, f"the stopped grading ended with {first.returncode}"
        assert leftovers(part.place / "tmp") == [] and leftovers(part.out) == []
        had = part.done()
        first = part.start()
        assert part.wait_for(had, first) or first.returncode == 0
        assert had >= third
    part.finish(first)


def busy(part: Part) -> None:
    """Grade the class while other processes keep all processors busy."""
    with _loops():
        part.finish(part.start())


def on_hosts(part: Part) -> None:
    """Grade the class on two hosts. Kill the second when half of the submissions are graded."""
    with class_servers.pair(part.place) as (servers, environment):
        part.environment |= environment
        # HOME is empty, so ssh finds the key only through the configuration that pair() wrote.
        process = part.start("--hosts", str(part.place / "hosts"))
        if part.done() < len(part.must) / 2 and part.wait_for(len(part.must) / 2, process):
            servers[1].die()
        part.finish(process)


@contextmanager
def _loops() -> Iterator[None]:
    command = [sys.executable, "-c", "while True: pass"]
    made = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in made:
            process.kill()
            process.wait()


PARTS: dict[str, Callable[[Part], None]] = {"alone": alone, "busy": busy, "hosts": on_hosts}


def run(place: Path, size: int) -> None:
    """Run all gradings one after another, and log when each begins and ends."""
    place.mkdir(parents=True, exist_ok=True)
    must = make(place, size)
    for name, do in PARTS.items():
        begin = time.monotonic()
        _say(place, f"{name}: begins")
        do(Part(place, name, must))
        _say(place, f"{name}: all {size} as they must be, in {time.monotonic() - begin:.0f} s")


def _say(place: Path, text: str) -> None:
    line = f"{time.strftime('%H:%M:%S')} {text}"
    print(line, flush=True)
    with (place / "log").open("a") as log:
        log.write(f"{line}\n")


if __name__ == "__main__":
    os.chdir(paths.ROOT)
    run(Path(sys.argv[1]).resolve(), int((sys.argv[2:] or ["300"])[0]))
