# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The process that has started this one."""

from __future__ import annotations

import ctypes
import signal

# Loaded now: between fork and exec, with other threads about, is no time for it.
_LIBC = ctypes.CDLL(None)
# From linux/prctl.h.
_PR_SET_PDEATHSIG = 1


def set_parent_death_signal(number: signal.Signals) -> None:
    """Have this process sent a signal when the thread that started it is no more."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, number)
