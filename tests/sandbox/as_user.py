# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run one command in the sandbox of a copied kit: as_user.py KIT REQUEST ANSWER.

REQUEST and ANSWER are pickle files. The tests start this program to use the sandbox as another user
or on a terminal, or to kill the process that uses it.
"""

import pickle
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    from grader import sandbox
    from grader.base import scratch

    scratch.heed_signals()
    command, limits, view, more = pickle.loads(Path(sys.argv[2]).read_bytes())
    ended = sandbox.run(command, limits, view, **more)
    Path(sys.argv[3]).write_bytes(pickle.dumps(ended))
