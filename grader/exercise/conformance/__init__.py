# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check that a loaded stage answers as the ABI says, with the right values."""
