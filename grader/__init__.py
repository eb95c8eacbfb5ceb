# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Grade stages: build a stage's module, test and measure it in a machine, and write the report."""
