# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure the cost of modules, in time or in instructions, and compare the results."""
