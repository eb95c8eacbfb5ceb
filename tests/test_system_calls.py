# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the list of ABI conformance checks, and the text that describes their answers."""

from __future__ import annotations

import re

import pytest

from grader.base import paths
from grader.exercise.conformance import system_calls
from grader.exercise.files import expected_values, stages
from grader.exercise.files.stages import Manifest

MANIFESTS = [m for m in stages.manifests().values() if m.max_n <= 100_000]
VERBS = set(
    re.findall(r"^ \*\t(\w+)", (paths.COMMON / "fibctl.h").read_text(), re.MULTILINE)
)  # These are the request names of `fibctl batch`.


@pytest.fixture(params=MANIFESTS, ids=[m.name for m in MANIFESTS])
def cases(request: pytest.FixtureRequest) -> list[system_calls.AbiCase]:
    manifest: Manifest = request.param
    return system_calls.cases(manifest)


def test_requests_are_of_the_language(cases: list[system_calls.AbiCase]) -> None:
    for case in cases:
        verb, *words = case.request.split()
        assert verb in VERBS
        assert len(case.request) < 200 and "\n" not in case.request
        if verb in ("read", "pread", "write", "pwrite", "seek"):
            assert all(re.fullmatch(r"-?\d+|null|half", word) for word in words)


def test_files_are_open_when_used(cases: list[system_calls.AbiCase]) -> None:
    files: set[str] = set()
    for case in cases:
        verb, *words = case.request.split()
        if verb == "open":
            assert words[0] not in files
            files.add(words[0])
        elif verb not in ("show", "store", "stat"):
            assert words[0] in files, case
        if verb == "close":
            files.remove(words[0])
    assert not files


def test_the_clock_is_left_on(cases: list[system_calls.AbiCase]) -> None:
    stored = [c.request.split()[2] for c in cases if c.request.startswith("store ktime_measure")]
    assert stored[-1] == "1"


def test_every_error_of_the_abi_is_provoked(cases: list[system_calls.AbiCase]) -> None:
    wanted = " ".join(case.expected_in_words() for case in cases)
    for name in ("EINVAL", "ERANGE", "EFAULT", "ENOTTY", "EACCES", "EBADF"):
        assert name in wanted
    assert {c.request.split()[0] for c in cases} >= {
        "open", "close", "seek", "read", "pread", "write", "pwrite", "ioctl", "measure", "show",
        "store", "stat",
    }  # fmt: skip


def test_what_is_expected_is_accepted(cases: list[system_calls.AbiCase]) -> None:
    for case in cases:
        if case.accepts is None:
            assert case.holds(case.expected)
            assert case.answer_in_words(case.expected) == case.expected_in_words()
        for wrong in ("7777", "-5 0 -", "x", ""):
            if case.accepts is None:
                assert not case.holds(wrong)


def measured(n: int, spread: int, repeat: int, nonce: int, **changes: int) -> str:
    """Return a correct answer to a measurement request, except for the given changes."""
    values = {
        "digest": expected_values.digest(n, spread, repeat, nonce),
        "digits": expected_values.digit_total(n, spread, repeat),
        "limbs": 1 + expected_values.fibonacci(n).bit_length() // 32,
        **changes,
    }
    return "0 " + " ".join(f"{name}={value}" for name, value in values.items())


def test_measurements() -> None:
    accepts = system_calls._measured(1000, 2, 5, 9)
    assert accepts(measured(1000, 2, 5, 9))
    assert not accepts(measured(1000, 2, 5, 8))  # The nonce differs.
    assert not accepts(measured(1000, 1, 5, 9))  # The spread differs.
    assert not accepts(measured(1000, 2, 4, 9))  # There is one repetition fewer.
    assert not accepts(measured(1000, 2, 5, 9, digits=1))
    assert not accepts(measured(1000, 2, 5, 9, limbs=1))  # F(1000) has 695 bits
    assert accepts(measured(1000, 2, 5, 9, limbs=11))
    assert not accepts(measured(1000, 2, 5, 9, limbs=10))
    assert not accepts(measured(1000, 2, 5, 9).replace("0 ", "-22 ", 1))


def test_refusals() -> None:
    accepts = system_calls._refused(-22)
    assert accepts("-22 digest=0")
    assert not accepts("-22 digest=5")  # digits despite the error
    assert not accepts("0 digest=0")
    assert not accepts("-14 digest=0")


@pytest.mark.parametrize(
    ("request_line", "answer", "words"),
    [
        ("read 0 64", "2 2 55\n", "55"),
        ("read 0 1", "-34 0 -\n", "ERANGE"),
        ("read 0 1", "-34 2 -\n", "ERANGE, and 2 bytes were written"),
        ("read 0 1", "1 2 5\n", "5, and 2 bytes were written"),
        ("pread 0 64 10", "3 3 55\\x0a\n", "55\\x0a"),
        ("read 0 0", "0 0 -\n", "nothing"),
        ("seek 0 5 0", "5\n", "5"),
        ("seek 0 94 0", "-22\n", "EINVAL"),
        ("open 0 rw", "-6\n", "ENXIO"),
        ("write 0 0", "-9999\n", "error -9999"),
        ("show max_n", "0 93\n", "93"),
        ("show max_n", "-2 \n", "ENOENT"),
        ("stat", "0 20600 0 0\n", "0 20600 0 0"),
        ("measure 0 n=1", "0 digest=255 digits=1 limbs=1\n",
         "digest 00000000000000ff, digits 1, limbs 1"),
        ("measure 0 n=1", "-22 digest=1 digits=2 limbs=3\n",
         "EINVAL, and wrote digest 0000000000000001, digits 2, limbs 3"),
        ("read 0 64", "what is this\n", "what is this"),
        ("read 0 64", "\n", ""),
    ],
)  # fmt: skip
def test_in_words(request_line: str, answer: str, words: str) -> None:
    assert system_calls.in_words(request_line, answer) == words


def test_refused_measurement_in_words() -> None:
    assert system_calls.in_words("measure 0 n=94", "-22 digest=0 digits=0 limbs=0") == "EINVAL"
