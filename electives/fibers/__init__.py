# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Elective fibers: user-controlled execution contexts, by a kernel module or a library."""
