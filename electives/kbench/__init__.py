# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Elective kbench: measure any function, C or LLVM IR, inside a kernel."""
