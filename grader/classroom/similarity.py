# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find similar submissions with copydetect, for a person to look at; no points depend on it.

The skeleton, which all students were given, is excluded. Unpacking and comparing run in the
sandbox, because they read untrusted submissions.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader import sandbox
from grader.base import paths, scratch
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.classroom import packing, unpack
from grader.classroom.submissions import Submission
from grader.course import skeleton
from grader.exercise.files.exercises import Exercise
from grader.sandbox import PROGRAM, SandboxView

SCRIPT = Path(__file__).with_name("similarity_compare.py")
PACKAGES = paths.SCRIPTS / "similarity.txt"
# The smallest percentage of common code that is reported. Some similarity is normal, because short
# functions can be written in few ways.
LEAST = 0.5
# Time limit: a class of 300 submissions has 45,000 pairs, and each comparison takes a millisecond.
LIMITS = replace(PROGRAM, wall_seconds=3600, cpu_seconds=3600, address_bytes=None)


@dataclass(frozen=True)
class SimilarPair:
    """Two students, and the percentage of each student's code that the other's code contains."""

    one: str
    other: str
    of_one: int
    of_other: int


def pairs(found: Sequence[Submission], exercise: Exercise, progress: Progress) -> list[SimilarPair]:
    """Return the similar pairs, the most similar first."""
    python = _python()
    folder = scratch.folder()
    try:
        sources, given = folder / "sources", folder / "given.c"
        sources.mkdir(mode=0o755)
        _write(
            given,
            [
                t
                for name, t in sorted(skeleton.sources(exercise.name).items())
                if name.endswith(".c")
            ],
        )
        for i, submission in enumerate(found):
            progress.step("unpack the submissions to compare", i, len(found))
            texts = _texts(submission, exercise)
            if texts:
                _write(sources / f"{i}.c", texts)
        progress.step("compare the submissions")
        environment = python.parent.parent
        result = sandbox.run(
            [python, "-I", "-B", SCRIPT, sources, given, str(LEAST)],
            LIMITS,
            SandboxView(read=(environment, SCRIPT, sources, given)),
            # matplotlib would otherwise search for fonts and write a cache.
            environment={"MPLCONFIGDIR": "/tmp", "OPENBLAS_NUM_THREADS": "1"},
        )
    finally:
        scratch.remove(folder)
    try:
        rows = json.loads(result.text)
    except ValueError:
        output = result.error_text.strip().splitlines()[-1:]
        raise LabError(
            f"submissions cannot be compared: {result.cause or ' '.join(output)}",
            "omit --similarity",
        ) from None
    made = [SimilarPair(found[int(a)].student, found[int(b)].student, x, y) for a, b, x, y in rows]
    return sorted(made, key=lambda pair: -max(pair.of_one, pair.of_other))


def _python() -> Path:
    """Return the interpreter of an environment with copydetect; create it if it is missing."""
    completed = subprocess.run(
        [str(paths.SCRIPTS / "python.sh"), "-c", "import sys; print(sys.executable)"],
        env={**os.environ, "LAB_PACKAGES": str(PACKAGES)},
        stdout=subprocess.PIPE,
        text=True,
    )
    if completed.returncode:
        raise LabError(
            "the program that compares submissions is missing",
            "follow the message above, or omit --similarity",
        )
    return Path(completed.stdout.strip())


def _texts(submission: Submission, exercise: Exercise) -> list[str]:
    """Return a submission's C files; none if the submission is rejected."""
    folder = scratch.folder()
    try:
        packed = packing.packed(submission.path)
        directory, _ = unpack.directory(packed, exercise, folder)
        files = sorted(directory.glob("*.c"))
        return [path.read_text(encoding="utf-8", errors="replace") for path in files]
    except packing.RejectedSubmission:
        return []
    finally:
        scratch.remove(folder)


def _write(path: Path, texts: Sequence[str]) -> None:
    path.write_text("\n".join(texts), encoding="utf-8")
    path.chmod(0o644)
