# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read TOML files, also on Python before 3.11, which has no tomllib."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; raise ValueError if it is not valid TOML."""
    return tomllib.loads(path.read_text(encoding="utf-8"))
