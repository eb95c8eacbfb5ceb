# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check object files by reading every section, every instruction and every address."""
