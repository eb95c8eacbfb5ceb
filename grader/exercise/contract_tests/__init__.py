# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run a stage's objects in a machine and check the rules of stage.h that digits do not show."""
