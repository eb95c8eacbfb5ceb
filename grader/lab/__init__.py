# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A kernel to load any module into."""
