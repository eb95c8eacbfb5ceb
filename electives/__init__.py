# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The electives, one package each. They may use grader.base, sandbox, lab, measure and report."""
