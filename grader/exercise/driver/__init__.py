# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stage 0, whose driver the learner writes: how it is built, what it must answer, task by task."""
