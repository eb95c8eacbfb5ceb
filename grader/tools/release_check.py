# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make release-check: list the tasks that may wait until a release.

The command does not repeat the checks of `make test` and `make lint`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from grader.base import command, paths
from grader.base.errors import LabError
from grader.course import translation


def _not_committed() -> Iterator[str]:
    """Yield the files whose current content is not in the last commit."""
    call = ["git", "--no-optional-locks", "-C", str(paths.ROOT), "status", "--porcelain"]
    completed = subprocess.run(call, capture_output=True, text=True)
    if completed.returncode:
        raise LabError(
            f"git status: {completed.stderr.strip() or completed.returncode}",
            "run the command in a git checkout of the kit",
        )
    for line in completed.stdout.splitlines():
        yield f"{line[3:]}: not committed"


def _not_translated() -> Iterator[str]:
    """Yield the paragraphs, and words in pictures, that a translation still shows in English."""
    for language in translation.languages():
        for one in translation.stale(language):
            yield f"{one} ({language})"


def main() -> int:
    """Print everything that is missing; return 1 if there is anything."""
    missing = [*_not_committed(), *_not_translated()]
    for line in missing:
        print(line)
    print(f"release-check: {f'{len(missing)} to do' if missing else 'nothing is missing'}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(command.end("release-check", main))
