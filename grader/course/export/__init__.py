# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Export the course as a repository for students, without solutions."""
