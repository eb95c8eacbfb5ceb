# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Repeat in a program a failure that fault injection caused in a machine.

The log of the machine shows which allocation or yield failed, but not which function requested the
allocation or yield. A program under AddressSanitizer also prints the call stack.
"""

from __future__ import annotations

from dataclasses import replace

from grader.base.finding import Finding
from grader.exercise.files.stages import Stage
from grader.exercise.operations import sanitizer_report, test_program
from grader.exercise.operations.test_program import NoTestProgramError


def explained(stage: Stage, finding: Finding) -> Finding:
    """Return a finding whose cause names the injected fault and the command that repeats it."""
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
    message = f"{begin}, {ended or fault.then}; {command} repeats it"
    return replace(finding, cause=message, repeat=command)
