# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Choose whose sources of an elective are used: a submission's, the learner's or the kit's."""

from __future__ import annotations

import os
from pathlib import Path

from grader.base import paths

WORK = paths.WORK


def submission() -> Path | None:
    """Return the folder of an untrusted submission, if one is judged.

    Its files may be compiled and run in the sandbox or in QEMU only.
    """
    given = os.environ.get(paths.SUBMISSION)
    return Path(given) if given else None


def folder(elective: str, kit: Path) -> Path:
    """Return the folder of sources to use; kit: the kit's own.

    That is a submission, else the learner's copy if there is one and LAB_REF is not set.
    """
    given = submission()
    if given:
        return given
    own = WORK / elective
    return own if own.is_dir() and not os.environ.get("LAB_REF") else kit
