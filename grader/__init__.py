# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The grader: stage sources -> module -> machine -> samples -> verdicts -> report."""
