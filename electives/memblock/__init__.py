# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Elective memblock: change the kernel's memblock_add_range(), test it and measure it."""
