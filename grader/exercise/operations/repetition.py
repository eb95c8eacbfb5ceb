# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Repeat in a program what went wrong in a machine when a call was made to fail.

The machine knows which allocation or yield failed, and at best where it ended. A program under
AddressSanitizer also knows who had asked for what failed, and who called whom.
"""

from __future__ import annotations

from dataclasses import replace

from grader.base.finding import Finding
from grader.exercise.files.stages import Stage
from grader.exercise.operations import sanitizer_report, test_program
from grader.exercise.operations.test_program import NoTestProgramError


def explained(stage: Stage, finding: Finding) -> Finding:
    """Return a finding whose cause says what was made to go wrong, and how to repeat that."""
    fault = finding.fault
    if fault is None:
        return finding
    try:
        program = test_program.program(stage)
    except NoTestProgramError:
        return finding
    asked, ended = test_program.repeat(program, fault, stage.isolated)
    begin = sanitizer_report.when(fault, asked)
    command = sanitizer_report.command(stage.number, fault)
    said = f"{begin}, {ended or fault.then}; {command} repeats it"
    return replace(finding, cause=said, repeat=command)
