# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that the contract tests recognise a number in any limb base (number_encoding.c)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

import pytest

from grader.exercise.contract_tests import runner
from grader.exercise.files import expected_values

N = 1000
NUMBER = expected_values.fibonacci(N)
# These functions replace, in a program, the kernel functions that number_encoding.c calls.
KERNEL = """
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
typedef uint64_t u64;
#define min(a, b) ((a) < (b) ? (a) : (b))
#define DIV_ROUND_UP(a, b) (((a) + (b) - 1) / (b))
#define div_u64(a, b) ((u64)(a) / (b))
#define div64_u64(a, b) ((u64)(a) / (b))
bool number_in(const char *block, size_t bytes, const char *digits, size_t count);
"""
MAIN = """
#include <stdio.h>
#include "contract_tests.h"
int main(int argc, char **argv)
{
	static char block[1 << 16];
	size_t bytes = fread(block, 1, sizeof(block), stdin);

	puts(number_in(block, bytes, argv[1], strlen(argv[1])) ? "yes" : "no");
	return argc != 2;
}
"""

Known = Callable[[bytes], bool]


def limbs(number: int, base: int) -> list[int]:
    found = []
    while number:
        number, limb = divmod(number, base)
        found.append(limb)
    return found


def written(number: int, base: int, width: int, reverse: bool = False) -> bytes:
    order = limbs(number, base)
    if reverse:
        order.reverse()
    return b"".join(limb.to_bytes(width, "little") for limb in order)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    folder = tmp_path_factory.mktemp("radix")
    shutil.copy(runner.FILES / "number_encoding.c", folder)
    (folder / "linux").mkdir()
    for name in ("kernel", "math64", "string"):
        (folder / f"linux/{name}.h").write_text("")
    (folder / "contract_tests.h").write_text(KERNEL)
    (folder / "main.c").write_text(MAIN)
    subprocess.run(
        "gcc -O1 -Wall -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
        " -I. -o radix number_encoding.c main.c".split(),
        cwd=folder,
        check=True,
    )

    def ask(block: bytes) -> bool:
        asked = subprocess.run(
            [folder / "radix", str(NUMBER)], input=block, stdout=subprocess.PIPE, check=True
        )
        return asked.stdout == b"yes\n"

    return ask


FORMS = [
    *((2**bits, 8) for bits in (64, 63, 62, 60, 56, 48, 36, 32, 31, 30)),
    *((2**bits, 4) for bits in (32, 31, 30, 28, 24, 16)),
    *((2**16, 2), (2**8, 1), (2**4, 1)),
    *((10**digits, 8) for digits in (19, 18, 17, 16, 12, 9)),
    *((10**digits, 4) for digits in (9, 8, 4, 1)),
    *((10**4, 2), (10**2, 1), (10, 1)),
]


@pytest.mark.parametrize("base, width", FORMS)
@pytest.mark.parametrize("reverse", [False, True])
def test_knows_it(base: int, width: int, reverse: bool, known: Known) -> None:
    number = written(NUMBER, base, width, reverse)
    assert known(number)
    assert known(b"\x5a" * 16 + number + b"\0" * width + b"\xa5" * 40)


@pytest.mark.parametrize("base, width", FORMS)
def test_knows_no_other(base: int, width: int, known: Known) -> None:
    """A neighbour of F(n), and F(n) with a missing or additional top limb, are not recognised."""
    for other in (
        expected_values.fibonacci(N - 1),
        expected_values.fibonacci(N // 2),
        NUMBER + base**3,
    ):
        assert not known(written(other, base, width))
    whole = written(NUMBER, base, width)
    assert not known(whole[: -2 * width])


def test_characters(known: Known) -> None:
    assert known(str(NUMBER).encode() + b"\0")
    assert known(str(NUMBER)[::-1].encode())
    assert not known(str(NUMBER)[1:].encode())
