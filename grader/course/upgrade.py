# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Convert a learner's files to a newer version of an exercise."""

from __future__ import annotations

import re
from collections.abc import Mapping


def renamed(content: bytes, renames: Mapping[str, str]) -> bytes:
    """Return a file's content with whole-word identifiers renamed, old to new.

    Later renames also apply to the results of earlier ones. Other bytes do not change.
    """
    for old, new in renames.items():
        content = re.sub(rb"\b" + re.escape(old.encode()) + rb"\b", new.encode(), content)
    return content
