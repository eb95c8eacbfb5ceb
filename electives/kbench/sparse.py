# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run sparse over the kernel module of kbench."""

from __future__ import annotations

from electives.kbench import kernel
from grader.base import paths
from grader.lab import machines, sparse


def complaints() -> list[str]:
    """Return sparse's findings in the kit's module."""
    uml = machines.get("uml").kernel()
    shown = {"": paths.shown(kernel.SOURCES)}
    return list(sparse.complaints(uml, kernel.support(uml).directory, shown))
