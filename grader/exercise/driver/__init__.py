# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test stage 0, whose driver the learner writes, task by task."""
