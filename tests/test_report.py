# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The report: what it refuses, what it draws, and that a report is whole or not there."""

from __future__ import annotations

import copy
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from grader import report as lab_report
from grader.base.errors import LabError
from grader.report import axis, figures, plots, store, terminal, text

ROOT = Path(__file__).resolve().parent.parent
HOSTILE = "\"'><script>alert(1)</script><b>`touch pwned`$(id)@x\\\x1b[2J\u202e\ud800\n{{ 7*7 }}"
NAMES = (
    ("iterative-u64", 93),
    ("fast-doubling-clz", 93),
    ("bignum-u32", 10_000),
    ("allocation-free-api", 10_000),
    ("schoolbook-squaring", 100_000),
    ("u64-limbs-asm", 100_000),
    ("preallocation", 1_000_000),
)


def machine(name: str, ruler: str) -> dict[str, Any]:
    return {
        "name": name,
        "kernel": "6.1.170",
        "compiler": "gcc 12.2.0",
        "cpu": "a cpu",
        "ruler": ruler,
        "warnings": [],
    }


def stage(number: int, machines: list[dict[str, Any]], chance: random.Random) -> dict[str, Any]:
    name, max_n = NAMES[number - 1]
    samples = []
    for place in machines:
        for phase in ("compute", "decimal"):
            for n in (n for n in (0, 10, 93, 1000, 10_000, 100_000, 1_000_000) if n <= max_n):
                cost = (5 + n**1.6 / number**2) * chance.uniform(0.99, 1.01)
                samples.append(
                    {
                        "machine": place["name"],
                        "ruler": place["ruler"],
                        "phase": phase,
                        "n": n,
                        "median": cost,
                        "ci95": [cost * 0.98, cost * 1.02],
                        "count": 31,
                        "outliers": 1,
                        "allocations": 0 if number < 3 else 20 // number,
                        "peak_bytes": 0 if number < 3 else n,
                    }
                )
    return {
        "number": number,
        "name": name,
        "dir": f"stages/{number}-{name}",
        "title": "a title",
        "max_n": max_n,
        "status": "ok",
        "cause": "",
        "correctness": {"passed": 1041, "failed": 0, "failures": []},
        "points": {"earned": 10, "possible": 10},
        "samples": samples,
    }


def fabricate(numbers: list[int], rulers: int = 1) -> dict[str, Any]:
    """A valid report on some stages, measured with one or two rulers."""
    chance = random.Random(1)
    machines = [machine("uml", "ns"), machine("qemu", "instructions")][:rulers]
    stages = [stage(number, machines, chance) for number in numbers]
    speedups = []
    for before, after in itertools.pairwise(stages):
        for old in before["samples"]:
            for new in after["samples"]:
                keys = ("machine", "ruler", "phase", "n")
                if all(old[key] == new[key] for key in keys):
                    ratio = old["median"] / new["median"]
                    speedups.append(
                        {key: old[key] for key in keys}
                        | {
                            "from": before["number"],
                            "to": after["number"],
                            "ratio": ratio,
                            "ci95": [ratio * 0.98, ratio * 1.02],
                            "p": None if old["ruler"] == "instructions" else 0.01,
                            "verdict": "faster" if ratio > 1.03 else "~",
                        }
                    )
    return {
        "schema": 1,
        "commit": "a3f91c2",
        "started": "2026-11-20T14:02:11+00:00",
        "seconds": 163.2,
        "seed": 1,
        "quick": False,
        "command": "grader/run.sh --seed 1",
        "machines": machines,
        "stages": stages,
        "speedups": speedups,
    }


def failed() -> dict[str, Any]:
    """One stage, which is wrong."""
    report = fabricate([1])
    report["stages"][0].update(status="wrong", cause="F(93) is wrong", samples=[])
    report["stages"][0]["correctness"] = {
        "passed": 5,
        "failed": 9,
        "failures": [
            {"test": "value", "n": 93, "expected": "122" * 70, "got": "122" * 60 + "9" + "1" * 29}
        ],
    }
    return report


class Page(HTMLParser):
    """Tags, addresses and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [
            value for name, value in attrs if name in ("href", "src", "xlink:href") and value
        ]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def drawn(report: dict[str, Any], out: Path) -> Page:
    lab_report.write(report, out)
    return Page((out / "index.html").read_text(encoding="utf-8"))


# The schema


def test_schema_is_a_schema_and_every_field_is_described() -> None:
    schema = json.loads((ROOT / "grader/report/schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    kinds = [schema, *schema["$defs"].values()]
    for kind in kinds:
        assert kind.get("description")
        for field in kind.get("properties", {}).values():
            assert field.get("description") or "$ref" in field
        if kind.get("type") == "object":
            assert kind["additionalProperties"] is False


@pytest.mark.parametrize("numbers", [[], [1], [1, 2], [1, 2, 3, 4, 5, 6, 7]])
def test_valid_reports_pass(numbers: list[int]) -> None:
    lab_report.validate(fabricate(numbers, rulers=2))


def refusals() -> list[tuple[str, dict[str, Any], str]]:
    cases = []

    def case(name: str, reason: str) -> dict[str, Any]:
        report = fabricate([1, 2])
        cases.append((name, report, reason))
        return report

    case("older", "schema 0")["schema"] = 0
    case("newer", "schema 2")["schema"] = 2
    case("not the number", "schema True")["schema"] = True
    del case("no number", "no schema number")["schema"]
    case("extra field", "surprise")["surprise"] = 1
    del case("no status", "status")["stages"][1]["status"]
    case("unknown status", "$.stages[1].status")["stages"][1]["status"] = "fine"
    case("nan", "NaN")["stages"][0]["samples"][0]["median"] = math.nan
    case("negative", "$.stages[0].samples[0].median")["stages"][0]["samples"][0]["median"] = -1
    case("ratio of zero", "ratio")["speedups"][0]["ratio"] = 0
    case("interval of one", "ci95")["speedups"][0]["ci95"] = [1]
    twice = case("directory twice", "directory occurs twice")
    twice["stages"][1]["dir"] = twice["stages"][0]["dir"]
    case("unknown machine", "does not list")["speedups"][0]["machine"] = "moon"
    twins = case("machine twice", "occurs twice")
    twins["machines"] *= 2
    return cases


@pytest.mark.parametrize(("report", "reason"), [pytest.param(r, w, id=n) for n, r, w in refusals()])
def test_invalid_reports_are_refused_in_one_line(
    report: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(LabError) as caught:
        lab_report.write(report, tmp_path / "report")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert list(tmp_path.iterdir()) == []


# Files


def test_seven_stages_by_two_rulers(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "report"
    report = fabricate([1, 2, 3, 4, 5, 6, 7], rulers=2)
    page = drawn(report, out)
    pictures = ("speedup", "time", "instructions", "memory")
    expected = {f"{name}.{kind}" for name in pictures for kind in ("svg", "png")}
    assert {p.name for p in out.iterdir()} == expected | {"report.json", "index.html"}
    for name in pictures:
        svg = (out / f"{name}.svg").read_text(encoding="utf-8")
        ElementTree.fromstring(svg)
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert json.loads((out / "report.json").read_text()) == report
    assert page.tags.count("svg") == 2 * len(pictures)
    assert len(page.ids) == len(set(page.ids))
    assert "All 7 stages are right." in page.text
    time = (out / "time.svg").read_text(encoding="utf-8")
    assert all(f"{i} {name}" in time for i, (name, _) in enumerate(NAMES, 1))
    assert all(f"{i} → {i + 1}" in page.text for i in range(1, 7))


def test_page_fetches_nothing(tmp_path: Path) -> None:
    page = drawn(fabricate([1, 2]), tmp_path / "report")
    files = {p.name for p in (tmp_path / "report").iterdir()}
    for link in page.links:
        assert link in files or (link[:1] == "#" and link[1:] in page.ids), link
    assert not {"script", "img", "link", "iframe", "object"} & set(page.tags)


def test_same_report_same_files(tmp_path: Path) -> None:
    report = fabricate([1, 2])
    shuffled = {key: report[key] for key in reversed(list(report))}
    lab_report.write(report, tmp_path / "a")
    lab_report.write(shuffled, tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_figures_follow_the_report() -> None:
    """A changed number changes the picture's data: nothing is drawn from elsewhere."""
    report = fabricate([1, 2])
    before = copy.deepcopy(report)
    report["stages"][0]["samples"][1]["median"] *= 2
    first, second = (figures.figures(r) for r in (before, report))
    assert [f.name for f in first] == [f.name for f in second]
    changed = [a.name for a, b in zip(first, second, strict=True) if a != b]
    assert changed == ["time"]


def test_round_trips_have_a_picture(tmp_path: Path) -> None:
    report = fabricate([1])
    report["stages"][0]["round_trips"] = [
        {"machine": "uml", "n": n, "user": 50_000.0 + n, "kernel": 10.0 + n,
         "difference": 49_990.0, "first": 90_000.0, "count": 100, "locked": True}
        for n in (1, 10, 93)
    ]  # fmt: skip
    drawn(report, tmp_path / "report")
    svg = (tmp_path / "report/user-kernel.svg").read_text(encoding="utf-8")
    assert all(clock in svg for clock in ("user", "kernel", "difference"))


# Little data


def test_one_failed_stage(tmp_path: Path) -> None:
    page = drawn(failed(), tmp_path / "report")
    assert "1 of 1 stage failed." in page.text
    assert "F(93) is wrong" in page.text
    assert "No picture: no stage was measured in ns." in page.text
    assert "No picture: no two stages were measured at the same n." in page.text
    assert "and 8 more failed" in page.text
    assert not list((tmp_path / "report").glob("*.svg"))
    html = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert "1<mark>1</mark>" not in html
    assert "<mark>9</mark>" in html


def test_nothing_at_all(tmp_path: Path) -> None:
    report = {"schema": 1, "commit": "", "machines": [], "stages": [], "speedups": []}
    assert "No stage was graded." in drawn(report, tmp_path / "report").text
    assert "No stage was graded." in lab_report.summary(report)


def test_one_sample(tmp_path: Path) -> None:
    report = fabricate([1])
    sample = report["stages"][0]["samples"][1]
    sample["ci95"] = None
    del sample["allocations"], sample["peak_bytes"]
    report["stages"][0]["samples"] = [sample]
    page = drawn(report, tmp_path / "report")
    assert (tmp_path / "report/time.svg").exists()
    assert "No picture: no stage reported its allocations." in page.text


def test_zeroes_and_equals_are_drawn(tmp_path: Path) -> None:
    report = fabricate([1, 2])
    for one in report["stages"]:
        for sample in one["samples"]:
            sample.update(median=0, ci95=[0, 0], allocations=0, peak_bytes=0)
    for entry in report["speedups"]:
        entry.update(ratio=1, ci95=[0, 1])
    page = drawn(report, tmp_path / "report")
    assert (tmp_path / "report/speedup.svg").exists()
    assert "No picture: no stage was measured in ns." in page.text
    assert "No picture: no stage allocates memory." in page.text


def test_many_stages_of_one_number(tmp_path: Path) -> None:
    report = fabricate([2] * 20)
    for index, one in enumerate(report["stages"]):
        one["dir"] = f"mutants/2-mutant-{index}"
    report["speedups"] = []
    page = drawn(report, tmp_path / "report")
    time = (tmp_path / "report/time.svg").read_text(encoding="utf-8")
    assert all(f">2-mutant-{i}<" in time for i in range(20))
    assert "2-mutant-19" in page.text
    looks = [figures.figures(report)[1].panels[0].series[i][0] for i in range(20)]
    assert len({(look.colour, look.filled) for look in looks}) == 20


# Strings of a stage


def hostile() -> dict[str, Any]:
    """HOSTILE wherever the form allows any text."""
    report = fabricate([1, 2], rulers=2)
    report["command"] = report["commit"] = report["started"] = HOSTILE
    for one in report["stages"]:
        one.update(
            name=HOSTILE, title=HOSTILE, teaches=HOSTILE, cause=HOSTILE, log=HOSTILE,
            status="crashed", dir=f"{one['dir']}/{HOSTILE}",
        )  # fmt: skip
        one["correctness"]["failed"] = 2
        one["correctness"]["failures"] = [
            {"test": HOSTILE, "n": None, "expected": HOSTILE, "got": HOSTILE + "x"},
            {"test": HOSTILE, "n": 1, "expected": "a" + HOSTILE, "got": HOSTILE},
        ]
    for place in report["machines"]:
        place.update(kernel=HOSTILE, compiler=HOSTILE, cpu=HOSTILE, warnings=[HOSTILE])
        place["facts"] = {HOSTILE: HOSTILE}
        name = place["name"]
        place["name"] = name + HOSTILE
        for entry in report["speedups"] + [s for g in report["stages"] for s in g["samples"]]:
            if entry["machine"] == name:
                entry["machine"] += HOSTILE
    report["gaps"] = [{"from": 1, "to": 2, "reason": HOSTILE}]
    report["disagreements"] = [
        {"phase": "compute", "n": 93, "from": 1, "to": 2, "ns_verdict": "faster",
         "instructions_verdict": "~", "why": HOSTILE}
    ]  # fmt: skip
    return report


def test_hostile_strings_stay_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = drawn(hostile(), tmp_path / "report")
    html = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert "script" not in page.tags
    assert html.count("<b>`") == 0
    assert "<script>alert(1)</script>" in page.text  # shown, as text
    assert "{{ 7*7 }}" in page.text
    assert not re.search(
        "[\x00-\x09\x0b-\x1f\u202a-\u202e\ud800-\udfff]", page.text.replace("\t", "")
    )
    for path in (tmp_path / "report").glob("*.svg"):
        tree = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        assert not [e for e in tree.iter() if e.tag.endswith("script")]
    assert not list(tmp_path.rglob("*pwned*"))


def test_hostile_strings_on_a_terminal() -> None:
    for line in lab_report.summary(hostile(), colour=False).splitlines():
        assert line.isprintable()
        assert len(line) <= terminal.COLUMNS


def test_safe_text_leaves_nothing_to_gnuplot() -> None:
    assert not set("'\"`$@\\\n{}") & set(plots.safe_text(HOSTILE))
    assert plots.safe_text("3 bignum-u32, 10 µs, 2 → 3") == "3 bignum-u32, 10 µs, 2 → 3"


# The terminal


def test_summary_has_the_tables() -> None:
    report = fabricate([1, 2, 3, 4, 5, 6, 7], rulers=2)
    report["gaps"] = [{"from": 2, "to": 3, "phase": "decimal", "reason": "no n in common"}]
    shown = lab_report.summary(report, colour=False)
    assert all(len(line) <= terminal.COLUMNS for line in shown.splitlines())
    assert re.search(r"^ +7  preallocation +ok +1,041 +0 +10/10 +1,000,000$", shown, re.M)
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
    assert "\x1b" not in lab_report.summary(failed())  # pytest's output is no terminal


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


@pytest.mark.parametrize(
    ("low", "high", "least"),
    [(5, 5, 10), (5, 40, 10), (0.98, 1.03, 1.01), (1e-3, 30, 2), (4, 2e8, 20)],
)
def test_axis_holds_its_values_and_has_ticks(low: float, high: float, least: float) -> None:
    found = axis.log_axis([low, high], str, least)
    assert found.low < low and high < found.high
    assert found.high / found.low >= least
    ticks = [at for at, _ in found.major]
    assert 3 <= len(ticks) <= 9
    assert all(found.low <= at <= found.high for at in ticks + found.minor)
    assert not set(ticks) & set(found.minor)


# Whole or not there


def test_a_new_report_takes_the_place_of_the_old(tmp_path: Path) -> None:
    out = tmp_path / "report"
    lab_report.write(fabricate([1, 2], rulers=2), out)
    assert (out / "instructions.svg").exists()
    lab_report.write(failed(), out)
    assert {p.name for p in out.iterdir()} == {"report.json", "index.html"}
    assert [p.name for p in tmp_path.iterdir()] == ["report"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError, LabError])
@pytest.mark.parametrize("place", ["draw", "page", "_swap", "rename"])
def test_a_stopped_write_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, stop: type[BaseException]
) -> None:
    out = tmp_path / "report"
    lab_report.write(failed(), out)
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    rename = Path.rename

    def halt(*_: object) -> None:
        raise stop("stopped")

    def halt_second(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise stop("stopped")
        return rename(path, target)

    if place == "rename":
        monkeypatch.setattr(Path, "rename", halt_second)
    else:
        monkeypatch.setattr(store, place, halt)
    with pytest.raises((stop, LabError)):
        lab_report.write(fabricate([1, 2]), out)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["report"]


def test_a_directory_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(LabError, match=r"thesis\.tex"):
        lab_report.write(failed(), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_gnuplot_missing_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="apt-get install gnuplot-nox"):
        lab_report.write(failed(), tmp_path / "report")


def test_gnuplot_failing_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin" / "gnuplot"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'no\nmemory' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    with pytest.raises(LabError, match=r"gnuplot failed on speedup\.svg: no memory"):
        lab_report.write(fabricate([1, 2]), tmp_path / "report")
    assert not (tmp_path / "report").exists()


# python -m grader.report


def redraw(out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader.report", str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_redraw(tmp_path: Path) -> None:
    out = tmp_path / "report"
    lab_report.write(fabricate([1, 2]), out)
    (out / "time.svg").unlink()
    done = redraw(out)
    assert done.returncode == 0, done.stderr
    assert (out / "time.svg").exists()
    assert "All 2 stages are right." in done.stdout


@pytest.mark.parametrize("content", [None, "", "[1]", '{"schema": 7}', '{"schema": 1}'])
def test_redraw_refuses_in_one_line(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "report.json").write_text(content)
    done = redraw(tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
