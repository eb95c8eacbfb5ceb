# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test make mutation in short: the changes that it makes, and some of its mutants."""

from __future__ import annotations

from pathlib import Path

import mutation_run
import pytest

BODY = """\
	int err;

	/* if (a) b; */
	for (i = 0; i < size - 1; i++)
		sum += a[i];
	if (size && !done)
		goto out;
	return err;
out:
	swap(a, b);
"""


def test_all_places_of_a_function_are_changed() -> None:
    found = [f"{BODY[begin:end]} {new}" for begin, end, new in mutation_run.changes(BODY)]
    assert found == [
        "sum += a[i]; {}",
        "goto out; {}",
        "return err; {}",
        "swap(a, b); {}",
        "size && !done (size && !done) && 0",
        "size && !done (size && !done) || 1",
        "< <=",
        "&& ||",
        " - 1 ",
        "0 1",
        "err 0",
    ]


def test_each_known_survivor_is_a_change_of_the_kit() -> None:
    stages = {stage for stage, _, _ in mutation_run.survivors()}
    made = {mutant.key for number in stages for mutant in mutation_run.mutants(number)}
    assert {*mutation_run.survivors()} <= made


@pytest.mark.once
@pytest.mark.parametrize(
    ("function", "before", "after", "expected"),
    [
        ("bn_add", "if (a->size < b->size)", "if (a->size <= b->size)", True),
        ("bn_add", "swap(a, b);", "{}", False),
        ("bn_mul", "c[i] = sum;", "{}", False),
    ],
)
def test_a_mutant(
    function: str, before: str, after: str, expected: bool, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setattr(mutation_run, "FOLDER", tmp_path)
    mutants = [
        mutant
        for mutant in mutation_run.mutants(4)
        if (mutant.function, mutant.before, mutant.after) == (function, before, after)
    ]
    assert [mutation_run.passes(mutant) for mutant in mutants] == [expected] * len(mutants)
