# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Elective fibers: contexts switched by the program, with a kernel module or with a library."""
