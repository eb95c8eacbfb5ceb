# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run machines with a Linux kernel, and build and load kernel modules for them."""
