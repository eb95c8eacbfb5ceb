# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Bring a learner's files to a newer version of an exercise."""

from __future__ import annotations

import re
from collections.abc import Mapping


def renamed(content: bytes, renames: Mapping[str, str]) -> bytes:
    """Return a file's content with identifiers renamed, old to new, wherever they are words.

    Later renames apply to what earlier ones have made. Other bytes stay as they are.
    """
    for old, new in renames.items():
        content = re.sub(rb"\b" + re.escape(old.encode()) + rb"\b", new.encode(), content)
    return content
