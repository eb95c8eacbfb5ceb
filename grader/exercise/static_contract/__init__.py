# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What an object file holds: read, not matched; every section, every instruction, every address."""
