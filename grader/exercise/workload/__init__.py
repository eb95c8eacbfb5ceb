# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Describe to the metrics how a stage's driver is measured."""
