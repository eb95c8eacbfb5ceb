# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What every floor uses: errors, paths, progress, scratch."""
