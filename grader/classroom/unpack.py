# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Out of an archive the directory of one stage: unpacked in the sandbox, then looked for."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from grader import sandbox
from grader.base.errors import LabError
from grader.classroom import unpacker
from grader.classroom.packing import Refused
from grader.sandbox import ARCHIVE, Room

SCRIPT = Path(unpacker.__file__)
# The distribution's own, which the sandbox sees.
PYTHON = "/usr/bin/python3"


def stage_directory(archive: bytes, number: int, name: str, folder: Path) -> tuple[Path, list[str]]:
    """Unpack into folder; its directory of that stage, named as the kit's, and what is left out."""
    packed, content = folder / "submission", folder / "content"
    packed.write_bytes(archive)
    packed.chmod(0o644)
    content.mkdir(mode=0o755)
    ended = sandbox.run(
        [PYTHON, "-I", "-S", "-B", SCRIPT, packed, content],
        ARCHIVE,
        Room(read=(SCRIPT, packed), write=(content,)),
        together=True,
    )
    packed.unlink()
    if ended.ended_by:
        raise Refused(f"unpacking was stopped: {ended.cause}")
    try:
        said = json.loads(ended.text)
    except ValueError:
        last = (ended.text.strip().splitlines() or [f"status {ended.status}"])[-1]
        raise LabError(f"the unpacker failed: {last}") from None
    if "refused" in said:
        raise Refused(str(said["refused"]))
    target = folder / name
    _locate(content, number).rename(target)
    shutil.rmtree(content, ignore_errors=True)
    return target, [str(one) for one in said["left"]]


def _locate(content: Path, number: int) -> Path:
    """The one directory that is the stage's, by its name or as the only one with a fib.c."""
    homes = sorted({path.parent for path in content.rglob("*.c")})
    if not homes:
        raise Refused("it holds no C file")
    numbered = {home: _number(home.name) for home in homes if home != content}
    named = [home for home in homes if numbered.get(home) == number]
    # In a clone of the course stages/ holds the skeletons, work/old what was put aside.
    for rank in (0, 1, 2):
        best = [home for home in named if _rank(home.relative_to(content)) == rank]
        if len(best) == 1:
            return best[0]
        if best:
            shown = ", ".join(str(home.relative_to(content)) for home in best[:3])
            raise Refused(f"it holds stage {number} {len(best)} times ({shown}): leave one")
    others = sorted({n for n in numbered.values() if n is not None})
    plain = [home for home in homes if numbered.get(home) is None and (home / "fib.c").is_file()]
    if len(plain) == 1 and not others:
        return plain[0]
    there = f"; there are {', '.join(map(str, others))}" if others else ""
    raise Refused(f"it holds no stage {number}{there}: name its directory {number}-...")


def _number(name: str) -> int | None:
    match = re.match(r"0*(\d{1,3})(?:-|$)", name)
    return int(match[1]) if match else None


def _rank(home: Path) -> int:
    above = home.parts[:-1]
    if "old" in above or "tests" in above:
        return 3
    if above[-1:] == ("work",):
        return 0
    return 2 if above[-1:] == ("stages",) else 1
