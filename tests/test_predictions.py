# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that a prediction is saved and printed next to the measured value."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from grader import run
from grader.__main__ import main
from grader.base import paths
from grader.base.errors import LabError
from grader.course import predictions
from tests import reports


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(predictions, "FILE", tmp_path / "work/predictions.json")
    return predictions.FILE


def measured(to: int, n: int, ratio: float, **more: Any) -> dict[str, Any]:
    row = {"from": to - 1, "to": to, "n": n, "ratio": ratio, "phase": "compute", "metric": "ns"}
    return row | more


def test_bench_shows_it_beside_what_was_measured() -> None:
    assert predictions.comparison_with_prediction({"speedups": [measured(5, 10000, 8.0)]}) == ""
    said = predictions.keep(5, 10000, {"compute": 20, "decimal": 0.5})
    assert said.endswith("n = 10,000: compute 20 times as fast, decimal 2 times as slow")
    rows = [
        measured(5, 10000, 8.0),
        measured(5, 10000, 40.69, metric="instructions"),
        measured(5, 1000, 3.0),
        measured(6, 10000, 4.0),
        measured(5, 10000, 165.19, phase="decimal"),
    ]
    lines = predictions.comparison_with_prediction({"speedups": rows}).splitlines()
    assert lines[1:] == [
        "  stage 5, n = 10,000, compute: predicted 20 times as fast; measured 8 times as fast by"
        " ns, 40.7 times as fast by instructions",
        "  stage 5, n = 10,000, decimal: predicted 2 times as slow; measured 165 times as fast by"
        " ns",
    ]


def test_what_was_measured_is_said_in_plain_figures() -> None:
    predictions.keep(3, 93, {"compute": 0.1, "decimal": 1})
    rows = [
        measured(3, 93, 1 / 2084),
        measured(3, 93, 0.9991, phase="decimal"),
        measured(3, 93, 1.0004, phase="decimal", metric="instructions"),
    ]
    compute, decimal = predictions.comparison_with_prediction({"speedups": rows}).splitlines()[1:]
    assert compute.endswith("measured 2,084 times as slow by ns")
    assert decimal.endswith("measured just as fast by ns, just as fast by instructions")


def test_a_later_prediction_takes_the_place_of_an_earlier_one(file: Path) -> None:
    predictions.keep(10, 100000, {"compute": 3})
    predictions.keep(2, 93, {"compute": 4})
    predictions.keep(2, 93, {"compute": 5})
    rows = [measured(2, 93, 3.0), measured(10, 100000, 2.0)]
    said = predictions.comparison_with_prediction({"speedups": rows})
    assert "predicted 5" in said
    assert "predicted 4" not in said
    assert said.index("stage 2") < said.index("stage 10")
    file.write_text("{ spoilt")
    assert predictions.comparison_with_prediction({"speedups": rows}) == ""


@pytest.mark.parametrize(("words", "value"), [("20", 20), ("1/4", 0.25), (" 1.5", 1.5)])
def test_a_factor(words: str, value: float) -> None:
    assert predictions.factor(words, "compute") == value


@pytest.mark.parametrize("words", ["0", "-2", "fast", "1/0", "", "20x"])
def test_what_is_no_factor(words: str) -> None:
    with pytest.raises(LabError, match="not a number above 0; give the speedup"):
        predictions.factor(words, "compute")


def test_where_nothing_is_compared() -> None:
    with pytest.raises(
        LabError, match="not compare stages 4 and 5 there; choose one of n = 100, 300"
    ):
        predictions.keep(5, 77, {"compute": 2})
    with pytest.raises(LabError, match="no stage before it"):
        predictions.benchmark_sizes(1)


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("stage=5", "compute=20"), 0, "n = 10,000: compute 20 times as fast\nmake stage=5 bench"),
        (("stage=5",), 2, "no prediction is given; give it, like make stage=5 predict compute=20"),
        (("stage=5", "n=12", "compute=20"), 2, "n=12: bench does not compare"),
        (("compute=20",), 2, "no stage or elective is given"),
    ],
)
def test_make(words: tuple[str, ...], status: int, says: str) -> None:
    kept = paths.ROOT / "work/predictions.json"
    before = kept.read_bytes() if kept.exists() else None
    try:
        completed = subprocess.run(
            ["make", "-C", str(paths.ROOT), *words, "predict"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, "MAKEFLAGS": ""},
        )
    finally:
        if before is not None:
            kept.write_bytes(before)
        else:
            kept.unlink(missing_ok=True)
    assert completed.returncode == status, completed.stderr
    assert says in completed.stdout + completed.stderr


def test_the_run_that_bench_makes_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = reports.fabricate([1, 2], metrics=2)
    row = next(s for s in found["speedups"] if s["phase"] == "compute")
    monkeypatch.setattr(predictions, "benchmark_sizes", lambda number: [row["n"]])
    predictions.keep(2, row["n"], {"compute": 7.5})
    monkeypatch.setattr(run, "grade", lambda options, progress: found)
    main(["--own", "--stage", "1-2", "--out", str(tmp_path / "out")])
    shown = capsys.readouterr().out
    assert f"stage 2, n = {row['n']:,}, compute: predicted 7.5 times as fast; measured" in shown
    # Use --tree, which names the kit's stages, because an exported course would use the student's
    # own.
    main(["--tree", str(paths.STAGES), "--stage", "1-2", "--out", str(tmp_path / "out")])
    assert "predicted" not in capsys.readouterr().out
