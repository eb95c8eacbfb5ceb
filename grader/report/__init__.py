# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The report: a function of one report.json, drawn on the terminal, in HTML and as pictures."""

from grader.report.report_file import prepare, write
from grader.report.schema import Report, ReportError, validate
from grader.report.terminal import summary

__all__ = ["Report", "ReportError", "prepare", "summary", "validate", "write"]
