# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The drawn pictures of the handouts; python -m handouts.pictures draws all of them."""
