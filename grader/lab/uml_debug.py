# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Machine uml-debug: the lab kernel with the checkers that a normal one leaves out.

KASAN, kmemleak, lockdep, UBSAN and fault injection; see scripts/kernel/uml-debug.config. Built
only when it is asked for. What it measures is no figure for anything.
"""

from __future__ import annotations

from grader.lab.uml import Uml

# It has no metric: see above.
MACHINE = Uml("uml-debug", "", 768, debug=True)
# For allocations that fail: kmemleak makes one of its own with each, and takes most of the time.
UNTRACKED = Uml("uml-debug", "", 768, "kmemleak=off", debug=True)
