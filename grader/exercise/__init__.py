# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""One stage: is it right?"""
