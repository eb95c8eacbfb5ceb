# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the expected values of F(n) against known values and against the files in expected/."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import paths
from grader.base.errors import LabError
from grader.exercise.files import expected_values


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a copy of expected/ that the kit reads and that a test may damage."""
    folder = tmp_path / "expected"
    shutil.copytree(paths.EXPECTED, folder)
    whole = expected_values._golden.__wrapped__
    monkeypatch.setattr(expected_values, "_golden", lambda: whole(folder))
    expected_values.digits.cache_clear()
    yield folder
    expected_values.digits.cache_clear()


def test_small_values() -> None:
    known = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
    assert [expected_values.fibonacci(n) for n in range(11)] == known
    assert expected_values.digits(93) == "12200160415121876738"
    assert expected_values.digits(94) == "19740274219868223167"


def test_by_addition() -> None:
    a, b = 0, 1
    for n in range(2000):
        assert expected_values.fibonacci(n) == a
        a, b = b, a + b


def test_identity_of_large_values() -> None:
    """Large values satisfy Cassini's identity: F(n - 1) * F(n + 1) - F(n)^2 = (-1)^n."""
    for n in (10_000, 99_999, 100_000):
        f = expected_values.fibonacci(n)
        assert (
            expected_values.fibonacci(n - 1) * expected_values.fibonacci(n + 1) - f * f == (-1) ** n
        )


def test_expected_agrees() -> None:
    for n in [*range(1001), *(n for n in expected_values.golden_n() if n <= 200_000)]:
        expected_values.digits(n)
    for n in expected_values.golden_n():
        expected_values.residue(n, 10**9 + 7)
    assert expected_values.golden_n()[-1] == 10_000_000


@pytest.mark.long
def test_expected_agrees_digit_by_digit() -> None:
    for n in expected_values.golden_n():
        expected_values.digits(n)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_wrong_small_numbers(golden: Path) -> None:
    row = next(x for x in (golden / "digests.tsv").read_text().splitlines() if x[:7] == "0-1000\t")
    replace(golden / "digests.tsv", row, row[:-1] + ("0" if row[-1] != "0" else "1"))
    with pytest.raises(LabError, match=r"disagree on F\(0\) to F\(1000\)"):
        expected_values.digits(93)


def test_a_wrong_small_number(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        expected_values, "_text", lambda n: str(expected_values.fibonacci(n) + (n == 93))
    )
    expected_values.digits(92)
    with pytest.raises(LabError, match=r"disagree on F\(93\)"):
        expected_values.digits(93)


def test_a_wrong_digest(golden: Path) -> None:
    line = next(
        x for x in (golden / "digests.tsv").read_text().splitlines() if x.startswith("10000\t")
    )
    wrong = line[:-1] + ("0" if line[-1] != "0" else "1")
    replace(golden / "digests.tsv", line, wrong)
    with pytest.raises(LabError, match=r"disagree on F\(10000\)"):
        expected_values.digits(10000)


def one_line(error: pytest.ExceptionInfo[LabError]) -> None:
    assert "git checkout expected" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file(golden: Path) -> None:
    (golden / "digests.tsv").unlink()
    with pytest.raises(LabError, match="expected/ cannot be read") as error:
        expected_values.digits(10)
    one_line(error)


def test_a_garbled_file(golden: Path) -> None:
    with (golden / "digests.tsv").open("a") as file:
        file.write("what is this\n")
    with pytest.raises(LabError, match="expected/ cannot be read") as error:
        expected_values.digits(10)
    one_line(error)


def test_fnv1a() -> None:
    # Published FNV-1a hashes of "a" and "foobar".
    def fnv(data: bytes) -> int:
        value = expected_values.FNV_OFFSET
        for byte in data:
            value = (value ^ byte) * expected_values.FNV_PRIME & expected_values.MASK
        return value

    assert fnv(b"a") == 0xAF63DC4C8601EC8C
    assert fnv(b"foobar") == 0x85944171F73967E8
    assert expected_values.fnv1a(10) == fnv(b"55")


def test_digest_takes_in_every_repetition() -> None:
    once = (5 ^ expected_values.fnv1a(10)) * expected_values.FNV_PRIME & expected_values.MASK
    assert expected_values.digest(10, 0, 1, 5) == once
    twice = (once ^ expected_values.fnv1a(10)) * expected_values.FNV_PRIME & expected_values.MASK
    assert expected_values.digest(10, 0, 2, 5) == twice
    spread = (once ^ expected_values.fnv1a(9)) * expected_values.FNV_PRIME & expected_values.MASK
    assert expected_values.digest(10, 3, 2, 5) == spread
    different = {
        expected_values.digest(10, s, r, x) for s in (0, 1, 2) for r in (3, 4, 5) for x in (0, 1)
    }
    assert len(different) == 18


@pytest.mark.parametrize("spread", [0, 1, 4])
@pytest.mark.parametrize("repeat", [1, 2, 4, 5, 6, 23])
def test_digit_total(spread: int, repeat: int) -> None:
    each = [len(str(expected_values.fibonacci(101 - i % (spread + 1)))) for i in range(repeat)]
    assert expected_values.digit_total(101, spread, repeat) == sum(each)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 93, 94, 1000, 1001, 30_011, 100_000])
def test_residue(n: int) -> None:
    modulus = expected_values.new_modulus()
    assert expected_values.residue(n, modulus) == expected_values.fibonacci(n) % modulus
    assert expected_values.residues(n, modulus)[1] == expected_values.fibonacci(n + 1) % modulus


def test_a_modulus_is_a_prime_of_62_bits() -> None:
    moduli = {expected_values.new_modulus() for _ in range(20)}
    assert len(moduli) == 20
    for modulus in moduli:
        assert modulus.bit_length() == 62
        assert all(pow(a, modulus - 1, modulus) == 1 for a in (3, 65_537, 10**9 + 7))
    primes = [n for n in range(3, 2000, 2) if all(n % d for d in range(3, n, 2))]
    assert [n for n in range(3, 2000, 2) if expected_values._is_prime(n)] == primes
    # Composite numbers: pseudoprimes to base 2 and to the first nine primes, and the square of a
    # prime.
    for composite in (3_215_031_751, 3_825_123_056_546_413_051, 1_000_003**2):
        assert not expected_values._is_prime(composite)


def test_a_residue_that_expected_does_not_know(golden: Path) -> None:
    digests = golden / "digests.tsv"
    line = next(x for x in digests.read_text().splitlines() if x.startswith("10000000\t"))
    fields = line.split("\t")
    replace(digests, line, "\t".join([*fields[:3], str(int(fields[3]) ^ 1), *fields[4:]]))
    with pytest.raises(LabError, match=r"disagree on F\(10000000\)"):
        expected_values.residue(10_000_000, 10**9 + 7)


def test_digit_count() -> None:
    for n in (*range(3000), 19_999, 20_000, 46_368, 100_000):
        assert expected_values.digit_count(n) == len(str(expected_values.fibonacci(n)))


def test_bits() -> None:
    for n in (0, 1, 2, 6, 93, 19_999, 20_000, 20_001, 46_368, 100_000):
        assert expected_values.bits(n) == expected_values.fibonacci(n).bit_length()
