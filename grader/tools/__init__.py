# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tools besides the grader that examine stages or the kit: profiles, comparisons, checks."""
