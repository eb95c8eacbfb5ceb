# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the C parser that finds the definitions to carry forward with a learner's functions."""

from __future__ import annotations

import pytest

from grader.course import definitions, skeleton
from grader.exercise.files import stages

SOURCE = """\
/* SPDX */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "stage.h"

typedef u32 word_t;
typedef u64 pair_t; /* twice as wide; see word_t */
#define BITS 32

/* A table. */
static const u8 table[2][2] = {
\t{ 1, 2 },
\t{ '}', ';' },
};

#define BOTH(a, b) \\
\tdo {           \\
\t\ta = b;     \\
\t} while (0)

enum way { UP, DOWN = 2 };

struct pair {
\tstruct { int x; } in;
\tint y;
};

int shared(int (*call)(int), int x);

#if defined(FAST)
static int quick(int x)
{
\treturn x;
}
#else
#define quick(x) (x)
#endif

static __attribute__((unused)) int
wide(int x) /* } */
{
\tif (x) {
\t\treturn BITS;
\t}
\treturn 0;
}

#endif
"""


def test_each_definition_is_found_with_its_names() -> None:
    found = definitions.definitions(SOURCE)
    assert [set(one.names) for one in found] == [
        {"word_t"},
        {"pair_t"},
        {"BITS"},
        {"table"},
        {"BOTH"},
        {"way", "UP", "DOWN"},
        {"pair"},
        {"shared"},
        {"quick"},
        {"wide"},
    ]
    texts = {min(one.names): SOURCE[one.begin : one.end] for one in found}
    assert texts["table"].startswith("/* A table. */\nstatic") and texts["table"].endswith("};\n")
    assert texts["BOTH"].endswith("while (0)\n")
    assert texts["quick"].endswith("#endif\n")
    assert texts["wide"].startswith("static __attribute__") and texts["wide"].endswith("0;\n}\n")
    assert [min(one.names) for one in found if one.static] == ["table", "wide"]


def test_names_in_comments_and_strings_do_not_count() -> None:
    assert definitions.names_in('a = b("c \\" d", 0x1f); /* e */ // f\n') == {"a", "b"}


@pytest.mark.parametrize("number", sorted(stages.known()))
def test_every_function_of_the_kit_is_found(number: int) -> None:
    for path in stages.directory_of(number).glob("*.[ch]"):
        source = path.read_text()
        found = definitions.definitions(source)
        names = {name for one in found for name in one.names}
        assert set(skeleton.functions(source)) <= names, path
        assert all(a.end <= b.begin for a, b in zip(found, found[1:])), path
