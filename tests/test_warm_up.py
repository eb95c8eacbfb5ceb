# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the warm-up exercise before stage 3: its file leaks memory, and each mistake is reported."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from grader.base import paths

SOURCE = paths.ROOT / "handouts/warm-up/owners.c"
TWICE = """\
	struct number *r;

	if (!two)
		return NULL;
	r = mul(two, x);
	give_back(two);
	return r;
"""
SQUARES = """\
	struct number *b2, *r = NULL;

	if (!a2)
		return NULL;
	b2 = mul(b, b);
	if (!b2)
		goto give_a2;
	r = add(a2, b2);
	give_back(b2);
give_a2:
	give_back(a2);
	return r;
"""
POWER = """\
	for (unsigned int i = 0; p && i < n; i++) {
		struct number *q = mul(p, x);

		give_back(p);
		p = q;
	}
	return p;
"""
SOLUTION = {
    "\n	return mul(two, x);\n": TWICE,
    "	struct number *b2 = mul(b, b);\n\n	return add(a2, b2);\n": SQUARES,
    "	for (unsigned int i = 0; i < n; i++)\n		p = mul(p, x);\n	return p;\n": POWER,
}


def solved() -> str:
    text = SOURCE.read_text()
    for lost, kept in SOLUTION.items():
        assert text.count(lost) == 1, lost
        text = text.replace(lost, kept)
    return text


def run(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "owners.c").write_text(text)
    options = [
        "-g",
        "-Og",
        "-fno-omit-frame-pointer",
        "-Wall",
        "-Wno-unused-label",
        "-Werror",
        "-fsanitize=address,undefined",
    ]
    call = ["gcc", *options, "-o", "owners", "owners.c"]
    subprocess.run(call, cwd=folder, check=True)
    return subprocess.run(["./owners"], cwd=folder, capture_output=True, text=True)


def test_solved_it_loses_nothing(tmp_path: Path) -> None:
    completed = run(solved(), tmp_path)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert completed.stdout.splitlines()[-1] == "Nothing is lost. On to stage 3."


def test_who_has_made_it_is_named(tmp_path: Path) -> None:
    said = run(SOURCE.read_text(), tmp_path).stderr
    assert re.search(r"#1 \S+ in new_number .*\n +#2 \S+ in twice ", said)
    completed = run(solved().replace("	if (!two)\n		return NULL;\n", ""), tmp_path)
    assert re.search(r"#0 \S+ in mul .*\n +#1 \S+ in twice ", completed.stderr)


def test_a_result_that_is_not_set_is_warned_of(tmp_path: Path) -> None:
    text = solved()
    assert text.count("*r = NULL;") == 1
    with pytest.raises(subprocess.CalledProcessError):
        run(text.replace("*r = NULL;", "*r;"), tmp_path)


@pytest.mark.parametrize(
    ("right", "mistake", "says"),
    [
        (TWICE, "	return mul(two, x);\n", "twice, 2 of 2 numbers can be made: 1 not freed"),
        ("	if (!two)\n		return NULL;\n", "", "twice, 0 of 2 numbers can be made: "),
        ("	give_back(two);\n", "	give_back(two);\n	give_back(two);\n", "double-free"),
        ("		goto give_a2;\n", "		return NULL;\n", "1 of 3 numbers can be made: 1 not"),
        ("	give_back(b2);\n", "", "sum_of_squares, 3 of 3 numbers can be made: 1 not freed"),
        ("		give_back(p);\n", "", "power, 5 of 5 numbers can be made: 4 not freed"),
        ("		p = q;\n", "		if (q)\n			p = q;\n", "1 freed twice"),
        ("; p && i < n", "; i < n", "power, 3 of 5 numbers can be made: "),
        ("mul(b, b)", "mul(a, b)", "sum_of_squares, 3 of 3 numbers can be made: the result"),
    ],
)
def test_a_mistake_is_seen(right: str, mistake: str, says: str, tmp_path: Path) -> None:
    text = solved()
    assert text.count(right) == 1
    completed = run(text.replace(right, mistake), tmp_path)
    assert completed.returncode != 0
    assert says in completed.stdout + completed.stderr
    shutil.rmtree(tmp_path)
