# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run sparse over the modules of all electives; exit 1 when it has anything to say."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from electives.fibers import parts
from electives.kbench import kernel as kbench
from grader.base import command, paths
from grader.base.errors import LabError
from grader.lab import machines, module, sparse
from grader.lab.module import Kernel


def _fibers(kernel: Kernel, variant: str) -> Iterator[str]:
    """The kit's, also where a learner has a copy."""
    made = module.build(parts.recipe(kernel.arch, {}, variant), kernel)
    if not made.ok:
        raise LabError(f"fibers {variant}: {made.cause}")
    shown = paths.shown(parts.VARIANTS if variant else parts.SOURCES)
    found = sparse.complaints(kernel, made.directory, {"": shown})
    # The other files are the same with a variant as without.
    others = tuple(f"{shown}/{path.name}:" for path in parts.SOURCES.iterdir() if variant)
    yield from (line for line in found if not line.startswith(others))


def _complaints() -> Iterator[str]:
    uml, qemu = (machines.get(name).kernel() for name in ("uml", "qemu"))
    support = kbench.support(uml)
    yield from sparse.complaints(uml, support.directory, {"": paths.shown(kbench.SOURCES)})
    # context_um.c and context_x86.c are each of another kernel.
    yield from _fibers(qemu, "")
    for variant in ("", *parts.STANDS_FOR):
        yield from _fibers(uml, variant)


def main() -> int:
    """Build each, then let kbuild run sparse over the same files."""
    found = list(_complaints())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(command.end("sparse", main))
