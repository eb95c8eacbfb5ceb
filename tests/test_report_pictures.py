# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the pictures: their data, their layout, and drawing without a report."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from grader.base.errors import LabError
from grader.report import axis, figures, plots, stage_figures
from tests.reports import HOSTILE, NAMES, PARTS, PHASES, drawn, fabricate


def test_figures_follow_the_report() -> None:
    """Changing a number of the report changes the data of its picture and of no other picture."""
    report = fabricate([1, 2])
    before = copy.deepcopy(report)
    report["stages"][0]["samples"][1]["median"] *= 2
    first, second = (stage_figures.figures(r) for r in (before, report))
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
    looks = [figure_of(report, "time").panels[0].series[i][0] for i in range(20)]
    assert (
        len({(machine_finding.colour, machine_finding.filled) for machine_finding in looks}) == 20
    )


def test_safe_text_leaves_nothing_to_gnuplot() -> None:
    assert not set("'\"`$@\\\n{}") & set(plots.safe_text(HOSTILE))
    assert plots.safe_text("3 bignum-u32, 10 µs, 2 → 3") == "3 bignum-u32, 10 µs, 2 → 3"


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


# Three phases


def titles(report: dict[str, Any], name: str) -> list[tuple[str, bool]]:
    figure = next(f for f in stage_figures.figures(report) if f.name == name)
    return [(panel.title, panel.wide) for panel in figure.panels]


def test_two_phases_stand_side_by_side() -> None:
    assert titles(fabricate([1, 2], 2), "time") == [
        ("time of one call: compute, uml", False),
        ("time of one call: decimal, uml", False),
    ]


def test_the_whole_read_comes_first() -> None:
    report = fabricate([2, 3], 2, PHASES)
    assert titles(report, "time") == [
        ("time of one call: read, uml", True),
        ("time of one call: compute, uml", False),
        ("time of one call: decimal, uml", False),
    ]
    assert titles(report, "speedup") == [("read: how many times as fast as the stage before", True)]
    captions = {f.name: f.caption for f in stage_figures.figures(report)}
    assert all("read: the whole of a read" in caption for caption in captions.values())


def test_three_machines_keep_their_rows() -> None:
    report = fabricate([1, 2], 1, PHASES)
    for name in ("host", "other"):
        report["machines"].append({**report["machines"][0], "name": name})
        for stage in report["stages"]:
            own = [s for s in stage["samples"] if s["machine"] == "uml"]
            stage["samples"] += [{**s, "machine": name} for s in own]
    found = titles(report, "time")
    assert [wide for _, wide in found] == [True, False, False] * 3
    assert [title.split(": ")[1].split(",")[0] for title, _ in found] == [
        p for p in ("read", *PARTS) for _ in range(3)
    ]


def test_a_wide_panel_has_a_row_of_its_own() -> None:
    def panels(wide: str) -> list[figures.Panel]:
        x = axis.log_axis([1, 100], str, 10)
        return [figures.Panel("", x, x, [], wide=one == "w") for one in wide]

    assert plots._places(panels("w.."), 2) == ([(0, 0, 2), (1, 0, 1), (1, 1, 1)], 2)
    assert plots._places(panels(".w."), 2) == ([(0, 0, 1), (1, 0, 2), (2, 0, 1)], 2)
    assert plots._places(panels("...."), 2)[0] == [(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1)]
    assert plots._places(panels("w."), 1) == ([(0, 0, 1), (1, 0, 1)], 1)


# Many stages


def test_eleven_stages_by_two_metrics_in_three_phases(tmp_path: Path) -> None:
    report = fabricate(list(range(1, 12)), 2, PHASES)
    page = drawn(report, tmp_path / "report")
    assert "All 11 stages are right." in page.text
    time = (tmp_path / "report/time.svg").read_text(encoding="utf-8")
    assert all(f"{i} {name}" in time for i, (name, _) in enumerate(NAMES[:11], 1))
    speedup = (tmp_path / "report/speedup.svg").read_text(encoding="utf-8")
    assert all(f"{i} → {i + 1}" in speedup for i in range(1, 11))
    assert "scale(0" not in speedup  # An axis with a scale of 0 cannot be drawn.


def test_stage_0_leaves_the_others_their_looks() -> None:
    report = fabricate([1, 2, 3])
    before = stage_figures.stage_styles(report)
    first = {**report["stages"][0], "number": 0, "dir": "stages/0-first-module", "samples": []}
    report["stages"].insert(0, first)
    after = stage_figures.stage_styles(report)
    own = after.pop("stages/0-first-module")
    assert after == before
    assert own not in before.values()


def gains(lines: dict[tuple[int, int], dict[int, float]], **own: int) -> dict[str, Any]:
    """Return a report with these ratios by pair and n. Stage 2's speed is judged at n2."""
    report = fabricate(sorted({number for pair in lines for number in pair}))
    common = {"machine": "uml", "metric": "ns", "phase": "compute", "p": 0.0, "verdict": "faster"}
    report["speedups"] = [
        {**common, "from": pair[0], "to": pair[1], "n": n, "ratio": ratio, "ci95": None}
        for pair, values in lines.items()
        for n, ratio in values.items()
    ]
    for stage in report["stages"]:
        if f"n{stage['number']}" in own:
            stage["speed_n"] = own[f"n{stage['number']}"]
    return report


def figure_of(report: dict[str, Any], name: str) -> figures.Figure:
    return next(f for f in stage_figures.figures(report) if f.name == name)


def test_the_summary_has_a_row_for_each_step_at_its_own_n() -> None:
    lines = {(1, 2): {10: 1.5, 93: 3.0}, (2, 3): {10: 1.1, 93: 1.2}, (3, 4): {10: 2.0, 93: 4.0}}
    (panel,) = figure_of(gains(lines, n2=93, n4=40), "speedup").panels
    assert [label for _, label in panel.y.major] == [
        "1 → 2, n = 93", "2 → 3, n = 93", "3 → 4, n = 10"
    ]  # fmt: skip
    ((machine_finding, points),) = panel.series
    assert machine_finding.label == "time, uml"
    assert [(point.x, round(point.y)) for point in points] == [(3.0, 1), (1.2, 2), (2.0, 3)]
    assert [text for _, _, text, _ in panel.tags] == ["×3.00", "×1.20", "×2.00"]


def test_the_summary_has_a_mark_for_each_machine_and_hollow_ones() -> None:
    report = fabricate([2, 3], 2, PHASES)
    for entry in report["speedups"]:
        entry.update(ratio=2.0, verdict="~" if entry["machine"] == "uml" else "faster")
    (panel,) = figure_of(report, "speedup").panels
    assert [[point.sure for point in points] for _, points in panel.series] == [[False], [True]]
    assert len({point.y for _, points in panel.series for point in points}) == 2


def test_a_great_loss_is_a_note_and_takes_no_room() -> None:
    figure = figure_of(gains({(1, 2): {93: 2.0}, (2, 3): {93: 0.002}}), "speedup")
    assert len(figure.panels[0].y.major) == 1 and figure.panels[0].x.low > 0.1
    assert figure.notes == ["2 → 3 is not drawn: at n = 93 it takes 500 times the time"]


def test_each_step_has_a_small_panel_of_at_most_three_lines() -> None:
    report = fabricate(list(range(1, 12)), 2, PHASES)
    for metric in ("ns", "instructions"):
        figure = figure_of(report, f"steps-{metric}")
        assert [panel.title.split(",")[0] for panel in figure.panels] == [
            f"{i} → {i + 1}" for i in range(1, 11)
        ]
        assert all(len(panel.series) == 3 for panel in figure.panels)


def test_long_ratios_are_shortened() -> None:
    (panel,) = figure_of(gains({(7, 8): {10: 2.0, 1_000_000: 618_650.0}}), "steps-ns").panels
    assert [text for _, _, text, _ in panel.tags] == ["×619k"]
    assert "×100k" in [label for _, label in panel.y.major]


def test_rows_of_panels_are_as_high_as_they_need() -> None:
    x, rows = axis.log_axis([1, 100], str, 10), axis.row_axis(["a", "b"])
    panels = [
        figures.Panel("", x, rows, [], wide=True, rows=2),
        *(figures.Panel("", x, x, [], height=230) for _ in range(4)),
    ]
    places, columns = plots._places(panels, 3)
    first = plots.TOP + 2 * plots.ROW_HEIGHT + plots.BOTTOM
    assert columns == 3 and plots._tops(panels, places) == [0, first, first + 230, first + 460]


# Drawing without a report


def circles(panels: int = 1) -> figures.Figure:
    """Return a figure that is unrelated to stages."""
    x = axis.log_axis([1, 64], str, 10)
    line = [figures.Point(2.0**i, 3.0**i, 2.9**i, 3.1**i, i != 3) for i in range(7)]
    series = [figures.PlotSeries(figures.style(i, f"size <{i}>"), line) for i in range(2)]
    panel = figures.Panel("bytes over cores", x, axis.log_axis([1, 800], str, 10), series,
                          x_label="cores")  # fmt: skip
    return figures.Figure("cores", "Cores & bytes", "a caption", [panel] * panels, "no cores")


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_draw_one(tmp_path: Path, kind: str) -> None:
    output = tmp_path / "deep" / f"it's $(id).{kind}"
    plots.draw_one(circles(), output)
    assert [p.name for p in output.parent.iterdir()] == [output.name]
    if kind == "png":
        assert output.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    else:
        texts = "".join(ElementTree.fromstring(output.read_text(encoding="utf-8")).itertext())
        assert all(word in texts for word in ("Cores & bytes", "bytes over cores", "cores", "<1>"))


def test_picture_without_a_report(tmp_path: Path) -> None:
    made = plots.picture(circles(2), tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"cores.svg", "cores.png"}
    assert 'aria-label="Cores &amp; bytes"' in made.wide and "<svg" in made.narrow


@pytest.mark.parametrize("why", ["suffix", "data", "folder", "gnuplot"])
def test_draw_one_draws_nothing_or_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    output = tmp_path / ("old.pdf" if why == "suffix" else "old.svg")
    output.write_text("what was there")
    if why == "folder":
        output = output / "new.svg"
    if why == "gnuplot":
        monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError) as caught:
        plots.draw_one(circles(0 if why == "data" else 1), output)
    assert "\n" not in str(caught.value)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["what was there"]
