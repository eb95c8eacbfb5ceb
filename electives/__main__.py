# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make elective=NAME VERB, for the verbs that an elective has of its own, such as run.

VERBS in the module electives.NAME.verbs names them. What all exercises share, such as start, check
and hint, is in grader/course.
"""

from __future__ import annotations

import importlib
import sys

from grader.base import command, toml
from grader.base.errors import LabError
from grader.base.paths import ROOT, make


def titles() -> dict[str, str]:
    """Return the electives there are, and their titles."""
    manifests = sorted((ROOT / "electives").glob("*/exercise.toml"))
    return {path.parent.name: str(toml.read(path)["title"]) for path in manifests}


def main(words: list[str]) -> int:
    """Run a verb of an elective. Return its exit status."""
    known = titles()
    if not words or words[0] == "list":
        for name, title in known.items():
            print(f"  {name:12} {title}")
        return 0
    name, verb = words[0], words[1] if len(words) > 1 else ""
    if name not in known:
        raise LabError(f"there is no elective {name}: choose one of {', '.join(known)}")
    verbs = importlib.import_module(f"electives.{name}.verbs").VERBS
    if verb not in verbs:
        shared = "start, check, hint, watch"
        raise LabError(
            f"elective {name} has no {verb or 'target without a name'}:"
            f" {make(f'elective={name}')} and one of {shared}, {', '.join(verbs)}"
        )
    status: int = verbs[verb](words[2:])
    return status


if __name__ == "__main__":
    sys.exit(command.end("elective", lambda: main(sys.argv[1:])))
