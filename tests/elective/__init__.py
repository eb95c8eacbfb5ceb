# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The smallest elective, to copy from: two functions in a kernel module. See CONTRIBUTING.md."""
