# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run sparse over the sources of every stage and of the kit; exit 1 if it reports anything."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from grader.base import command, paths
from grader.base.errors import LabError
from grader.exercise.build import stage_module
from grader.exercise.contract_tests import runner
from grader.exercise.files import device, stages
from grader.lab import machines, module, sparse
from grader.lab.module import Kernel


def _complaints(kernel: Kernel) -> Iterator[str]:
    found = stages.find(paths.STAGES)
    for stage in stages.find(paths.STAGES, stages.known()):
        built = stage_module.build(stage, kernel)
        if not built.ok:
            raise LabError(
                f"stage {stage.number} does not compile: {built.cause}", "correct the source"
            )
        homes = {**built.homes, stages.place(stage): stage.directory}
        shown = {folder: paths.shown(home) for folder, home in homes.items()}
        yield from sparse.complaints(kernel, built.module.directory, shown)
    # Check the kit's own code only once, because it is the same for all stages except for a few
    # numbers.
    folder = module.folder_of(stage_module.kit(found[-1].manifest, kernel), kernel)
    shown = {"kit": paths.shown(paths.COMMON)}
    yield from sparse.complaints(kernel, folder, shown, f"{device.NAME}.o")
    shown = {"trial": paths.shown(runner.FILES)}
    yield from sparse.complaints(kernel, runner.kit(kernel).directory, shown)


def main() -> int:
    """Build each module, then let kbuild run sparse over its files. Return 1 on a finding."""
    found = list(_complaints(machines.get("uml").kernel()))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(command.end("sparse", main))
