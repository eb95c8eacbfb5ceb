# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test make compare-gmp: its rounds, ratios, table and picture, and a real run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from decimal import localcontext
from pathlib import Path

import pytest

from grader.base import paths
from grader.base.errors import LabError
from grader.exercise.files import expected_values
from grader.exercise.files.stages import find
from grader.report.plots import safe_text
from grader.tools import compare_gmp, decimal_peer, peer_figure, peer_rows
from grader.tools.peer_rows import COMPUTE, DECIMAL, GMP, PYTHON, READ, Memory, PeerRun

SLOW, FAST = "7 preallocation", "11 number-theoretic-transform"


def recorded() -> PeerRun:
    """Return a run of three rounds, one of them disturbed. Only FAST has n = 1,000,000."""
    run = PeerRun("a computer, gcc 1.2.3", [GMP, SLOW, FAST, PYTHON])
    for n, names in ((100_000, run.names), (1_000_000, [GMP, FAST, PYTHON])):
        for name in names:
            compute, decimal = {
                GMP: (100.0, 300.0),
                SLOW: (400.0, 2200.0),
                FAST: (152.0, 8.0),
                PYTHON: (1600.0, 24.0),
            }[name]
            for busy in (1.0, 1.0, 7.0):
                run.add(n, name, compute * busy, decimal * busy)
    run.memory = {GMP: Memory(10**6, 208_988, 623_640), FAST: Memory(10**6, 208_988, 1_709_552)}
    return run


def line(shown: str, phase: str, name: str) -> list[str]:
    """Return the table cells of one stage or library in one phase."""
    part = shown[shown.index(f"{phase}, times") :]
    found = re.search(rf"^{re.escape(name)} +(.*)$", part, re.M)
    assert found
    return found[1].split()


def test_ratios_are_of_the_same_round() -> None:
    run = recorded()
    assert run.ratios(100_000, SLOW, READ) == [6.5] * 3
    assert run.ratios(100_000, SLOW, COMPUTE) == [4.0] * 3
    assert run.ratios(1_000_000, PYTHON, READ, FAST) == [10.15] * 3
    assert run.ratios(1_000_000, SLOW, READ) == []


def test_table() -> None:
    shown = peer_rows.table(recorded())
    assert line(shown, READ, "n") == ["100,000", "1,000,000"]
    assert line(shown, READ, "GMP itself") == ["400", "ns", "400", "ns"]
    assert line(shown, READ, SLOW) == ["6.50"]
    assert line(shown, READ, FAST) == ["0.40", "0.40"]
    assert line(shown, READ, PYTHON) == ["4.06", "4.06"]
    assert line(shown, COMPUTE, PYTHON) == ["16.0", "16.0"]
    assert line(shown, DECIMAL, FAST) == ["0.027", "0.027"]
    assert "for Python below 100,000" in shown
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [(1234.5, "1,234"), (99.96, "100.0"), (12.34, "12.3"), (9.994, "9.99"), (0.354, "0.35"),
     (0.0951, "0.10"), (0.0712, "0.071"), (0.0061, "0.006")],
)  # fmt: skip
def test_two_decimals_below_ten(ratio: float, shown: str) -> None:
    assert peer_rows.times(ratio) == shown


def test_lines_below_the_table() -> None:
    run = recorded()
    said = peer_rows.versus_peer(run, peer_rows.PYTHON)
    assert said == [
        f"stage 11 is 10.2 times as fast as Python's decimal at n = {n} (whole read)"
        for n in ("100,000", "1,000,000")
    ]
    head, gmp, fast = peer_rows.memory_lines(run)
    assert head == "Peak memory of a call at n = 1,000,000, over its 208,988 digits as text:"
    assert gmp.split() == ["GMP", "0.62", "MB", "2.98", "times"]
    assert fast.split() == ["11", "number-theoretic-transform", "1.71", "MB", "8.18", "times"]
    run.names.remove(PYTHON)
    assert peer_rows.versus_peer(run, peer_rows.PYTHON) == []
    assert "Python" not in peer_rows.table(run).splitlines()[-1]


def test_a_run_is_kept_and_read_back(tmp_path: Path) -> None:
    run = recorded()
    peer_rows.write(run, tmp_path / "rows.tsv")
    assert peer_rows.read(tmp_path / "rows.tsv") == run


@pytest.mark.parametrize(
    "content",
    [None, "", "n\tround\n", "1\t2\tGMP\tx\t3\n", "# memory\tGMP\t1\n", "1\t0\tA\t1\t1\n"],
)
def test_what_is_no_run_is_one_line(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "rows.tsv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(LabError) as caught:
        peer_rows.read(path)
    assert len(str(caught.value).splitlines()) == 1


def test_picture() -> None:
    figure = peer_figure.figure(recorded())
    assert [panel.wide for panel in figure.panels] == [True, False, False]
    read = figure.panels[0]
    assert read.baseline == 1.0
    assert [style.label for style, _ in read.series] == [SLOW, FAST, PYTHON]
    assert [(p.x, p.y) for p in read.series[1][1]] == [(1e5, 0.4), (1e6, 0.4)]
    assert {tag[2] for tag in read.tags} <= {"7", "11", "Python"}
    shown = [panel.title for panel in figure.panels] + figure.notes
    shown += [style.label for style, _ in read.series]
    assert [safe_text(text) for text in shown] == shown
    assert len(peer_figure.figure(recorded(), [READ]).panels) == 1


def test_every_stage_has_a_look_of_its_own() -> None:
    run = PeerRun("", [GMP, *(f"{n} stage" for n in range(3, 12)), PYTHON])
    for name in run.names:
        run.add(100, name, 1.0, 1.0)
        run.add(1000, name, 1.0, 1.0)
    looks = [(s.colour, s.filled) for s, _ in peer_figure.figure(run).panels[0].series]
    assert len(set(looks)) == len(looks) == 10


def test_a_number_stands_on_no_other_line() -> None:
    """Labels of lines that end at the same point are at different heights and cover no line."""
    run = PeerRun("", [GMP, "3 a", "4 b", "5 c"])
    for n, names in ((100, run.names), (1000, run.names), (10_000, [GMP, "5 c"])):
        for name in names:
            run.add(n, name, 10.0 if name != GMP else 1.0, 0.0)
    panel = peer_figure.figure(run, [COMPUTE]).panels[0]
    at_end = [y for x, y, *_ in panel.tags if x == 1000]
    assert at_end and len(set(at_end)) == len(at_end)
    assert 10.0 not in at_end


@pytest.fixture
def exact() -> Iterator[None]:
    with localcontext():
        decimal_peer.be_exact()
        yield


@pytest.mark.usefixtures("exact")
def test_the_second_process_computes_the_same_numbers() -> None:
    for n in (*range(300), 10_007, 20_000):
        assert str(decimal_peer.fibonacci(n)) == expected_values.digits(n)
        assert decimal_peer.fibonacci_modulo(n, 10**9 + 7) == expected_values.fibonacci(n) % (
            10**9 + 7
        )


@pytest.mark.usefixtures("exact")
def test_the_second_process_looks_at_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    right = decimal_peer.fibonacci
    monkeypatch.setattr(decimal_peer, "fibonacci", lambda n: right(n) + 10)
    with pytest.raises(ValueError, match="is wrong"):
        decimal_peer.prepare(1000)


def call(*words: str) -> list[str]:
    return [sys.executable, "-m", "grader.tools.compare_gmp", *words]


@pytest.fixture(scope="module")
def out() -> Path:
    """Return the build folder. Later runs reuse it, as with make compare-gmp."""
    return paths.BUILD / "tests" / "compare-gmp"


@pytest.mark.long
def test_a_real_run(out: Path) -> None:
    completed = subprocess.run(
        call("--rounds", "3", "--most", "100000", "--out", str(out)),
        cwd=paths.ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    # If the output is a pipe, progress is printed as plain lines, each only once.
    steps = [text.split("] ")[1] for text in completed.stderr.splitlines()]
    assert "measure n = 100 to 100,000" in steps
    assert len(set(steps)) == len(steps)
    assert "\r" not in completed.stderr
    assert "\033" not in completed.stderr
    with_bignums = [s for s in find(paths.STAGES) if s.manifest.max_n > 93]
    for stage in with_bignums:
        cells = line(completed.stdout, READ, f"{stage.number} {stage.manifest.name}")
        most = min(stage.manifest.max_n, 100_000)
        assert len(cells) == len(str(most)) - 2
    assert len(line(completed.stdout, READ, PYTHON)) == 1
    newest = with_bignums[-1].number
    faster = rf"stage {newest} is [\d.]+ times as fast as Python's decimal at n = 100,000"
    assert re.search(faster, completed.stdout)
    run = peer_rows.read(out / "rows.tsv")
    assert run.numbers() == [100, 300, 1000, 3000, 10_000, 30_000, 100_000]
    assert {len(ns) for ns in run.rows.values()} == {3}
    assert run.memory[FAST].digits == len(expected_values.digits(100_000))
    for kind in ("svg", "png"):
        assert (out / f"compare-gmp.{kind}").stat().st_size > 10_000


def test_a_stage_may_be_wrong(out: Path, tmp_path: Path) -> None:
    """A stage whose digits differ from GMP's is not measured."""
    so = tmp_path / "wrong.so"
    source = tmp_path / "wrong.c"
    source.write_text(
        '#include "stage.h"\n'
        "int fib_compute(struct fib_call *c, u64 n, union fib_value *f) { return 0; }\n"
        "ssize_t fib_decimal(struct fib_call *c, const union fib_value *f, char *d, size_t s)\n"
        "{ d[0] = '7'; return 1; }\n"
        "void fib_release(union fib_value *f) { }\n"
    )
    include = [f"-I{paths.COMMON}", f"-I{paths.COMMON / 'userspace'}"]
    subprocess.run(["cc", "-shared", "-fPIC", *include, "-o", so, source], check=True)
    # Start the measuring process as compare_gmp.main() does, but without the kit's stages.
    program, _ = compare_gmp.build([], tmp_path, compare_gmp.Progress())
    peer = compare_gmp.Peer([str(program), "rounds", "1000", f"5000:{so}"])
    with pytest.raises(LabError, match="digits are not GMP's"):
        peer.answer()
    peer.end()


def test_python_without_libmpdec(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare_gmp.has_libmpdec()
    monkeypatch.setitem(sys.modules, "_decimal", None)
    assert not compare_gmp.has_libmpdec()
    monkeypatch.setattr(compare_gmp, "NUMBERS", (100, 100_000))
    assert compare_gmp.main(["--rounds", "3", "--most", "100000", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    lines = [text for text in said.splitlines() if "Python" in text]
    assert lines == [
        "Python's decimal is not compared: it is not libmpdec, because _decimal is missing"
    ]


def test_stopped_while_measuring(out: Path) -> None:
    process = subprocess.Popen(
        call("--rounds", "1000", "--most", "100", "--out", str(out)),
        cwd=paths.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr
    for text in process.stderr:
        if "measure" in text:
            break
    process.send_signal(signal.SIGINT)
    said = process.stderr.read().splitlines()
    assert process.wait(30) == 130
    assert said == ["compare-gmp: stopped; no process is left running"]
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert os.fspath(out / "compare_gmp") not in running.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rounds", "2"], "3 to 1000"),
        (["--most", "99"], "give at least 100"),
        (["--most", "x"], "int"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str) -> None:
    completed = subprocess.run(
        call(*words), cwd=paths.ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert completed.returncode == 2
    assert said in completed.stderr.splitlines()[-1]
