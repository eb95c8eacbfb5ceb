# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Print whether a sandbox is available on this computer, for scripts/doctor.sh."""

import sys

from grader.sandbox import why_unavailable

if __name__ == "__main__":
    why = why_unavailable()
    print(why or "a command was run in one")
    sys.exit(1 if why else 0)
