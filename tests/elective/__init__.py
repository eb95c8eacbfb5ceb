# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Provide a minimal elective, two functions in a module. CONTRIBUTING.md says how to copy it."""
