# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build one stage and verify that it is right."""
