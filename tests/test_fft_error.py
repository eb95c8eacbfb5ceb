# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure the distance of stage 12's products from integers before they are rounded.

The digits alone do not reveal a slightly wrong constant: if pi / 4 is off by 3e-14, all digits are
still right. The distance from the nearest integer, however, is then a hundred times as large.
"""

from __future__ import annotations

import math
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.base import paths, processor
from grader.exercise.build import c_flags

EXERCISE = "12"

STAGE = paths.STAGES / "12-fft-avx2"
PROGRAM = Path(__file__).with_name("fft_error") / "distance.c"
# The list has one length of each kind: radix 3, 5 and 7, with and without a radix-2 pass, and rows
# of 64 to 16384 points. The last two lengths are used for F(10,000,000) and F(12,500,000).
LENGTHS = (256, 320, 384, 448, 512, 640, 768, 896, 1024, 5120, 28672, 49152, 229376, 262144, 327680)
FEW = (256, 448, 1024, 49152)
DIGIT_MAX = 5012
# The errors of random digits add up like a random walk. The bound, WALK times 2^-53 * DIGIT_MAX^2 *
# sqrt(N), is above the observed values (4 to 14 times) and far below the error of a wrong constant.
WALK = 30

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not processor.has_vectors(), reason="this processor has no AVX2 or no FMA"),
]


@dataclass(frozen=True)
class Distance:
    """The largest distance from an integer for one length and kind of digits, and its bound."""

    points: int
    kind: str
    square: float
    product: float
    bound: float

    def right(self) -> bool:
        """Return True if the distances are below the proved bound and in the expected range."""
        most = max(self.square, self.product)
        expected = WALK * 2.0**-53 * DIGIT_MAX**2 * math.sqrt(self.points)
        return most < self.bound < 0.5 and (self.kind != "random" or most < expected)


def distances(stage: Path, folder: Path, lengths: tuple[int, ...]) -> list[Distance]:
    """Compile the program with a stage's files and return the distances that it prints."""
    program = folder / "distance"
    sources = [
        PROGRAM,
        *(stage / name for name in ("fft_avx2.c", "digits.c", "digits_avx2.c")),
        *(paths.COMMON / "userspace" / name for name in ("account_malloc.c", "vector_user.c")),
    ]
    command = ["gcc", "-O2", "-std=gnu11", "-fno-strict-aliasing", *c_flags.vector()]
    command += [f"-I{paths.COMMON}", f"-I{paths.COMMON / 'userspace'}", "-iquote", str(stage)]
    subprocess.run([*command, "-o", program, *sources, "-lm"], check=True)
    run = subprocess.run([program, *map(str, lengths)], capture_output=True, text=True, check=True)
    found = []
    for line in run.stdout.splitlines():
        points, kind, *numbers = line.split()
        found.append(Distance(int(points), kind, *map(float, numbers)))
    return found


def test_products_are_as_close_to_integers_as_is_proved(tmp_path: Path) -> None:
    found = distances(STAGE, tmp_path, LENGTHS)
    assert len(found) == 4 * len(LENGTHS)
    assert [one for one in found if not one.right()] == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("14488038916154245685ULL", f"{round(14488038916154245685 * (1 + 3e-14))}ULL"),
        ("for (u64 k = 9; k > 0; k--)", "for (u64 k = 6; k > 0; k--)"),
        ("turned.re = -root.im;", "turned.re = -root.im - 100000;"),
    ],
    ids=["pi / 4 wrong by 3e-14", "a series too short", "a rotation off by 2e-14"],
)
def test_a_constant_that_is_slightly_wrong_is_found(tmp_path: Path, right: str, wrong: str) -> None:
    copy = tmp_path / "stage"
    shutil.copytree(STAGE, copy)
    text = (copy / "fft.c").read_text()
    assert right in text
    (copy / "fft.c").write_text(text.replace(right, wrong))
    found = distances(copy, tmp_path, FEW)
    assert not all(one.right() for one in found)
