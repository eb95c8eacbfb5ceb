# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run the scripts that install packages and build kernels. End them properly if a signal comes."""

from __future__ import annotations

import subprocess

from grader.base import paths
from grader.base.errors import LabError

# The time in which a script that is asked to end stops its compilers and removes unfinished files,
# in seconds.
CLEAN_UP = 30.0


def run(missing: str, name: str, *arguments: str) -> str:
    """Run a script of scripts/ and return its output. Raise LabError if it fails.

    missing: what is not available if the script fails.
    """
    command = [str(paths.SCRIPTS / name), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as script:
        try:
            output, _ = script.communicate()
        except BaseException:
            # subprocess.run() would kill the script, whose compilers would go on.
            script.terminate()
            try:
                script.wait(CLEAN_UP)
            except subprocess.TimeoutExpired:
                script.kill()
            raise
    if script.returncode:
        raise LabError(missing, "follow the message above")
    return output.strip()
