# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read the description of a stage: its manifest, traits, tasks, device and expected values."""
