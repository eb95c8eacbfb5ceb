# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check that a loaded stage follows the ABI and returns the right values."""
