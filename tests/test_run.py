# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test grader/run.sh from outside: exit status, report, crashes, Ctrl-C."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import paths
from grader.report import schema
from tests.leftovers import leftovers

RUN = paths.ROOT / "grader/run.sh"


@pytest.fixture
def place() -> Iterator[Path]:
    """Yield a temporary folder with a short path, since machines keep sockets in the folder."""
    folder = Path(tempfile.mkdtemp(prefix="t"))
    yield folder
    shutil.rmtree(folder)


def environment(place: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(place)}


def run(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(RUN), *words], capture_output=True, text=True, env=environment(place), timeout=600
    )


def test_two_stages_make_a_report(place: Path) -> None:
    out = place / "report"
    completed = run(
        place, "--stage", "1,2", "--quick", "--out", str(out), "--json", str(place / "r.json")
    )
    assert completed.returncode == 0, completed.stderr
    report = json.loads((out / "report.json").read_text())
    schema.validate(report)
    assert json.loads((place / "r.json").read_text()) == report
    assert [stage["status"] for stage in report["stages"]] == ["ok", "ok"]
    compute = [s for s in report["speedups"] if s["phase"] == "compute"]
    assert {(s["from"], s["to"]) for s in compute} == {(1, 2)}
    for row in compute:
        assert row["ci95"][0] <= row["ratio"] <= row["ci95"][1]
    # The difference in speed is visible even on a busy machine: the loop takes 93 steps, and
    # doubling takes 7.
    assert next(s["ratio"] for s in compute if s["n"] == 93) > 1.2
    for name in ("index.html", "time.svg", "time.png", "speedup.svg", "speedup.png"):
        assert (out / name).stat().st_size > 1000
    assert leftovers(place) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--stage", "99"], "there is no stage 99"),
        (["--stage", "one"], "give numbers"),
        (["--machine", "abacus"], "machine abacus does not exist"),
        (["--tree", "/nowhere"], "give a directory of stages to --tree"),
        (["--tree", str(paths.ROOT / "grader")], "holds no stage"),
    ],
)
def test_a_bad_request_is_one_line_and_exit_2(place: Path, words: list[str], says: str) -> None:
    completed = run(place, *words)
    assert completed.returncode == 2
    assert says in completed.stderr
    assert len(completed.stderr.strip().splitlines()) == 1
    assert completed.stdout == ""


def test_a_failing_stage_is_exit_1_and_the_others_go_on(place: Path) -> None:
    tree = place / "tree"
    shutil.copytree(paths.STAGES / "1-iterative-u64", tree / "1-iterative-u64")
    broken = tree / "2-broken"
    shutil.copytree(paths.STAGES / "2-fast-doubling-clz", broken)
    source = broken / "fib.c"
    source.write_text(source.read_text().replace("f->word = a;", "f->word = a + (n == 77);"))
    (broken / "Makefile").write_text(f"all:\n\ttouch {place}/ran\n$(shell touch {place}/ran)\n")
    completed = run(
        place, "--tree", str(tree), "--machine", "uml", "--no-measure", "--out", str(place / "out")
    )
    assert completed.returncode == 1
    report = json.loads((place / "out/report.json").read_text())
    assert [stage["status"] for stage in report["stages"]] == ["ok", "wrong"]
    assert "F(77)" in report["stages"][1]["cause"]
    assert not (place / "ran").exists()


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("moment", ["set up", "build", "verify", "measure", "draw"])
def test_a_signal_leaves_nothing(place: Path, moment: str, number: signal.Signals) -> None:
    out = place / "report"
    process = subprocess.Popen(
        [str(RUN), "--machine", "uml", "--stage", "1,2", "--quick", "--out", str(out)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=environment(place),
        start_new_session=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if moment in line:
            break
    time.sleep(0.1)
    # Signal the whole foreground process group, as a terminal does.
    os.killpg(process.pid, number)
    rest = process.stderr.read()
    assert process.wait(30) in (130, 0 if moment == "draw" else 130), rest
    assert "Traceback" not in rest
    assert leftovers(place) == []
    assert not out.exists() or (out / "index.html").exists()


def test_a_killed_grader_takes_its_machine_along(place: Path) -> None:
    process = subprocess.Popen(
        [str(RUN), "--machine", "uml", "--stage", "1", "--out", str(place / "report")],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=environment(place),
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "measure" in line:
            break
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while leftovers(place) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert leftovers(place) == []
