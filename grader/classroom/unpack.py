# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Unpack an archive in the sandbox, and find the directory in it that is to be graded."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from grader import sandbox
from grader.base.errors import LabError
from grader.classroom import unpacker
from grader.classroom.packing import RejectedSubmission
from grader.exercise.files.exercises import Exercise
from grader.sandbox import ARCHIVE, SandboxView

SCRIPT = Path(unpacker.__file__)
# The distribution's Python, because the sandbox does not contain the kit's own environment.
PYTHON = "/usr/bin/python3"


def directory(archive: bytes, exercise: Exercise, folder: Path) -> tuple[Path, list[str]]:
    """Unpack an archive. Return the directory to grade, and messages on files left out.

    The directory is below folder and has the name of a learner's copy.
    """
    packed, content = folder / "submission", folder / "content"
    packed.write_bytes(archive)
    packed.chmod(0o644)
    content.mkdir(mode=0o755)
    result = sandbox.run(
        [PYTHON, "-I", "-S", "-B", SCRIPT, packed, content],
        ARCHIVE,
        SandboxView(read=(SCRIPT, packed), write=(content,)),
        together=True,
    )
    packed.unlink()
    if result.ended_by:
        raise RejectedSubmission(f"unpacking was stopped: {result.cause}", "send a smaller archive")
    try:
        output = json.loads(result.text)
    except ValueError:
        last = (result.text.strip().splitlines() or [f"status {result.status}"])[-1]
        raise LabError(f"the unpacker failed: {last}", "run the command again") from None
    if "refused" in output:
        problem, action = map(str, output["refused"])
        raise RejectedSubmission(problem, action)
    target = folder / exercise.copy_name
    _locate(content, exercise).rename(target)
    shutil.rmtree(content, ignore_errors=True)
    return target, [str(one) for one in output["left"]]


def _locate(content: Path, exercise: Exercise) -> Path:
    """Return the directory to grade: by its name, or the only directory with a suitable file."""
    homes = sorted({path.parent for path in content.rglob("*.c")})
    if not homes:
        raise RejectedSubmission("the submission holds no C file", "send the C files")
    if exercise.stage is None:
        return _of_elective(content, homes, exercise)
    number = exercise.stage.number
    numbered = {home: _number(home.name) for home in homes if home != content}
    named = [home for home in homes if numbered.get(home) == number]
    best = _best(content, named, f"stage {number}")
    if best:
        return best
    others = sorted({n for n in numbered.values() if n is not None})
    plain = [
        home
        for home in homes
        if numbered.get(home) is None and any((home / name).is_file() for name in exercise.files)
    ]
    if len(plain) == 1 and not others:
        return plain[0]
    there = f", only {', '.join(map(str, others))}" if others else ""
    raise RejectedSubmission(
        f"the submission holds no stage {number}{there}", f"name its directory {number}-..."
    )


def _of_elective(content: Path, homes: list[Path], exercise: Exercise) -> Path:
    name = exercise.name
    having = [home for home in homes if any((home / file).is_file() for file in exercise.files)]
    best = _best(content, [home for home in having if home.name == name and home != content], name)
    best = best or _best(content, having, name)
    if best:
        return best
    raise RejectedSubmission(
        f"the submission holds no {' or '.join(exercise.files)}", f"send work/{name}"
    )


def _best(content: Path, named: list[Path], exercise: str) -> Path | None:
    """Return the directory to grade among those with the expected name, or None."""
    # A clone of the course contains several candidates: the solution in work/, skeletons in stages/
    # and electives/, and old copies in work/old/.
    for rank in (0, 1, 2):
        best = [home for home in named if _rank(home.relative_to(content)) == rank]
        if len(best) == 1:
            return best[0]
        if best:
            shown = ", ".join(str(home.relative_to(content)) for home in best[:3])
            raise RejectedSubmission(
                f"the submission holds {exercise} {len(best)} times ({shown})", "send one of them"
            )
    return None


def _number(name: str) -> int | None:
    match = re.match(r"0*(\d{1,3})(?:-|$)", name)
    return int(match[1]) if match else None


def _rank(home: Path) -> int:
    above = home.parts[:-1]
    if "old" in above or "tests" in above:
        return 3
    if above[-1:] == ("work",):
        return 0
    return 2 if above[-1:] == ("stages",) or "electives" in above else 1
