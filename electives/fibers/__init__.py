# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Elective: fibers, by a module, and by a library without one."""
