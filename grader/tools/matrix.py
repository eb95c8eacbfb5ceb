# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make matrix: combine several reports into one table with a column for each kernel."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from grader.base import command


def _column(folder: Path) -> tuple[str, str, dict[str, str]]:
    """Return a kernel's name, why its report is missing, and the status of each stage."""
    name = (folder / "name").read_text().strip()
    try:
        report: dict[str, Any] = json.loads((folder / "report" / "report.json").read_text())
    except (OSError, ValueError):
        output_lines = (folder / "err").read_text(errors="replace").strip().splitlines()
        return name, output_lines[-1] if output_lines else "it printed nothing", {}
    found = {f"{stage['number']} {stage['name']}": stage["status"] for stage in report["stages"]}
    return f"{name} ({report['machines'][0]['kernel']})", "", found


def table(columns: list[tuple[str, str, dict[str, str]]]) -> str:
    """Return the table: kernels by number in columns, stages in rows."""
    lines = [
        f"{i}  {name}{f': {why}' if why else ''}" for i, (name, why, _) in enumerate(columns, 1)
    ]
    names = list(dict.fromkeys(name for _, _, found in columns for name in found))
    wide = max([len(name) for name in names], default=0)
    width = max([len(s) for _, _, found in columns for s in found.values()], default=2) + 2
    lines += ["", " " * wide + "".join(f"{i:>{width}}" for i in range(1, len(columns) + 1))]
    for name in names:
        cells = "".join(f"{found.get(name, '-'):>{width}}" for _, _, found in columns)
        lines.append(f"{name:{wide}}{cells}")
    return "\n".join(lines)


def main(folder: Path) -> int:
    """Print the table and write it to matrix.txt; return 1 if a stage fails on a kernel."""
    places = sorted(folder.glob("[0-9]*"), key=lambda path: int(path.name))
    columns = [_column(place) for place in places]
    text = table(columns)
    (folder / "matrix.txt").write_text(f"{text}\n")
    print(text)
    right = all(found and set(found.values()) == {"ok"} for _, _, found in columns)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(command.end("matrix", lambda: main(Path(sys.argv[1]))))
