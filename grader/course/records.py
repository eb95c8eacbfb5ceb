# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Store a learner's records: points, hints shown, and seeds of failures."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from pathlib import Path
from typing import Any

from grader.base import paths
from grader.course.check import CheckResult
from grader.exercise.files import exercises
from grader.scoring.points import Line


def _folder() -> Path:
    """Return the folder of the records.

    Another work directory has its own folder of records, so that experiments there do not change
    the learner's records.
    """
    if paths.WORK != paths.ROOT / "work":
        return paths.WORK / ".course"
    return paths.BUILD / "course"


def _fingerprint(name: str, directory: Path) -> str:
    """Return a digest of the sources and of the exercise's current tasks."""
    rules = exercises.find(name).directory / "tasks.toml"
    files = [rules, *sorted(directory.iterdir())]
    content = [(p.name, p.read_bytes()) for p in files if p.is_file()]
    return hashlib.sha256(repr(content).encode()).hexdigest()


def record(result: CheckResult, directory: Path) -> None:
    """Store the points for status and hint."""
    _folder().mkdir(parents=True, exist_ok=True)
    row = dataclasses.asdict(result) | {
        "fingerprint": _fingerprint(result.exercise, directory),
        "when": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    (_folder() / f"{result.exercise}.json").write_text(json.dumps(row, indent=1))


def begin(name: str, directory: Path) -> None:
    """Store that a copy is new. Delete the exercise's points and the seed of its last failure."""
    (_folder() / f"{name}.json").unlink(missing_ok=True)
    kept = _failed()
    if kept.pop(name, None) is not None:
        (_folder() / "seeds.json").write_text(json.dumps(kept))
    _folder().mkdir(parents=True, exist_ok=True)
    new = _read("new.json") | {name: _fingerprint(name, directory)}
    (_folder() / "new.json").write_text(json.dumps(new))


def is_new(name: str, directory: Path) -> bool:
    """Return whether a copy is unchanged since it was started."""
    return _read("new.json").get(name) == _fingerprint(name, directory)


def recorded(name: str) -> tuple[CheckResult, bool] | None:
    """Return an exercise's last points, and whether its sources and tasks are still the same."""
    try:
        row: dict[str, Any] = json.loads((_folder() / f"{name}.json").read_text())
        result = CheckResult(name, row["directory"], tuple(Line(**line) for line in row["lines"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    directory = paths.ROOT / result.directory
    fresh = directory.is_dir() and _fingerprint(name, directory) == row.get("fingerprint")
    return result, fresh


def is_right(name: str) -> bool:
    """Return whether the last check gave an exercise all points, and nothing has changed since."""
    found = recorded(name)
    return found is not None and found[1] and found[0].earned == 100


def _failed() -> dict[str, int]:
    try:
        found: dict[str, int] = json.loads((_folder() / "seeds.json").read_text())
    except (OSError, ValueError):
        return {}
    return found


def failed_seed(name: str) -> int | None:
    """Return the seed of an exercise's last failure; None if it has passed since."""
    return _failed().get(name)


def settle(name: str, seed: int, passed: bool) -> None:
    """Store the seed of a failure, so that the next check uses it; delete it after a pass.

    A failure also deletes the outcome that note_outcome() stored.
    """
    if not passed:
        _store_outcome(name, "", "")
    kept = _failed()
    if passed and kept.get(name) != seed:
        return
    kept[name] = seed
    if passed:
        del kept[name]
    _folder().mkdir(parents=True, exist_ok=True)
    (_folder() / "seeds.json").write_text(json.dumps(kept))


def _read(file: str) -> dict[str, str]:
    """Return the texts about exercises in one of the files, or {} if it cannot be read."""
    try:
        found: dict[str, str] = json.loads((_folder() / file).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def outcome_before(name: str, digest: str) -> str | None:
    """Return the outcome of an exercise's last test if its dependencies had this digest."""
    kept, _, outcome = _read("outcomes.json").get(name, "").partition(" ")
    return outcome if kept == digest else None


def note_outcome(name: str, seed: int, digest: str, outcome: str) -> None:
    """Store what is wrong with an exercise, with a digest of its dependencies; "" if it passed.

    If the exercise has failed with another seed, it must first pass with that seed.
    """
    if outcome:
        settle(name, seed, False)
    elif failed_seed(name) not in (None, seed):
        digest = ""
    _store_outcome(name, digest, outcome)


def _store_outcome(name: str, digest: str, outcome: str) -> None:
    kept = _read("outcomes.json")
    kept.pop(name, None)
    if digest:
        kept[name] = f"{digest} {outcome}"
    _folder().mkdir(parents=True, exist_ok=True)
    (_folder() / "outcomes.json").write_text(json.dumps(kept))


def next_hint(name: str, task: int, last: int, function: str = "") -> int:
    """Return the index of a task's next hint, from 0, and record it as shown.

    last: the index of the last hint, which is returned again when all hints were shown. function:
    the wrong function, if it has a hint; the hints of each function are counted separately.
    """
    path = _folder() / "hints.json"
    try:
        given: dict[str, int] = json.loads(path.read_text())
    except (OSError, ValueError):
        given = {}
    key = f"{name}.{task}{f'.{function}' if function else ''}"
    i = min(given.get(key, 0), last)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(given | {key: i + 1}))
    return i
