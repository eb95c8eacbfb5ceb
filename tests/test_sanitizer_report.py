# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that the summary of a sanitizer or valgrind report names the learner's own lines."""

from __future__ import annotations

import pytest

from grader.exercise.files import stages
from grader.exercise.operations import sanitizer_report, test_program
from grader.sandbox import CommandResult

ASAN = """\
=================================================================
==16179==ERROR: AddressSanitizer: heap-use-after-free on address 0x604000000120 at pc 0x55bd bp 0x7
READ of size 8 at 0x604000000120 thread T0
    #0 0x55bd09447295 in bn_free work/3-bignum-u32/bignum.c:119
    #1 0x55bd09447295 in bn_free work/3-bignum-u32/bignum.c:115
    #2 0x55bd094491e6 in fib_even work/3-bignum-u32/fib.c:28
    #3 0x55bd0944948a in fib_compute work/3-bignum-u32/fib.c:89
    #4 0x55bd0944b03b in compute /kit/grader/exercise/operations/unit_tests.c:60

0x604000000120 is located 16 bytes inside of 40-byte region [0x604000000110,0x604000000138)
freed by thread T0 here:
    #0 0x7fbb178b76a8 in __interceptor_free ../../../../src/asan_malloc_linux.cpp:52
    #1 0x55bd09446000 in fib_free /kit/common/userspace/account_malloc.c:78
    #2 0x55bd09446001 in bn_free work/3-bignum-u32/bignum.c:120
    #3 0x55bd094491de in fib_even work/3-bignum-u32/fib.c:27
    #4 0x7fbb16e45249 in __libc_start_call_main ../sysdeps/nptl/libc_start_call_main.h:58

previously allocated by thread T0 here:
    #2 0x55bd09447151 in bn_create work/3-bignum-u32/bignum.c:94

SUMMARY: AddressSanitizer: heap-use-after-free work/3-bignum-u32/bignum.c:119 in bn_free
"""
VALGRIND = """\
==16681== Invalid read of size 8
==16681==    at 0x109569: bn_free (bignum.c:119)
==16681==    by 0x109C35: fib_even (fib.c:28)
==16681==    by 0x10A56B: run_check (main.c:94)
==16681==  Address 0x4a423e0 is 16 bytes inside a block of size 40 free'd
==16681==    at 0x484417B: free (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
==16681==    by 0x10A069: fib_free (account_malloc.c:78)
==16681==    by 0x109C2D: fib_even (fib.c:27)
==16681==  Block was alloc'd at
==16681==    by 0x109508: bn_create (bignum.c:94)
==16681==
==16681== Invalid read of size 8
==16681==    at 0x109569: elsewhere (bignum.c:1)
"""
UNSET = """\
==7== Conditional jump or move depends on uninitialised value(s)
==7==    at 0x109569: limbs_add (bignum.c:32)
==7==    by 0x109C35: bn_add (bignum.c:150)
"""  # noqa: W291


def test_the_caller_is_named_and_who_gave_it_back() -> None:
    assert sanitizer_report.place(ASAN) == (
        " in bn_free (bignum.c:119), called from fib_even (fib.c:28); freed in fib_even (fib.c:27)"
    )
    assert sanitizer_report.place(VALGRIND) == (
        " in bn_free (bignum.c:119), called from fib_even (fib.c:28); freed in fib_even (fib.c:27)"
    )
    assert sanitizer_report.place(UNSET) == (
        " in limbs_add (bignum.c:32), called from bn_add (bignum.c:150)"
    )
    assert sanitizer_report.place("killed") == ""


@pytest.mark.parametrize("file", ["bignum_adapter.c", "bignum_tests.c", "main.c", "stage.h"])
def test_no_function_of_the_kit_is_named(file: str) -> None:
    said = ASAN.replace("fib_even work/3-bignum-u32/fib.c", f"tested /kit/{file}")
    said = said.replace("fib_compute work/3-bignum-u32/fib.c", f"answered /kit/{file}")
    assert sanitizer_report.place(said) == (
        " in bn_free (bignum.c:119); freed in bn_free (bignum.c:120)"
    )


def test_no_file_of_a_stage_has_the_name_of_a_file_of_the_kit() -> None:
    folders = [stages.directory_of(number) for number in stages.known() if number]
    own = {path.name for folder in folders for path in folder.glob("*.[ch]")}
    assert own or stages.exported()
    assert not own & sanitizer_report._KITS


def test_of_a_leak_the_caller_of_the_maker_is_named() -> None:
    held = (
        "==9== 21 bytes in 1 blocks are still reachable in loss record 1 of 2\n"
        "==9==    by 0x10A907: run_kill (main.c:208)\n"
    )
    lost = (
        "==9== 64 bytes in 1 blocks are definitely lost in loss record 2 of 2\n"
        "==9==    by 0x109F54: fib_alloc (account_malloc.c:51)\n"
        "==9==    by 0x1094A8: bn_create (bignum.c:82)\n"
        "==9==    by 0x1097F5: bn_lshift (bignum.c:184)\n"
        "==9==    by 0x10993B: bn_mul (bignum.c:208)\n"
    )
    assert sanitizer_report.place(f"fib: blocks are left\n{held}==9== \n{lost}==9== \n") == (
        ", allocated in bn_lshift (bignum.c:184), called from bn_mul (bignum.c:208)"
    )


def test_a_limb_beyond_the_end_is_told_in_words() -> None:
    said = """\
==1==ERROR: AddressSanitizer: use-after-poison on address 0x7f at pc 0x5 bp 0x7 sp 0x7
READ of size 4 at 0x7f thread T0
    #0 0x55bd in bn_bit work/3-bignum-u32/bignum.h:41
    #1 0x55bd in bn_mul work/3-bignum-u32/bignum.c:208
    #2 0x55bd in main /kit/grader/exercise/operations/unit_tests.c:99

Address 0x7f is a wild pointer inside of access range of size 0x4.
"""
    place = " in bn_bit (bignum.h:41), called from bn_mul (bignum.c:208)"
    for kind in ("use-after-poison", "heap-buffer-overflow"):
        result = CommandResult(1, b"", said.replace("use-after-poison", kind).encode(), "")
        assert test_program._last_words(result) == (
            f"it reads outside of a block, beyond its end or ahead of it{place}"
        )
    written = CommandResult(1, b"", said.replace("READ", "WRITE").encode(), "")
    assert test_program._last_words(written).startswith("it writes outside of a block")


def test_an_index_that_wrapped_has_its_caller() -> None:
    said = """\
==1==ERROR: AddressSanitizer: SEGV on unknown address (pc 0x5 bp 0x7 sp 0x7 T0)
==1==The signal is caused by a READ memory access.
==1==Hint: this fault was caused by a dereference of a high value address (see below).
    #0 0x55bd in bn_bit work/3-bignum-u32/bignum.h:41
    #1 0x55bd in bn_mul work/3-bignum-u32/bignum.c:208

SUMMARY: AddressSanitizer: SEGV work/3-bignum-u32/bignum.h:41 in bn_bit
"""
    result = CommandResult(1, b"", said.encode(), "")
    assert test_program._last_words(result) == (
        "a bad pointer is followed, or an index is far outside of its array"
        " in bn_bit (bignum.h:41), called from bn_mul (bignum.c:208)"
    )


def test_check_says_so_of_a_function_that_is_tried() -> None:
    for said, begin in (
        (ASAN, "heap-use-after-free in bn_free (bignum.c:119), called from fib_even"),
        (ASAN.replace("heap-use-after-free on", "attempting double-free on"),
         "a block is freed twice in bn_free (bignum.c:119), called from fib_even"),
    ):  # fmt: skip
        result = CommandResult(1, b"", said.encode(), "")
        assert test_program._last_words(result).startswith(begin)
