# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The commands that learners use: start, check, hint and the like."""
