# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""TOML files. Python has a reader of its own from 3.11 on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read(path: Path) -> dict[str, Any]:
    """What the file holds; ValueError where it is no TOML."""
    return tomllib.loads(path.read_text(encoding="utf-8"))
