# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Grade a class: many submissions of one exercise, each on its own, and summarize the results."""
