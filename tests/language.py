# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Detect the language of the handouts, because an exported course may not be in English."""

from __future__ import annotations

import pytest

from grader.base import paths

ENGLISH = "\nlanguage: en" in (paths.ROOT / "handouts/book/book.yaml").read_text()

in_english = pytest.mark.skipif(not ENGLISH, reason="the handouts are in another language")
