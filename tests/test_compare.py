# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test grader/compare.sh: a stage against itself, and against a copy that does more work."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from grader import compare
from grader.base import paths
from grader.base.errors import LabError
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.measure.comparison import Compared
from grader.scoring import stage_comparison
from grader.scoring.stage_comparison import ComparisonRow
from tests.leftovers import leftovers

STAGE = paths.STAGES / "5-schoolbook-squaring"

# This code costs approximately as much as `steps` steps of the multiplication loop.
WASTE = """\
static __attribute__((__noinline__)) void waste(const limb_t *a, size_t steps)
{
	limb_t carry = 0;

	for (size_t i = 0; i < steps; i++) {
		dlimb_t sum = (dlimb_t)a[0] * 3 + a[0] + carry;

		asm volatile("" : : "r"((limb_t)sum) : "memory");
		carry = sum >> LIMB_BITS;
	}
}

"""


def slower_copy(folder, percent):
    """Copy stage 5 with this percentage of additional steps in its multiplications."""
    copy = folder / f"5-{percent}-percent-more"
    shutil.copytree(STAGE, copy)
    path = copy / "bignum.c"
    text = path.read_text()
    first = text.rindex("/*", 0, text.index("static limb_t limbs_add("))
    text = text[:first] + WASTE + text[first:]
    for loop, steps in (
        ("	for (size_t i = 0; i < a->size; i++) {", f"a->size * b->size * {percent} / 100"),
        ("	for (size_t i = 0; i < size - 1; i++) {", f"size * size * {percent} / 200"),
    ):
        assert text.count(loop) == 1
        text = text.replace(loop, f"	waste(a->limb, {steps});\n{loop}")
    path.write_text(text)
    return copy


def run(*words, timeout=240):
    return subprocess.run(
        [paths.ROOT / "grader/compare.sh", *map(str, words)],
        cwd=paths.ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def row(verdict, ratio=1.0, metric="ns", phase="compute", n=1000):
    return ComparisonRow(metric, phase, n, Compared(1.0, 1.0, ratio, ratio, ratio, None, verdict))


def test_names_keep_apart(tmp_path):
    other = tmp_path / STAGE.name
    other.mkdir()
    one, two = compare.pair(STAGE, other, None)
    assert one.key != two.key
    assert (one.number, two.number) == (5, 5)
    one, two = compare.pair(STAGE, STAGE, None)
    assert one.key != two.key


def test_a_directory_without_a_number_takes_that_of_the_other(tmp_path):
    mine = tmp_path / "my try!"
    mine.mkdir()
    one, two = compare.pair(mine, STAGE, None)
    assert (one.number, two.number) == (5, 5)
    assert re.fullmatch(r"[\w.+-]+", one.key)
    assert compare.pair(mine, mine, 3)[0].manifest.name == "bignum-u32"
    with pytest.raises(LabError, match="no stage number in the name"):
        compare.pair(mine, mine, None)
    with pytest.raises(LabError, match="is not a directory"):
        compare.pair(STAGE, tmp_path / "5-nothing", None)
    with pytest.raises(LabError, match="the kit has no stage 77"):
        compare.pair(mine, mine, 77)


def test_n_is_chosen_from_both_manifests():
    def pair(one: int, two: int) -> tuple[Stage, Stage]:
        directories = {s.number: s.directory for s in stages.find(paths.STAGES)}
        return compare.pair(directories[one], directories[two], None)

    assert compare.chosen_n(*pair(5, 7), []) == (100, 1000, 10000)
    assert compare.chosen_n(*pair(1, 2), [])[-1] == 93
    assert compare.chosen_n(*pair(5, 7), [50, 7, 50]) == (7, 50)
    with pytest.raises(LabError, match="support n up to 93"):
        compare.chosen_n(*pair(2, 5), [94])
    with pytest.raises(LabError, match="share no n"):
        compare.chosen_n(*pair(1, 5), [])


def test_the_verdict_in_one_word():
    assert stage_comparison.overall([row("~"), row("~")]) == "~"
    assert stage_comparison.overall([row("~"), row("slower")]) == "slower"
    assert stage_comparison.overall([row("faster"), row("faster")]) == "faster"
    assert stage_comparison.overall([row("faster"), row("slower")]) == "mixed"


def test_the_verdict_in_one_line():
    found = [
        row("slower", 1 / 1.011, "instructions", n=10000),
        row("slower", 1 / 1.002, "instructions", n=100),
        row("~", 1.0, "instructions", "decimal"),
        row("~"),
        row("~", phase="decimal"),
    ]
    line = stage_comparison.verdict_line(("A", "B"), found)
    assert line == (
        "slower  B against A; instructions: compute +1.1 % at n = 10,000, decimal ~; time: ~"
    )
    found = [row("faster", 2.5), row("slower", 1 / 1.002, phase="decimal")]
    assert stage_comparison.verdict_line(("A", "B"), found) == (
        "mixed  B against A; time: compute 2.50 times less at n = 1,000,"
        " decimal +0.20 % at n = 1,000"
    )


def test_each_n_that_was_asked_for_has_a_line():
    found = [
        row("slower", 1 / 1.002, "instructions", "decimal", n=10),
        row("faster", 2.5, n=1000),
        row("~", 0.9, n=10),
        row("~", phase="decimal", n=10),
    ]
    assert stage_comparison.lines_by_n(found).splitlines() == [
        "n = 10: instructions: decimal +0.20 %; time: compute ~, decimal ~",
        "n = 1,000: time: compute 2.50 times less",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([STAGE, "nowhere"], "is not a directory"),
        ([STAGE, STAGE, "--n", "ten"], "give numbers like"),
        ([STAGE, STAGE, "--n", "1000000"], "support n up to 100000"),
        ([STAGE, STAGE, "--plot", "a.jpg"], "give a .svg or a .png"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(words, said):
    done = run(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.machine
@pytest.mark.long
def test_a_stage_against_itself(tmp_path):
    # Retry, because other load on the computer rarely distorts the time three times in a row.
    for _ in range(3):
        done = run(STAGE, STAGE, "--details", "--plot", tmp_path / "picture.svg")
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        if lines[0].startswith("~  "):
            break
    assert lines[0].startswith("~  ")
    exact = [line.split() for line in lines if line.startswith("instructions")]
    assert len(exact) == 6
    # The kernel's allocator may take a few instructions more in one of two boots.
    one, other = ([float(words[i].replace(",", "")) for words in exact] for i in (3, 4))
    assert one == pytest.approx(other, rel=1e-4)
    assert all(words[-1] == "~" for words in exact)
    assert sum(line.startswith("time, ns") for line in lines) == 6
    assert "<svg" in (tmp_path / "picture.svg").read_text()


@pytest.mark.machine
@pytest.mark.long
def test_one_percent_more_is_slower_by_the_exact_metric(tmp_path):
    done = run(STAGE, slower_copy(tmp_path, 2), "--n", "10000", "--details")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("slower  ")
    assert re.search(r"instructions: compute \+(0\.[5-9]\d?|1\.\d) % at n = 10,000", done.stdout)


@pytest.mark.machine
@pytest.mark.long
def test_ten_percent_more_is_slower_by_time_too(tmp_path):
    more = slower_copy(tmp_path, 20)
    # Retry, because on a busy computer a comparison may miss the difference. If it reports the
    # slower stage as the faster one, this is always an error.
    for _ in range(3):
        done = run(STAGE, more, "--n", "10000", "--no-exact")
        assert done.returncode == 0, done.stderr
        if not done.stdout.startswith("~"):
            break
    assert re.match(r"slower  .*time: compute \+\d+\.\d % at n = 10,000", done.stdout)


@pytest.mark.machine
@pytest.mark.long
def test_a_wrong_stage_is_said_and_exit_1(tmp_path):
    wrong = tmp_path / "5-wrong"
    shutil.copytree(STAGE, wrong)
    path = wrong / "bignum.c"
    text = path.read_text()
    assert text.count("carry = sum >> LIMB_BITS;") > 1
    path.write_text(text.replace("carry = sum >> LIMB_BITS;", "carry = 0;", 1))
    done = run(STAGE, wrong, "--no-exact")
    assert done.returncode == 1
    assert re.fullmatch(rf"{wrong}: wrong: .*F\(.*\n", done.stdout)


@pytest.mark.machine
def test_a_stage_that_does_not_compile_is_said_and_exit_1(tmp_path):
    broken = tmp_path / "5-broken"
    shutil.copytree(STAGE, broken)
    (broken / "fib.c").write_text("int;;x\n")
    done = run(broken, STAGE)
    assert done.returncode == 1
    assert done.stdout.startswith(f"{broken}: build-failed: ")


@pytest.mark.machine
def test_interrupted_it_leaves_nothing():
    with tempfile.TemporaryDirectory(prefix="c") as short:  # short socket paths
        process = subprocess.Popen(
            [paths.ROOT / "grader/compare.sh", STAGE, STAGE],
            env=os.environ | {"TMPDIR": short},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        machines = Path(short) / f"fibdrv-lab-{os.getuid()}"
        until = time.monotonic() + 60
        while not list(machines.glob("m*/console.log")):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=90)
        assert process.returncode == 130
        assert "stopped" in said
        assert leftovers(Path(short)) == []
