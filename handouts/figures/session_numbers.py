# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Update the instruction counts in the handouts' console sessions that show compare's output.

Each command in such a session is run again. Times are not updated, because they belong to the
computer that the text names.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from grader.base import command, paths
from grader.base.errors import LabError

COMMAND = re.compile(r"\$ ((?:handouts/experiments/try|grader/compare)\.sh .*)")
SHOWN = "; instructions: "


def piece(phase: str) -> re.Pattern[str]:
    """Return a pattern for the result of a phase: "~", or a change at some n."""
    return re.compile(rf"\b{phase} (~|[^,;~]+ at n = \d[\d,]*\d)")


def answer(words: list[str]) -> str:
    """Return the instruction counts that a command prints."""
    completed = subprocess.run(words, cwd=paths.ROOT, capture_output=True, text=True)
    found = re.search(rf"{SHOWN}(.*?)(;|$)", completed.stdout, re.MULTILINE)
    if completed.returncode or not found:
        last = (completed.stderr.strip().splitlines() or ["it printed no instruction counts"])[-1]
        raise LabError(f"{shlex.join(words)}: {last}", "run it by hand")
    return found[1]


def renewed(line: str, said: str) -> str:
    """Return a line of a session with the new results of the phases that it shows."""
    for phase in ("compute", "decimal"):
        new = piece(phase).search(said)
        if new:
            line = new[0].join(piece(phase).split(line, maxsplit=1)[:: piece(phase).groups + 1])
    return line


def renew(path: Path) -> None:
    """Run the commands in a file, and replace their printed results."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for i, (line, shown) in enumerate(zip(lines, lines[1:])):
        asked = COMMAND.match(line)
        if asked and SHOWN in shown and f"{SHOWN}~" not in shown:
            lines[i + 1] = renewed(shown, answer(shlex.split(asked[1])))
            if lines[i + 1] != shown:
                print(f"{paths.shown(path)}: {lines[i + 1]}", end="", flush=True)
    path.write_text("".join(lines), encoding="utf-8")


def main() -> int:
    """Update the files that contain such sessions."""
    for path in ("handouts/measuring.md", "handouts/experiments/README.md"):
        renew(paths.ROOT / path)
    return 0


if __name__ == "__main__":
    sys.exit(command.end("session_numbers", main))
