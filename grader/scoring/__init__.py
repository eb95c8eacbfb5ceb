# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""From what was found and measured to status, points and speedups."""
