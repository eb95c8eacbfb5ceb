# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read, build and test one exercise: a stage or the learner's driver."""
