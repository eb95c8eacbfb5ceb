# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Print for scripts/doctor.sh whether a sandbox is available on this computer."""

import sys

from grader.sandbox import why_unavailable

if __name__ == "__main__":
    why = why_unavailable()
    print(why or "a command has run in a sandbox")
    sys.exit(1 if why else 0)
