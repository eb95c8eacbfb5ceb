# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run sparse over the fibers module and its variants."""

from __future__ import annotations

from collections.abc import Iterator

from electives.fibers import build
from grader.base import paths
from grader.base.errors import LabError
from grader.lab import machines, module, sparse
from grader.lab.module import Kernel


def complaints() -> Iterator[str]:
    """Yield sparse's findings in the kit's module, even where the learner has a copy."""
    uml, qemu = (machines.get(name).kernel() for name in ("uml", "qemu"))
    # context_um.c and context_x86.c are each compiled only for one of the kernels.
    yield from _variant(uml, "")
    for variant in ("", *build.STANDS_FOR):
        yield from _variant(qemu, variant)


def _variant(kernel: Kernel, variant: str) -> Iterator[str]:
    made = module.build(build.recipe(kernel.arch, {}, variant), kernel)
    if not made.ok:
        raise LabError(
            f"fibers, variant {variant or 'none'}, does not compile: {made.cause}",
            "correct the source",
        )
    shown = paths.shown(build.VARIANTS if variant else build.SOURCES)
    found = sparse.complaints(kernel, made.directory, {"": shown})
    # Skip findings in the kit's files; the call without a variant reports them.
    others = tuple(f"{shown}/{path.name}:" for path in build.SOURCES.iterdir() if variant)
    yield from (line for line in found if not line.startswith(others))
