# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run `make elective=NAME VERB` for a command that belongs to one elective, such as run.

The commands are listed in VERBS of the module that the manifest names as judge; an elective may
have no commands of its own. Commands of all exercises, such as start, check and hint, are in
grader/course.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from grader.base import command, toml
from grader.base.errors import LabError
from grader.base.paths import ROOT

# Commands of all exercises, which the error message lists as well.
SHARED = ("start", "check", "hint", "watch")


def manifests() -> dict[str, dict[str, Any]]:
    """Return the manifests of the electives, by name."""
    paths = sorted((ROOT / "electives").glob("*/exercise.toml"))
    return {path.parent.name: toml.read(path) for path in paths}


def main(words: list[str]) -> int:
    """Run a command of an elective. Return its exit status."""
    known = manifests()
    if not words or words[0] == "list":
        for name, manifest in known.items():
            print(f"  {name:12} {manifest['title']}")
        return 0
    name, verb = words[0], words[1] if len(words) > 1 else ""
    if name not in known:
        raise LabError(f"there is no elective {name}", f"choose one of {', '.join(known)}")
    verbs = getattr(importlib.import_module(str(known[name]["judge"])), "VERBS", {})
    if verb not in verbs:
        raise LabError(
            f"elective {name} has no {verb or 'target without a name'}",
            f"choose one of {', '.join([*SHARED, *verbs])}",
        )
    status: int = verbs[verb](words[2:])
    return status


if __name__ == "__main__":
    sys.exit(command.end("elective", lambda: main(sys.argv[1:])))
