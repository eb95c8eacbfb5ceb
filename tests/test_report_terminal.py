# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the report on a terminal, and numbers as text."""

from __future__ import annotations

import re

import pytest

from grader import report as lab_report
from grader.report import terminal, text
from tests.reports import ALL_N, PARTS, PHASES, fabricate, failed, hostile, lose


def lines_of(report: dict[str, object]) -> list[str]:
    lines = lab_report.summary(report, colour=False).splitlines()
    assert all(len(line) <= terminal.COLUMNS for line in lines)
    return lines


def test_summary_has_the_tables() -> None:
    report = fabricate([1, 2, 3, 4, 5, 6, 7], metrics=2)
    report["gaps"] = [{"from": 2, "to": 3, "phase": "decimal", "reason": "no n in common"}]
    shown = lab_report.summary(report, colour=False)
    assert all(len(line) <= terminal.COLUMNS for line in shown.splitlines())
    assert re.search(r"^ +7  preallocation +ok +1,041 +0 +100/100 +1,000,000$", shown, re.M)
    assert "1 → 2" in shown
    assert "uml: time" in shown and "qemu: instructions" in shown
    assert "2 → 3, decimal: no n in common" in shown
    assert shown.endswith("All 7 stages are right.\n")
    assert "\x1b" not in shown


def test_summary_shows_a_failure_at_the_difference() -> None:
    lines = lab_report.summary(failed(), colour=False).splitlines()
    got = next(line for line in lines if line.strip().startswith("got"))
    caret = next(line for line in lines if line.strip() == "^")
    assert got[caret.index("^")] == "9"
    assert lines[-1] == "1 of 1 stage failed."


def test_colour_only_on_request() -> None:
    assert "\x1b[31m" in lab_report.summary(failed(), colour=True)
    assert "\x1b" not in lab_report.summary(failed())  # not a terminal


def test_hostile_strings_on_a_terminal() -> None:
    for line in lab_report.summary(hostile(), colour=False).splitlines():
        assert line.isprintable()
        assert len(line) <= terminal.COLUMNS


# Points and findings


def test_points_lost_stand_below_the_table() -> None:
    report = fabricate([1, 2, 3])
    lose(report["stages"][2], "mul", 12, "37 of 512 tries are wrong: " + "4294967295 * " * 9)
    lose(report["stages"][2], "speed", 2.25, "")
    lines = lines_of(report)
    at = next(i for i, line in enumerate(lines) if line.startswith("stage 3 loses"))
    assert lines[at].startswith("stage 3 loses 12 of 20 for mul: 37 of 512 tries are wrong: 42")
    assert lines[at + 1].startswith("    42949")
    assert lines[at + 2] == "stage 3 loses 2.25 of 10 for speed"
    assert lines[at - 1] == "" and "85.75/100" in lines[at - 2]
    assert not [line for line in lines if line.startswith(("stage 1", "stage 2"))]


def test_notes_on_points_are_said_once() -> None:
    report = fabricate([1, 2, 3, 4])
    for one in report["stages"][:2]:
        one.update(points=None, points_note="it is here as an object only")
    for one in report["stages"][2:]:
        one["points_note"] = "its operations are not tried: the tree is not from this checkout"
    lines = lines_of(report)
    assert "no points for stages 1, 2: it is here as an object only" in lines
    assert any(line.startswith("points of stages 3, 4: its operations") for line in lines)
    assert not any("loses" in line for line in lines)


def test_findings_beside_the_cause() -> None:
    report = failed()
    report["stages"][0]["findings"] += [
        {"by": f"machine-{i}", "status": "crashed", "code": "crashed", "cause": "a page fault"}
        for i in range(5)
    ]
    lines = lines_of(report)
    also = [line for line in lines if line.startswith("    also by")]
    assert also[0] == "    also by machine-0: crashed: a page fault"
    assert len(also) == terminal.MOST_FINDINGS
    assert "    and 2 more findings, in index.html" in lines


# Many stages, three phases


@pytest.mark.parametrize("metrics", [1, 2])
@pytest.mark.parametrize("count", [2, 7, 11, 12])
def test_three_phases_fit(count: int, metrics: int) -> None:
    lines = lines_of(fabricate(list(range(1, count + 1)), metrics, PHASES))
    heads = [line.split() for line in lines if line.startswith("stages ")]
    assert len(heads) == metrics
    for head in heads:
        assert [word for word in head if word in PHASES] == list(PHASES)
        assert head[-3:] == ["read", "interval", "verdict"]
    assert len(re.findall(r"^\d+ → \d+ ", "\n".join(lines), re.M)) == metrics * (count - 1)


def test_a_table_has_the_phases_that_were_compared() -> None:
    report = fabricate([1, 2], 2, PHASES)
    report["speedups"] = [
        s for s in report["speedups"] if s["metric"] == "ns" or s["phase"] == "read"
    ]
    heads = [line.split() for line in lines_of(report) if line.startswith("stages ")]
    assert [[word for word in head if word in PHASES] for head in heads] == [
        list(PHASES),
        ["read"],
    ]


@pytest.mark.parametrize("metrics", [1, 2])
def test_of_one_stage_the_figures_themselves_are_shown(metrics: int) -> None:
    lines = lines_of(fabricate([1], metrics))
    head = next(i for i, line in enumerate(lines) if line.startswith("One call of 1 "))
    assert lines[head + 1].split() == ["n", *PARTS * metrics]
    rows = lines[head + 2 : lines.index("", head)]
    assert [row.split()[0] for row in rows] == [str(n) for n in ALL_N if n <= 93]
    assert all(len(re.findall(r" [nµm]s\b", row)) == len(PARTS) for row in rows)
    # A report of two stages compares them and does not show the times of one call.
    assert not [line for line in lines_of(fabricate([1, 2])) if line.startswith("One call")]


def test_of_many_pairs_fewer_n_are_shown() -> None:
    for count, most in ((7, 3), (12, 2), (40, 1)):
        report = fabricate([1, 2])
        pairs = [
            {**entry, "from": i, "to": i + 1}
            for i in range(1, count)
            for entry in report["speedups"]
        ]
        report["speedups"] = pairs
        lines = lines_of(report)
        head = next(i for i, line in enumerate(lines) if line.startswith("stages "))
        assert lines[head + 1 : lines.index("", head)][-1].startswith("(") == (most < 3)
        assert sum("faster" in line or " ~" in line for line in lines[head:]) == most * (count - 1)


# Figures as text


@pytest.mark.parametrize(
    ("ns", "shown"),
    [(0, "0 ns"), (0.5, "0.500 ns"), (5, "5.00 ns"), (999.9, "1.00 µs"), (12_800, "12.8 µs"),
     (5e6, "5.00 ms"), (1.7e9, "1.70 s"), (5e12, "5,000 s")],
)  # fmt: skip
def test_duration(ns: float, shown: str) -> None:
    assert text.duration(ns) == shown


def test_ratio_tells_one_percent() -> None:
    assert [text.ratio(r) for r in (1.004, 0.99, 27.93, 0.00104)] == [
        "1.004", "0.990", "27.9", "0.00104",
    ]  # fmt: skip
