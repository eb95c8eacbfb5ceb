# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make elective=NAME VERB: the door of all electives.

python -m electives NAME judge FOLDER FILE: a stranger's folder, tried away from this computer, and
what it earns into FILE. start and hint are the same for all; what else an elective can do, and how
its tasks are tried, is said by the module electives.NAME.verbs: VERBS, and tried().
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import replace
from pathlib import Path

from electives import tasks
from grader import sandbox
from grader.base import command, paths
from grader.base.errors import LabError


def main(words: list[str]) -> int:
    """Do what is asked for."""
    if not words or words[0] == "list":
        for name in tasks.names():
            print(f"  {name:12} {tasks.read(name).title}")
        return 0
    elective = tasks.read(words[0])
    verbs = importlib.import_module(f"electives.{elective.name}.verbs")
    known = ["start", "check", "hint", "judge", *verbs.VERBS]
    verb = words[1] if len(words) > 1 else ""
    if verb not in known:
        known.remove("judge")
        raise LabError(
            f"elective {elective.name} has no {verb or 'target without a name'}:"
            f" {paths.make(f'elective={elective.name}')} and one of {', '.join(known)}"
        )
    if verb == "start":
        tasks.start(elective)
    elif verb == "check":
        elective = replace(elective, machine=_machine(words[2:]))
        return tasks.check(elective, verbs.tried(elective))
    elif verb == "judge":
        if not elective.for_a_class or len(words) != 4:
            raise LabError(
                f"elective {elective.name} is not for a class, or FOLDER FILE are missing"
            )
        sandbox.require()
        os.environ[tasks.SUBMISSION] = words[2]
        tasks.judge(elective, verbs.tried(replace(elective, machine="qemu")), Path(words[3]))
    elif verb == "hint":
        tasks.hint(elective, verbs.tried(elective))
    else:
        status: int = verbs.VERBS[verb](words[2:])
        return status
    return 0


def _machine(words: list[str]) -> str:
    if words[:1] == ["--machine"] and len(words) == 2 and words[1] in ("qemu", "uml"):
        return words[1]
    if words:
        raise LabError("check of an elective takes machine=qemu or nothing")
    return ""


if __name__ == "__main__":
    sys.exit(command.end("elective", lambda: main(sys.argv[1:])))
