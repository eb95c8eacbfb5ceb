# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write compile_commands.json, which tells clangd and editors how each file is compiled."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

from grader.base import command, paths
from grader.base.errors import LabError
from grader.exercise.build import preprocess, stage_module
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.lab import machines
from grader.lab.module import Kernel


def stage_commands(stage: Stage) -> list[dict[str, str]]:
    """Return the entries of a stage's own files, which include no kernel header."""
    return [
        {
            "directory": str(paths.COMMON.parent),
            "file": str(path),
            "command": shlex.join(["gcc", *preprocess.options(stage, path.name), "-c", str(path)]),
        }
        for path in stage_module.sources(stage, [])
        if path.suffix == ".c"
    ]


def commands(built: stage_module.BuiltStage, kernel: Kernel) -> list[dict[str, str]]:
    """Return the entries of the files that kbuild compiles, under the paths that users edit."""
    entries = []
    for record in sorted(built.module.directory.glob("*/.*.o.cmd")):
        home = built.homes.get(record.parent.name)
        match = re.match(r"(?:saved)?cmd_\S+ := (.*)", record.read_text())
        if home is None or not match:
            continue
        source = record.name[1:].removesuffix(".o.cmd") + ".c"
        call = match[1].split(" ; ")[0]
        # The kit's own files are compiled in a directory that all copies of a stage share.
        copy = re.search(rf"\S+/{record.parent.name}/{re.escape(source)}(?=\s|$)", call)
        if not copy:
            continue
        entries.append(
            {
                "directory": str(kernel.tree),
                "file": str(home / source),
                "command": call.replace(copy[0], str(home / source)),
            }
        )
    return entries


def main() -> int:
    """Build all stages and write the file to the top of the checkout."""
    kernel = machines.get("uml").kernel()
    entries = []
    for stage in stages.find(paths.STAGES, stages.known()):
        built = stage_module.build(stage, kernel)
        if built.ok:
            entries += commands(built, kernel)
        if "stage" not in built.homes:  # kbuild compiles the stage's preprocessed text
            entries += stage_commands(stage)
    if not entries:
        raise LabError("no stage compiles, so there is nothing to write", "correct the sources")
    output = Path(paths.ROOT / "compile_commands.json")
    output.write_text(json.dumps(entries, indent=1) + "\n")
    print(f"{paths.shown(output)}: {len(entries)} files")
    return 0


if __name__ == "__main__":
    sys.exit(command.end("compile_commands", main))
