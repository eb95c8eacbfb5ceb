# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""compile_commands.json, for clangd and editors: how kbuild compiles each stage's files."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from grader.base import command, paths
from grader.base.errors import LabError
from grader.lab import machines
from grader.lab.module import Kernel
from grader.stage import build, stages


def commands(built: build.Built, kernel: Kernel) -> list[dict[str, str]]:
    """The entries for one built stage, with the files named where the learner edits them."""
    homes = {"stage": built.stage.directory, "kit": paths.COMMON}
    entries = []
    for record in sorted(built.module.directory.glob("*/.*.o.cmd")):
        home = homes.get(record.parent.name)
        match = re.match(r"(?:saved)?cmd_\S+ := (.*)", record.read_text())
        if home is None or not match:
            continue
        source = record.name[1:].removesuffix(".o.cmd") + ".c"
        call = match[1].split(" ; ")[0]
        # The kit's own are compiled in a directory that all copies of a stage share.
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
    """Build all stages and write the file at the top of the checkout."""
    kernel = machines.get("uml").kernel()
    entries = []
    for stage in stages.find(paths.STAGES, stages.known()):
        built = build.build(stage, kernel)
        if built.ok:
            entries += commands(built, kernel)
    if not entries:
        raise LabError("no stage compiles, so there is nothing to say")
    output = Path(paths.ROOT / "compile_commands.json")
    output.write_text(json.dumps(entries, indent=1) + "\n")
    print(f"{paths.shown(output)}: {len(entries)} files")
    return 0


if __name__ == "__main__":
    sys.exit(command.end("compile_commands", main))
