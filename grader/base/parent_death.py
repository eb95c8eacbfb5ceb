# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""End a process by a signal when its parent ends."""

from __future__ import annotations

import ctypes
import signal

# Loaded at import, because loading between fork and exec is unsafe if other threads run.
_LIBC = ctypes.CDLL(None)
# From linux/prctl.h.
_PR_SET_PDEATHSIG = 1


def set_parent_death_signal(number: signal.Signals) -> None:
    """Have the kernel send this process a signal when the thread that started it ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, number)
