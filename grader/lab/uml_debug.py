# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define machine uml-debug: the lab kernel with the checkers that a normal kernel lacks.

These are KASAN, kmemleak, lockdep, UBSAN and fault injection; see scripts/kernel/uml-debug.config.
The kernel is built when it is first needed. It is too slow for measurements.
"""

from __future__ import annotations

from grader.lab.uml import Uml

# The metric is empty, because this machine is too slow for measurements.
MACHINE = Uml("uml-debug", "", 768, debug=True)
# This machine is for fault injection. It does not use kmemleak, because kmemleak's own allocations
# would take most of the time.
UNTRACKED = Uml("uml-debug", "", 768, "kmemleak=off", debug=True)
