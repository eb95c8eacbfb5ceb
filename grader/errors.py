# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How things go wrong."""

from __future__ import annotations


class LabError(Exception):
    """The run itself cannot be done. The text is one line that says what to do; exit 2."""


class MachineError(Exception):
    """The machine did not do what was asked of it."""


class MachineDied(MachineError):
    """The machine ended: a panic, most often."""


class MachineTimeout(MachineError):
    """No answer in time: something inside hangs or loops."""
