# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Beside the grader: what looks at a stage in other ways."""
