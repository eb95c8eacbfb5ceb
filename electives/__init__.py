# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The electives: each a package on grader.base, sandbox, lab, metrics and report."""
