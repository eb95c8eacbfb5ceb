# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test make profile: the tables that it reads, and a real run."""

import re
import shutil
import subprocess
import sys

import pytest

from grader.base import paths
from grader.tools import profile

OWN = """\
Profile data file 'callgrind.out' (creator: callgrind-3.19.0)
Profiled target:  ./fib profile 1 1000 (PID 1, part 1)
1,000 (100.0%)  PROGRAM TOTALS
Ir                      file:function
600 (60.00%)  /a/decimal.c:fib_decimal [/b/fib]
150 (15.00%)  /a/bignum.h:fib_decimal
200 (20.00%)  /a/bignum.c:bn_mul'2 [/b/fib]
 50 ( 5.00%)  ???:0x123 [/lib/libc.so.6]
"""
INCLUSIVE = """\
1,000 (100.0%)  PROGRAM TOTALS
1,000 (100.0%)  ???:(below main)
750 (75.00%)  /a/decimal.c:fib_decimal [/b/fib]
750 (75.00%)  /a/bignum.h:fib_decimal
250 (25.00%)  /a/bignum.c:bn_mul'2 [/b/fib]
"""


def test_table_sums_up_what_was_inlined():
    rows, instructions = profile.table(OWN, INCLUSIVE)
    assert instructions == 1000
    assert [(r.function, r.own, r.total, r.file) for r in rows] == [
        ("fib_decimal", 75.0, 75.0, "decimal.c"),
        ("bn_mul", 20.0, 25.0, "bignum.c"),
        ("0x123", 5.0, 5.0, ""),
    ]
    # Some releases of valgrind print percentages in the table, and others do not.
    bare = "".join(line.split("(")[0] + line.split(")", 1)[1] for line in
                   OWN.splitlines(keepends=True)[2:] if "%" in line)  # fmt: skip
    assert profile.table(bare, INCLUSIVE)[0] == rows


def test_perf_listing():
    listing = """\
# Overhead  Symbol                 Shared Object
    61.20%  [k] fib_decimal        [fibdrv]
    30.11%  [k] bn_mul             [fibdrv]
     0.04%  [k] clear_page_erms    [kernel.kallsyms]
"""
    rows = profile.perf_rows(listing)
    assert [(r.own, r.function, r.file) for r in rows[:2]] == [
        (61.2, "fib_decimal", "[fibdrv]"),
        (30.11, "bn_mul", "[fibdrv]"),
    ]
    assert "1 other function" in profile.shown(rows)


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "grader.tools.profile", *words],
        cwd=paths.ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_a_real_one():
    done = run("--stage", "3", "--n", "1000")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("stage 3 (bignum-u32), F(1,000): ")
    shares = {words[4]: (float(words[0]), float(words[2]))
              for line in lines[2:] if len(words := line.split()) == 6}  # fmt: skip
    assert sum(own for own, _ in shares.values()) == pytest.approx(100, abs=3)
    assert all(own <= total <= 100 for own, total in shares.values())
    # Almost all instructions are in these functions or their callees; multiplication uses shifts.
    assert shares["bn_lshift"][0] > 5
    assert shares["fib_decimal"][1] + shares["bn_mul"][1] + shares["bn_add"][1] > 60


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_one_phase_alone():
    both, *parts = (
        run("--stage", "5", "--n", "1000", *words).stdout
        for words in ([], ["--phase", "compute"], ["--phase", "decimal"])
    )
    found = [re.search(r"F\(1,000\): ([\d,]+) instructions a call(.*) in user", t) for t in parts]
    assert [f and f[2] for f in found] == [" of compute", " of decimal"]
    whole, compute, decimal = (
        int(re.search(r": ([\d,]+) instructions", text)[1].replace(",", ""))
        for text in (both, *parts)
    )
    # A call consists of the two phases and of the release of its number.
    assert 0.9 * whole < compute + decimal <= whole
    assert "fib_decimal" not in parts[0]
    assert "bn_mul" not in parts[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the command needs one stage"),
        (["--stage", "1,2"], "the command needs one stage"),
        (["--stage", "1", "--n", "94"], "give a number from 0 to 93"),
        (["--stage", "1", "--n", "x"], "give a number from 0 to 93"),
        (["--stage", "99"], "no stage 99"),
        (["--stage", "1", "--phase", "both"], "choose compute or decimal"),
        (["--stage", "1", "--phase", "compute", "--machine", "host"], "omit phase on machine host"),
    ],
)
def test_bad_input_is_one_line(words, said):
    done = run(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
