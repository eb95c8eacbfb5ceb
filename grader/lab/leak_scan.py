# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Scan the memory of a debug kernel for leaks with kmemleak."""

from __future__ import annotations

from dataclasses import dataclass

from grader.lab import kernel_log, log_diagnostics
from grader.lab.module import Module

KMEMLEAK = "/sys/kernel/debug/kmemleak"
# Seconds: kmemleak reports no block that is younger.
KMEMLEAK_AGE = 5
# The first scan finds the candidates; the second scan, when all are old enough, reports leaks.
COMMAND = (
    f"echo scan >{KMEMLEAK} && sleep {KMEMLEAK_AGE} && echo scan >{KMEMLEAK} && cat {KMEMLEAK}"
)


@dataclass(frozen=True)
class Leaks:
    """The result of a scan: the number of leaked blocks and an explanation ("" if none)."""

    blocks: int
    meaning: str
    report: str


def read(report: str, module: Module) -> Leaks:
    """Parse the output of COMMAND."""
    meaning = log_diagnostics.leaks(report, kernel_log.log_context(module))
    return Leaks(log_diagnostics.leaked(report), meaning, report)
