# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The electives: each is a package that uses grader.base, sandbox, lab, measure and report."""
