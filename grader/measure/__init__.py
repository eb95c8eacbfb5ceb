# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How long does it take?"""
