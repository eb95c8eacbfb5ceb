# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What every layer uses: errors, paths, progress, scratch."""
