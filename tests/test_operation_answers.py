# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that the message about a wrong answer is readable, whatever the answer contains."""

from __future__ import annotations

import pytest

from grader.exercise.operations import unit_tests
from grader.exercise.operations.test_cases import OperationCase


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("ERROR 0", "decimal(0x0, 1): expected 0, got no digit: the return value 0"),
        ("\0", "decimal(0x0, 1): expected 0, got \\x00"),
        ("7", "decimal(0x0, 1): expected 0, got 7"),
        ("0", ""),
    ],
)
def test_digits_that_are_none(answer: str, says: str) -> None:
    tried = OperationCase("decimal 0 1", "0", 1)
    assert unit_tests._fault(tried, "0x", answer) == says
