# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compute status, points and speedups from findings and samples."""
