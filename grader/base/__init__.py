# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The base layer, which every other layer uses: errors, paths, progress, scratch folders."""
