# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What an elective leaves to write: its tasks, the copy in work/, the hints."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

from grader.base import passages, paths, time_limits, toml
from grader.base.errors import LabError

HERE = Path(__file__).parent
WORK = paths.WORK
SOURCES = (".c", ".h", ".S")
# In the environment: a folder that somebody has handed in.
SUBMISSION = "LAB_SUBMISSION"


@dataclass(frozen=True)
class Task:
    """A passage to write, and what it earns."""

    number: int
    name: str
    file: str
    points: int
    hints: tuple[str, ...]


@dataclass(frozen=True)
class Elective:
    """What elective.toml says."""

    name: str
    title: str
    handout: str
    folder: Path  # the kit's sources, of which a copy is made
    tasks: tuple[Task, ...]
    for_a_class: bool = False  # whether a stranger's can be tried away from this computer
    machine: str = ""  # "qemu": in QEMU alone, as a stranger's

    @property
    def work(self) -> Path:
        """The learner's copy, whether it is there or not."""
        return WORK / self.name


@dataclass(frozen=True)
class Tried:
    """What became of a task: done, or what is wrong."""

    task: Task
    wrong: str = ""
    not_built: bool = False  # wrong is what the compiler says

    @property
    def earned(self) -> int:
        """All its points, or none."""
        return 0 if self.wrong else self.task.points


def names() -> list[str]:
    """The electives there are."""
    return sorted(path.parent.name for path in HERE.glob("*/elective.toml"))


def read(name: str) -> Elective:
    """An elective by its name; LabError names those there are."""
    if name not in names():
        raise LabError(f"there is no elective {name}: choose one of {', '.join(names())}")
    said = toml.read(HERE / name / "elective.toml")
    tasks = tuple(
        Task(i + 1, one["name"], one["file"], one["points"], tuple(one["hints"]))
        for i, one in enumerate(said["task"])
    )
    folder = HERE / name / said["folder"]
    return Elective(
        name, said["title"], said["handout"], folder, tasks, said.get("for_a_class", False)
    )


def submission() -> Path | None:
    """A stranger's sources, which are compiled and run in the sandbox, or in QEMU, only."""
    said = os.environ.get(SUBMISSION)
    return Path(said) if said else None


def sources(elective: str, folder: Path) -> Path:
    """A stranger's sources if they are to be tried; else the learner's copy, or the kit's.

    The learner's are taken if there are any, unless ref=1.
    """
    stranger = submission()
    if stranger:
        return stranger
    own = WORK / elective
    return own if own.is_dir() and not os.environ.get("LAB_REF") else folder


def _command(elective: Elective, verb: str) -> str:
    return paths.make(f"elective={elective.name} {verb}")


def start(elective: Elective) -> None:
    """Make the learner's copy, with the tasks left to do; never over one that is there."""
    shown = paths.shown(elective.work)
    if elective.work.exists():
        raise LabError(f"{shown} is there: move it away, then start again")
    elective.work.parent.mkdir(exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{elective.name}.", dir=elective.work.parent))
    try:
        new.chmod(0o755)
        for path in sorted(elective.folder.iterdir()):
            if path.suffix in SOURCES:
                text = path.read_text(encoding="utf-8")
                (new / path.name).write_text(passages.skeleton(text, path.name), encoding="utf-8")
        new.rename(elective.work)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    print(f"{shown} is yours. Tasks:")
    for task in elective.tasks:
        print(f"  {task.number}  {task.name} ({task.file}), {task.points} points")
    print(f"Read {elective.handout}, then try {_command(elective, 'check')}")


def check(elective: Elective, tried: list[Tried]) -> int:
    """Say what each task earns; 0 when all are done."""
    earned = 0
    for one in tried:
        earned += one.earned
        said = f"task {one.task.number}, {one.task.name}: {one.wrong or 'done'}"
        print(f"[{one.earned:3}/{one.task.points:3}] {said}")
    whole = sum(task.points for task in elective.tasks)
    print(f"elective {elective.name}: {earned} of {whole} points")
    undone = next((one.task for one in tried if one.wrong), None)
    if undone:
        place = elective.work if elective.work.is_dir() else elective.folder
        print(
            f"next: task {undone.number}, at {paths.shown(place / undone.file)};"
            f" {_command(elective, 'hint')}"
        )
    return 0 if earned == whole else 1


def judge(elective: Elective, tried: list[Tried], output: Path) -> None:
    """What each task earns, for a program that grades many: as JSON."""
    lines = [
        {"name": one.task.name, "earned": one.earned, "possible": one.task.points,
         "remark": one.wrong or "done", "task": one.task.number}
        for one in tried
    ]  # fmt: skip
    wrong = [one for one in tried if one.wrong]
    status = "build-failed" if any(one.not_built for one in wrong) else "wrong" if wrong else "ok"
    cause = wrong[0].wrong if wrong else ""
    if status == "wrong":
        cause = f"{wrong[0].task.name}: {cause}"
    found = {"status": status, "cause": cause, "lines": lines, "late": time_limits.reached()}
    output.write_text(json.dumps(found))


def hint(elective: Elective, tried: list[Tried]) -> None:
    """The next hint for the first task that is not done; the last is said again and again."""
    undone = next((one for one in tried if one.wrong), None)
    if undone is None:
        print(f"all tasks are done: {_command(elective, 'check')}")
        return
    task = undone.task
    record = paths.BUILD / "electives" / elective.name / f"hints-{task.number}"
    given = int(record.read_text()) if record.is_file() else 0
    i = min(given, len(task.hints) - 1)
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(str(i + 1))
    print(f"task {task.number}, {task.name}: {undone.wrong}")
    print(textwrap.fill(f"hint {i + 1} of {len(task.hints)}: {task.hints[i]}", 100))
