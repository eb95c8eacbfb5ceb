# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What the debug kernel finds when asked: memory that nothing points to any more."""

from __future__ import annotations

from dataclasses import dataclass

from grader.lab import kernel_log, log_diagnostics
from grader.lab.module import Module

KMEMLEAK = "/sys/kernel/debug/kmemleak"
# kmemleak takes no block for lost that is younger, in seconds.
KMEMLEAK_AGE = 5
# Scans once to know what changes, and once when all is old enough; prints the report.
COMMAND = (
    f"echo scan >{KMEMLEAK} && sleep {KMEMLEAK_AGE} && echo scan >{KMEMLEAK} && cat {KMEMLEAK}"
)


@dataclass(frozen=True)
class Leaks:
    """What a scan has found: how many blocks, and in words whose; "" when none."""

    blocks: int
    meaning: str
    report: str


def read(report: str, module: Module) -> Leaks:
    """Understand what COMMAND has printed."""
    meaning = log_diagnostics.leaks(report, kernel_log.log_context(module))
    return Leaks(log_diagnostics.leaked(report), meaning, report)
