# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test which line of a compiler's output is reported."""

from __future__ import annotations

import pytest

from grader.exercise.build import diagnostics

SAID = {
    "compiler": (
        "bignum.c: In function 'f':\nbignum.c:3:5: warning: no error\n"
        "bignum.c:12:3: error: expected ';'\n",
        "bignum.c:12:3: error: expected ';'",
    ),
    "assembler": (
        "/tmp/cc1hqyP4.s: Assembler messages:\nbignum.c:12: Warning: what an error\n"
        "bignum.c:13: Error: no such instruction: `frob'\n",
        "bignum.c:13: Error: no such instruction: `frob'",
    ),
    "assembly outside of functions": (
        "/tmp/cc1.s: Assembler messages:\n/tmp/cc1.s:6: Error: no such instruction: `x'\n",
        "in assembly: Error: no such instruction: `x'",
    ),
    "linker": (
        "/usr/bin/ld: fib.o: in function `f':\nfib.c:3: undefined reference to `g'\n"
        "collect2: error: ld returned 1 exit status\n",
        "fib.c:3: undefined reference to `g'",
    ),
    "large": (
        "gcc: internal compiler error: File size limit exceeded signal terminated program as\n"
        "Please submit a full bug report\n",
        diagnostics.TOO_LARGE,
    ),
    "other": ("cc1: something\nelse\n", "cc1: something"),
    "nothing": ("", "the compiler printed nothing"),
}


@pytest.mark.parametrize(("text", "line"), SAID.values(), ids=SAID.keys())
def test_the_line_that_is_told(text: str, line: str) -> None:
    assert diagnostics.error_line(text) == line
