# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that a stage's own header cannot change its unit tests, whatever macros and types it has."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from grader.base.errors import LabError
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.exercise.operations import test_program, unit_tests


def copied(number: int, folder: Path, header: str = "") -> Path:
    """Copy the kit's stage and add this text at the end of bignum.h. Return the copy."""
    directory = folder / stages.kit(number).directory.name
    shutil.copytree(stages.kit(number).directory, directory)
    text = (directory / "bignum.h").read_text()
    (directory / "bignum.h").write_text(f"{text.rstrip().removesuffix('#endif')}{header}\n#endif\n")
    return directory


def said(stage: Stage, operation: str) -> str:
    """Return the message about an operation, or an empty string if its results are correct."""
    try:
        program = test_program.program(stage)
    except LabError as error:
        return error.problem
    return unit_tests.outcome(stage, program, operation, 1).fault


# These are texts that a learner may add to bignum.h.
FREE = {
    "helpers": """
static inline bool is_zero(const struct bignum *a) { return a->size == 1 && !a->limb[0]; }
static inline void protect(struct bignum *a) { fib_assert(a->size); }
static inline size_t number_size(const struct bignum *a) { return a->size; }
static struct bignum *first(struct bignum *a) { return a; }
static const limb_t powers[] = { 1, 10, 100 };
""",
    "macros": """
#define SIZE(a) ((a)->size)
#define for_each_limb(a, i) for (size_t i = 0; i < (a)->size; i++)
#define HIGH(p) ((limb_t)((p) >> LIMB_BITS))
#define NUMBER 1
#define WORD u32
#define PAGE 1
#define DECIMAL 1
#define NDEBUG
""",
}


@pytest.mark.parametrize("header", FREE.values(), ids=FREE.keys())
def test_a_header_has_what_it_likes(header: str, tmp_path: Path) -> None:
    directory = copied(5, tmp_path, header)
    assert said(stages.single(directory, directory.name), "sub") == ""


def changed(directory: Path, *changes: tuple[str, str]) -> Stage:
    for source in sorted(directory.glob("*.[ch]")):
        text = source.read_text()
        for old, new in changes:
            text = text.replace(old, new)
        source.write_text(text)
    return stages.single(directory, directory.name)


def test_a_number_has_other_fields_and_inline_functions(tmp_path: Path) -> None:
    copy = "int bn_copy(struct bignum *c, const struct bignum *a)"
    inline = f"static inline {copy}\n{{\n\treturn bn_lshift(c, a, 0);\n}}\n"
    directory = copied(5, tmp_path, inline)
    stage = changed(
        directory,
        (f"{copy};\n", ""),
        (f"\n{copy}\n{{", "\nstatic int copy(struct bignum *c, const struct bignum *a)\n{"),
        ("\tlimb_t *limb;\n\tsize_t size;", "\tu64 uses;\n\tunsigned size;\n\tlimb_t *limb;"),
    )
    assert [said(stage, operation) for operation in ("sub", "copy")] == ["", ""]


NAMES = ("function_tests", "function_tests_numbers", "function_tests_text", "account_malloc", "own")


def test_files_are_called_what_they_like(tmp_path: Path) -> None:
    """Files of a stage may have the names of files of the unit tests without replacing them."""
    directory = copied(5, tmp_path)
    for name in NAMES:
        (directory / f"{name}.c").write_text("static inline int nothing(void) { return 0; }\n")
    for name in (*NAMES, "trial", "kernel"):
        (directory / f"{name}.h").write_text("#error of the learner's\n")
    assert said(stages.single(directory, directory.name), "sub") == ""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("int bn_sub(", "int bn_subtract(",
         r"5-schoolbook-squaring/fib\.c:\d+:\d+: error: implicit declaration of function 'bn_sub'"),
        ("LIMB_BITS", "WIDTH", "operations/bignum_adapter.c:.*'LIMB_BITS' undeclared .*"
         "bignum.h must declare it as in the skeleton"),
        ("\tsize_t size;", "\tsize_t size", "5-schoolbook-squaring/bignum.h:\\d+:\\d+: error: "),
        ("struct bignum *bn_create(struct fib_call *call, size_t size)\n{",
         "struct bignum *bn_create(struct fib_call *call, size_t size)\n{ asm(\"frobnicate\");",
         r"5-schoolbook-squaring/bignum\.c:\d+: Error: no such instruction: `frobnicate'$"),
        ("void bn_free(struct bignum *a)\n{", "asm(\".fill 100000000\");\n"
         "void bn_free(struct bignum *a)\n{", "compile: the compiled output is too large"),
    ],
    ids=["function", "width", "syntax", "assembly", "large"],
)  # fmt: skip
def test_what_is_missing_is_said(old: str, new: str, says: str, tmp_path: Path) -> None:
    told = said(changed(copied(5, tmp_path), (old, new)), "sub")
    assert re.search(says, told), told


RENAMED = ("tested_operate", "STAGE_HAS_LSHIFT", "TESTED_ADD", "limbs_of_words", "take")


@pytest.mark.parametrize("name", RENAMED)
def test_a_header_cannot_rename_the_adapter(name: str, tmp_path: Path) -> None:
    directory = copied(5, tmp_path, f"#define {name} other\n")
    told = said(stages.single(directory, directory.name), "sub")
    assert re.search(rf"bignum\.h:\d+: {name} is a name of the kit's tests; rename it$", told), told


@pytest.mark.parametrize("file", ["lazy", "bignum_adapter"])
def test_another_file_cannot_replace_the_adapter(file: str, tmp_path: Path) -> None:
    """A header may make the adapter's function static, but no other file may define its name."""
    head = "int tested_operate(enum tested_operation what, struct bignum **c, struct bignum *a,"
    rest = "struct bignum *b, u64 word)"
    directory = copied(5, tmp_path, f"enum tested_operation;\nstatic {head} {rest};\n")
    (directory / f"{file}.c").write_text(
        f'#include "stage.h"\n{head.replace("enum tested_operation", "int")}\n\t\t   {rest};\n'
        f"{head.replace('enum tested_operation', 'int')}\n\t\t   {rest}\n{{\n\treturn 0;\n}}\n"
    )
    told = said(stages.single(directory, directory.name), "sub")
    assert f"{file}.c defines tested_operate, a name of the kit's tests" in told, told
