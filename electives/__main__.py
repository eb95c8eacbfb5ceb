# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make elective=NAME VERB: the door of all electives.

start and hint are the same for all; what else an elective can do, and how its tasks are tried, is
said by the module electives.NAME.verbs: VERBS, and tried().
"""

from __future__ import annotations

import importlib
import sys

from electives import tasks
from grader.base import command
from grader.base.errors import LabError


def main(words: list[str]) -> int:
    """Do what is asked for."""
    if not words or words[0] == "list":
        for name in tasks.names():
            print(f"  {name:12} {tasks.read(name).title}")
        return 0
    elective = tasks.read(words[0])
    verbs = importlib.import_module(f"electives.{elective.name}.verbs")
    known = ["start", "check", "hint", *verbs.VERBS]
    verb = words[1] if len(words) > 1 else ""
    if verb not in known:
        raise LabError(
            f"elective {elective.name} has no {verb or 'target without a name'}:"
            f" make elective={elective.name} and one of {', '.join(known)}"
        )
    if verb == "start":
        tasks.start(elective)
    elif verb == "check":
        return tasks.check(elective, verbs.tried(elective))
    elif verb == "hint":
        tasks.hint(elective, verbs.tried(elective))
    else:
        status: int = verbs.VERBS[verb](words[2:])
        return status
    return 0


if __name__ == "__main__":
    sys.exit(command.end("elective", lambda: main(sys.argv[1:])))
