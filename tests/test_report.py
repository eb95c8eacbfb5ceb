# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the report: invalid input, the HTML page, and that an interrupted write changes nothing."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from grader import report as lab_report
from grader.base.errors import LabError
from grader.report import report_file
from grader.report.schema import VERSION
from tests.reports import NAMES, PHASES, drawn, fabricate, failed, hostile, lose

ROOT = Path(__file__).resolve().parent.parent


# The schema


def test_schema_is_a_schema_and_every_field_is_described() -> None:
    schema = json.loads((ROOT / "grader/report/schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    kinds = [schema, *schema["$defs"].values()]
    for kind in kinds:
        assert kind.get("description")
        for field in kind.get("properties", {}).values():
            assert field.get("description")
        if kind.get("type") == "object":
            assert kind["additionalProperties"] is False


@pytest.mark.parametrize("numbers", [[], [1], [1, 2], [1, 2, 3, 4, 5, 6, 7]])
def test_valid_reports_pass(numbers: list[int]) -> None:
    lab_report.validate(fabricate(numbers, metrics=2))
    lab_report.validate(fabricate(numbers, phases=PHASES))


def test_points_may_be_rounded_fewer_or_none() -> None:
    report = fabricate([1, 2, 3, 4])
    stages = report["stages"]
    stages[0].update(points=None, points_note="it is here as an object only")
    lose(stages[1], "device", 1 / 3, "")
    stages[1]["points"]["earned"] = round(stages[1]["points"]["earned"], 2)
    stages[2]["points"]["lines"].pop()
    stages[2]["points"].update(earned=90, possible=90)
    stages[3]["points"] = None
    lab_report.validate(report)


def refusals() -> list[tuple[str, dict[str, Any], str]]:
    cases = []

    def case(name: str, reason: str) -> dict[str, Any]:
        report = fabricate([1, 2])
        cases.append((name, report, reason))
        return report

    older = f"schema 1, this kit reads {VERSION}; run grader/run.sh again"
    case("older", older)["schema"] = 1
    case("newer", f"schema 99, this kit reads {VERSION}; draw it with the newer kit")["schema"] = 99
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
    case("unknown machine", "no machine of the report has")["speedups"][0]["machine"] = "moon"
    case("unknown phase", "phase")["stages"][0]["samples"][0]["phase"] = "write"
    del case("points left away", "points")["stages"][0]["points"]
    case("no findings", "findings")["stages"][0]["findings"] = None
    case("more than all", "points")["stages"][0]["points"]["possible"] = 101
    case("points without lines", "add up to 0 points earned")["stages"][0]["points"]["lines"] = []
    case("points lost nowhere", "not to 99")["stages"][0]["points"]["earned"] = 99
    line = case("more than possible", "earns 70 of 60")["stages"][0]["points"]["lines"][0]
    line["earned"] = 70
    case("empty note", "points_note")["stages"][0]["points_note"] = ""
    fine = {"by": "verify", "status": "ok", "code": "ok", "cause": "all is well"}
    case("finding that is none", "findings[0].status")["stages"][0]["findings"] = [fine]
    nobody = {"status": "wrong", "code": "wrong", "cause": "something"}
    case("finding of nobody", "by")["stages"][0]["findings"] = [nobody]
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


def test_seven_stages_by_two_metrics(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "report"
    report = fabricate([1, 2, 3, 4, 5, 6, 7], metrics=2)
    page = drawn(report, out)
    pictures = ("speedup", "steps-ns", "steps-instructions", "time", "instructions", "memory")
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
    assert all(f"{i} {name}" in time for i, (name, _) in enumerate(NAMES[:7], 1))
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


# Points and findings


def test_points_are_on_the_page(tmp_path: Path) -> None:
    report = fabricate([1, 2, 3, 4])
    lose(report["stages"][1], "speed", 2.5, "a little slow")
    report["stages"][2].update(points=None, points_note="it is here as an object only")
    report["stages"][3]["points"] = None
    page = drawn(report, tmp_path / "report")
    html = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    cards = re.findall(r'<section class="card.*?</section>', html, re.S)[:4]
    assert [card.count('<table class="points">') for card in cards] == [1, 1, 0, 0]
    assert [card.count('class="lost"') for card in cards] == [0, 1, 0, 0]
    assert all(word in cards[1] for word in ("97.5/100", "7.5/10", "a little slow", "sub"))
    assert "No points: it is here as an object only" in cards[2]
    assert "oints" not in cards[3]
    assert "97.5/100" in page.text


def test_without_points_nothing_is_said_of_them(tmp_path: Path) -> None:
    report = fabricate([1, 2])
    for one in report["stages"]:
        one["points"] = None
    drawn(report, tmp_path / "report")
    html = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert "points" not in html.partition("</style>")[2]
    assert "points" not in lab_report.summary(report)


def test_findings_beside_the_cause_are_on_the_page(tmp_path: Path) -> None:
    report = failed()
    stage = report["stages"][0]
    page = drawn(report, tmp_path / "one")
    assert "All that was found wrong" not in page.text
    stage["log"] = "the log of the cause"
    stage["findings"][0]["log"] = stage["log"]
    stage["findings"].append(
        {
            "by": "qemu",
            "status": "crashed",
            "code": "crashed",
            "cause": "a page fault",
            "log": "RIP: elsewhere",
        }
    )
    page = drawn(report, tmp_path / "two")
    assert "All that was found wrong" in page.text
    for word in ("verify", "qemu", "crashed", "a page fault", "RIP: elsewhere"):
        assert word in page.text
    assert page.text.count("the log of the cause") == 1


def test_the_cause_may_name_its_finder(tmp_path: Path) -> None:
    report = failed()
    finding = {"by": "qemu", "status": "crashed", "code": "crashed", "cause": "a page fault"}
    report["stages"][0].update(status="crashed", cause="qemu: a page fault", findings=[finding])
    assert "All that was found wrong" not in drawn(report, tmp_path / "report").text


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
    report = {"schema": VERSION, "commit": "", "machines": [], "stages": [], "speedups": []}
    assert "No stage was graded." in drawn(report, tmp_path / "report").text
    assert "No stage was graded." in lab_report.summary(report)


# Strings of a stage


def test_hostile_strings_stay_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = drawn(hostile(), tmp_path / "report")
    html = (tmp_path / "report/index.html").read_text(encoding="utf-8")
    assert "script" not in page.tags
    assert html.count("<b>`") == 0
    assert "<script>alert(1)</script>" in page.text  # shown as text
    assert "{{ 7*7 }}" in page.text
    assert not re.search(
        "[\x00-\x09\x0b-\x1f\u202a-\u202e\ud800-\udfff]", page.text.replace("\t", "")
    )
    for path in (tmp_path / "report").glob("*.svg"):
        tree = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        assert not [e for e in tree.iter() if e.tag.endswith("script")]
    assert not list(tmp_path.rglob("*pwned*"))


# Complete or unchanged files


def test_a_new_report_takes_the_place_of_the_old(tmp_path: Path) -> None:
    out = tmp_path / "report"
    lab_report.write(fabricate([1, 2], metrics=2), out)
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
        raise stop("stopped", "run it again")

    def halt_second(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise stop("stopped", "run it again")
        return rename(path, target)

    if place == "rename":
        monkeypatch.setattr(Path, "rename", halt_second)
    else:
        monkeypatch.setattr(report_file, place, halt)
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
    completed = redraw(out)
    assert completed.returncode == 0, completed.stderr
    assert (out / "time.svg").exists()
    assert "All 2 stages are right." in completed.stdout


@pytest.mark.parametrize("content", [None, "", "[1]", '{"schema": 7}', f'{{"schema": {VERSION}}}'])
def test_redraw_refuses_in_one_line(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "report.json").write_text(content)
    completed = redraw(tmp_path)
    assert completed.returncode == 2
    assert completed.stdout == ""
    assert len(completed.stderr.splitlines()) == 1
    assert completed.stderr.count("report.json") == 1


def test_redraw_says_what_to_do_about_an_older_report(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps(fabricate([1]) | {"schema": 1}))
    assert redraw(tmp_path).stderr == (
        f"report: {tmp_path / 'report.json'}: report has schema 1, this kit reads {VERSION};"
        " run grader/run.sh again\n"
    )
