# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run a stage's objects in user space and check what no digit shows: see stage.h."""
