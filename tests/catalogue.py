# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read the catalogue of planted faults, tests/faults/, and plant a fault in a copy of the sources.

A file is named after a stage or an elective, and contains a table for each fault:

    name, stages    the fault's name, and the stages in which it is planted; without `stages`, it is
                    planted only in the stage of the file
    file, old, new  the text `old`, which must occur exactly once in `file`, and its replacement. An
                    empty `old` adds a file. From stage 1 on, driver.c means common/driver.c.
    change          further replacements, which are made after the first
    after           the name of a fault that is planted first
    by, code, says  the check that must find the fault, the code of the finding (or a list of
                    possible codes), and a regular expression for its text. `{line}` in it stands
                    for the number of the line that contains the text `at`.

All other keys are options of the checks: see fault_finders.py.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.base import paths, toml  # noqa: E402
from grader.exercise.files import exercises, stages  # noqa: E402
from grader.exercise.files.stages import Stage  # noqa: E402

FOLDER = ROOT / "tests/faults"
# In these electives, a fault may be in a file outside of the folder with the solution.
WHOLE_ELECTIVES = ("memblock",)
DRIVER = "driver.c"
OWN_KEYS = {"name", "stages", "file", "old", "new", "change", "after", "by", "code", "says"}


@dataclass(frozen=True)
class Change:
    """The replacement of one text in one file."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Fault:
    """A planted fault: its changes, the check that must detect it, and the expected message."""

    exercise: str  # the name of the stage's directory or of the elective
    name: str
    changes: tuple[Change, ...]
    by: str
    codes: tuple[str, ...]
    says: str
    stages: tuple[int, ...]  # empty for an elective
    options: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Return the fault's name as used in test IDs."""
        return f"{self.exercise.split('-')[0]}: {self.name}"


def read() -> list[Fault]:
    """Return the faults of the existing exercises, in the order of the exercises."""
    found: list[Fault] = []
    for path in (FOLDER / f"{exercises.find(one).copy_name}.toml" for one in exercises.names()):
        if not path.exists():
            continue
        tables = toml.read(path)["fault"]
        by_name: dict[str, list[Change]] = {}
        for table in tables:
            changes = list(by_name[table["after"]]) if "after" in table else []
            file = table.get("file", "")
            parts = [table, *table.get("change", [])] if file else []
            changes += [Change(part.get("file", file), part["old"], part["new"]) for part in parts]
            by_name.setdefault(table["name"], changes)
            found.append(_fault(path.stem, table, tuple(changes)))
    return found


def _fault(exercise: str, table: dict[str, Any], changes: tuple[Change, ...]) -> Fault:
    code, number = table.get("code", []), stages.number_of(Path(exercise))
    return Fault(
        exercise,
        table["name"],
        changes,
        table.get("by", ""),
        (code,) if isinstance(code, str) else tuple(code),
        table.get("says", ""),
        tuple(table.get("stages", () if number is None else (number,))),
        {key: value for key, value in table.items() if key not in OWN_KEYS},
    )


@cache
def all_faults() -> tuple[Fault, ...]:
    """Return the faults that a check must find. Omit those that only others include."""
    return tuple(fault for fault in read() if fault.by)


def found_by(by: str) -> list[Fault]:
    """Return the faults that the given check must find."""
    return [fault for fault in all_faults() if fault.by == by]


def named(exercise: int | str, name: str, by: str = "") -> Fault:
    """Return the fault with this name in the stage or elective."""
    (fault,) = (
        fault
        for fault in all_faults()
        if fault.name == name
        and exercise in (fault.exercise, *fault.stages[:1])
        and by in ("", fault.by)
    )
    return fault


def shown_in_handouts(number: int) -> dict[str, Fault]:
    """Return the faults that a stage's handout shows, by their names in the handout."""
    own = [fault for fault in all_faults() if fault.stages[:1] == (number,)]
    shown = {fault.name: fault for fault in own if fault.by == "handout"}
    return shown | {fault.options["handout"]: fault for fault in own if "handout" in fault.options}


def directory(fault: Fault, number: int | None = None) -> Path:
    """Return the directory of the sources in which the fault is planted."""
    if not fault.stages:
        elective = exercises.find(fault.exercise)
        return elective.directory if elective.name in WHOLE_ELECTIVES else elective.sources
    return stages.kit(number or fault.stages[0]).directory


def source(fault: Fault, file: str, number: int | None = None) -> str:
    """Return the text of a file without the fault."""
    if file == DRIVER and fault.stages and fault.stages[0]:
        return (paths.COMMON / file).read_text()
    return (directory(fault, number) / file).read_text()


def texts(fault: Fault, number: int | None = None) -> dict[str, str]:
    """Return the faulty files. Raise ValueError unless each replaced text occurs exactly once."""
    found: dict[str, str] = {}
    for change in fault.changes:
        if not change.old:
            found[change.file] = change.new
            continue
        text = found.get(change.file) or source(fault, change.file, number)
        count = text.count(change.old)
        if count != 1:
            raise ValueError(
                f"{fault.exercise}.toml, {fault.name}: the text to replace in {change.file} (stage"
                f" {number}) must occur once, but occurs {count} times: {change.old!r}"
            )
        found[change.file] = text.replace(change.old, change.new)
    return found


def plant(fault: Fault, folder: Path, number: int | None = None) -> Path:
    """Copy the sources into a folder, plant the fault, and return the copy."""
    original = directory(fault, number)
    copy = folder / original.name
    shutil.copytree(original, copy)
    for file, text in texts(fault, number).items():
        (copy / file).write_text(text)
    return copy


def stage(fault: Fault, folder: Path, number: int | None = None) -> Stage:
    """Return a copy of the stage with the fault, which may be in the driver."""
    copy = plant(fault, folder, number)
    made = stages.single(copy, re.sub(r"[^\w-]", "-", f"{copy.name}-{fault.name}"))
    own = bool(made.number) and any(change.file == DRIVER for change in fault.changes)
    return Stage(made.directory, made.manifest, own, made.label)


def expected_text(fault: Fault) -> str:
    """Return the regular expression for the finding's text, which includes the line number."""
    at = fault.options.get("at")
    if not at:
        return fault.says
    lines = [
        str(number)
        for text in texts(fault).values()
        for number, line in enumerate(text.splitlines(), 1)
        if at in line
    ]
    if len(lines) != 1:
        where = f"{fault.exercise}.toml, {fault.name}"
        raise ValueError(f"{where}: one line must contain {at!r}, but {len(lines)} lines do")
    return fault.says.replace("{line}", lines[0])


def main() -> None:
    """Plant the faults that one check must find, each in its own copy of the stage."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("by", help="the check that must find them, as in tests/faults/")
    parser.add_argument("folder", type=Path, help="the output folder: a directory for each fault")
    options = parser.parse_args()
    # Leave out faults in the driver, because the grader ignores a submission's driver.
    own = [f for f in found_by(options.by) if all(c.file != DRIVER for c in f.changes)]
    for fault in own:
        name = re.sub(r"\W+", "-", fault.name)
        copy = plant(fault, options.folder / "copies")
        target = options.folder / f"{fault.stages[0]}-{name}"
        shutil.rmtree(target, ignore_errors=True)
        copy.rename(target)
    shutil.rmtree(options.folder / "copies", ignore_errors=True)


if __name__ == "__main__":
    main()
