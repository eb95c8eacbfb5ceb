# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Grade stages: build the module, run it on a machine, measure, judge, write the report."""
