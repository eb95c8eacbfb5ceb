# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stress a stage on the debug kernel."""
