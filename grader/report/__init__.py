# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Show a report.json on the terminal, as an HTML page and as pictures."""

from grader.report.report_file import prepare, write
from grader.report.schema import Report, ReportError, validate
from grader.report.terminal import summary

__all__ = ["Report", "ReportError", "prepare", "summary", "validate", "write"]
