# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A class: many submissions of one stage, each graded by itself, and what comes of them all."""
