# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Provide a minimal elective with two functions. CONTRIBUTING.md describes how to copy it."""
