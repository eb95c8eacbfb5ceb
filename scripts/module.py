# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""module.py NAME ARGUMENT...: run a module of the kit, like python -m at the kit's top.

python -m would first search the current directory, which may be a submission to grade.
"""

import runpy
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
