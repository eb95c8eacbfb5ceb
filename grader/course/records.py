# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What is remembered of a learner's work: points, hints given, seeds that have found something."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from pathlib import Path
from typing import Any

from grader.base import paths
from grader.course.check import Result
from grader.verdict.points import Line


def _folder() -> Path:
    """Of copies to try things out in, beside them: what is known of the others stays as it is."""
    if paths.WORK != paths.ROOT / "work":
        return paths.WORK / ".course"
    return paths.BUILD / "course"


def _fingerprint(directory: Path) -> str:
    content = [(p.name, p.read_bytes()) for p in sorted(directory.iterdir()) if p.is_file()]
    return hashlib.sha256(repr(content).encode()).hexdigest()


def record(result: Result, directory: Path) -> None:
    """Keep the points for status and hint."""
    _folder().mkdir(parents=True, exist_ok=True)
    row = dataclasses.asdict(result) | {
        "fingerprint": _fingerprint(directory),
        "when": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    (_folder() / f"{result.stage}.json").write_text(json.dumps(row, indent=1))


def forget(number: int) -> None:
    """Forget the points of a stage that is begun anew, and the seed it failed with."""
    (_folder() / f"{number}.json").unlink(missing_ok=True)
    kept = _failed()
    if kept.pop(str(number), None) is not None:
        (_folder() / "seeds.json").write_text(json.dumps(kept))


def recorded(number: int) -> tuple[Result, bool] | None:
    """The last points of a stage, and whether the sources are the same still."""
    try:
        row: dict[str, Any] = json.loads((_folder() / f"{number}.json").read_text())
        result = Result(number, row["directory"], tuple(Line(**line) for line in row["lines"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    directory = paths.ROOT / result.directory
    fresh = directory.is_dir() and _fingerprint(directory) == row.get("fingerprint")
    return result, fresh


def _failed() -> dict[str, int]:
    try:
        found: dict[str, int] = json.loads((_folder() / "seeds.json").read_text())
    except (OSError, ValueError):
        return {}
    return found


def failed_seed(number: int) -> int | None:
    """The seed that a stage has failed with and not passed with since."""
    return _failed().get(str(number))


def settle(number: int, seed: int, passed: bool) -> None:
    """Keep the seed of a failure, so that the same is asked again; forget it once that passes."""
    kept = _failed()
    if passed and kept.get(str(number)) != seed:
        return
    kept[str(number)] = seed
    if passed:
        del kept[str(number)]
    _folder().mkdir(parents=True, exist_ok=True)
    (_folder() / "seeds.json").write_text(json.dumps(kept))


def next_hint(stage: int, task: int, last: int) -> int:
    """Which hint of a task is next, from 0, and that it is given now; the last one stays."""
    path = _folder() / "hints.json"
    try:
        given: dict[str, int] = json.loads(path.read_text())
    except (OSError, ValueError):
        given = {}
    key = f"{stage}.{task}"
    i = min(given.get(key, 0), last)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(given | {key: i + 1}))
    return i
