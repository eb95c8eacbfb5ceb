# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""make debug: a stage on the debug lab kernel, under all the strain there is."""
