# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define how the metrics measure a stage through its driver."""
