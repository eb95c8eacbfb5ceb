# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test a stage's operations one by one in a program, to judge the tasks."""
