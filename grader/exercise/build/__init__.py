# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build a stage or a learner's driver as a kernel module."""
