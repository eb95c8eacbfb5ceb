# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the persistent machine through the Makefile targets that a learner uses."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import paths
from grader.lab import guest_process, persistent_machine
from tests.leftovers import leftovers


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="t"))
    yield folder
    make(folder, "unload")
    shutil.rmtree(folder)


def make(place: Path, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "ref=1", *words],  # This setting selects the kit's stage even if a copy exists.
        cwd=paths.ROOT,
        capture_output=True,
        text=True,
        input=text,
        env={**os.environ, "TMPDIR": str(place), "MAKEFLAGS": ""},
        timeout=300,
    )


def test_load_ask_swap_unload(place: Path) -> None:
    assert make(place, "stage=2", "load").returncode == 0
    assert make(place, "fib", "n=93").stdout == "12200160415121876738\n"
    swap = make(place, "stage=1", "load")
    assert "stage 1" in swap.stdout
    # This message is missing, because the machine was not restarted.
    assert "is up" not in swap.stdout
    shell = make(
        place, "shell", text="fibctl info\ndd if=/dev/fibonacci bs=9 count=1 2>/dev/null\n"
    )
    assert shell.stdout == "stage 1\nmax_n 93\nktime_measure 1\n0"
    assert "fibdrv: loading out-of-tree module" in make(place, "dmesg").stdout
    assert "is down" in make(place, "unload").stdout
    assert leftovers(place) == []
    assert "no machine was up" in make(place, "unload").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["fib", "n=93"], "no machine is up; run make stage=1 load"),
        (["shell"], "no machine is up"),
        (["fib"], "no number n is given"),
        (["fib", "n=-1"], "no number n is given"),
        (["fib", "n=1; reboot"], "no number n is given"),
        (["load"], "the command needs one stage"),
        (["stage=99", "load"], "there is no stage 99"),
        (["stage=x", "load"], "give numbers"),
        (["stage=1", "load", "machine=abacus"], "machine abacus does not exist"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    place: Path, words: list[str], says: str
) -> None:
    completed = make(place, *words)
    assert completed.returncode == 2
    ours = [line for line in completed.stderr.splitlines() if not line.startswith("make")]
    assert len(ours) == 1
    assert says in ours[0]


def test_n_above_max_n_says_so(place: Path) -> None:
    make(place, "stage=1", "load")
    completed = make(place, "fib", "n=94")
    assert completed.returncode != 0
    assert "larger than this stage's max_n" in completed.stdout + completed.stderr


def test_an_error_of_the_stage_leads_to_the_log(place: Path) -> None:
    mine = ("ref=", f"work={place}/work", "stage=1")
    make(place, *mine, "start")
    own = place / "work/1-iterative-u64/decimal.c"
    text = own.read_text()
    assert text.count("\treturn 1;") == 1
    own.write_text(text.replace("\treturn 1;", "\treturn 0;"))
    assert make(place, *mine, "load").returncode == 0
    completed = make(place, "fib", "n=10")
    assert completed.returncode != 0
    assert "make dmesg shows" in completed.stdout + completed.stderr
    assert "has changed" not in completed.stderr
    own.write_text(text)
    assert "has changed since it was loaded; make stage=1 load" in make(place, "fib", "n=10").stderr
    assert "F(10): the stage returned 0" in make(place, "dmesg").stdout


def test_a_machine_that_dies_leaves_its_last_words(place: Path) -> None:
    make(place, "stage=1", "load")
    make(place, "shell", text="echo c > /proc/sysrq-trigger; poweroff -f\n")
    asked = make(place, "fib", "n=1")
    assert asked.returncode == 2
    assert re.search(r"no machine is up|has ended", asked.stderr)
    said = make(place, "dmesg")
    assert said.returncode == 0
    assert "Linux version" in said.stdout or "fibdrv" in said.stdout
    assert "stack" not in said.stderr
    assert leftovers(place) == []


def test_the_last_words_of_one_that_dies_when_nobody_looks(place: Path) -> None:
    make(place, "stage=1", "load")
    mark = f"mark-{os.getpid()}"
    late = f"(sleep 1; echo {mark} > /dev/kmsg; poweroff -f) > /dev/null 2>&1 &\n"
    make(place, "shell", text=late)
    time.sleep(4)
    said = make(place, "dmesg")
    assert mark in said.stdout
    assert "which has ended" in said.stderr


LARGE = 'char big[40000]; memset(big, n, 40000); asm volatile("" :: "r"(big) : "memory");'


def test_the_last_words_have_a_word_of_the_stack(place: Path) -> None:
    """`make dmesg` names a large stack frame if a stack overflow has destroyed the kernel log."""
    copies = ["ref=", f"work={place}/work", "stage=1"]
    assert make(place, *copies, "start").returncode == 0
    source = next(place.glob("work/1-*")) / "fib.c"
    source.write_text(source.read_text().replace("f->word = 0;", f"{LARGE} f->word = big[3];"))
    assert make(place, *copies, "load").returncode == 0
    assert make(place, "fib", "n=5").returncode == 2
    for _ in range(2):
        said = make(place, "dmesg")
        assert said.returncode == 0
        assert "fibdrv: loading out-of-tree module" in said.stdout
        assert "(it may be the stack: fib_compute keeps 40,000 bytes on the stack" in said.stderr
        assert "fib.c:" in said.stderr
    # After a normal end of the machine, `make dmesg` reports no stack overflow.
    assert make(place, *copies, "load").returncode == 0
    assert "is down" in make(place, "unload").stdout
    assert "stack" not in make(place, "dmesg").stderr
    assert leftovers(place) == []


def test_ctrl_c_ends_a_long_read_and_the_machine_goes_on(place: Path) -> None:
    make(place, "stage=7", "load")
    # Without the interrupt, 300 numbers of 200,000 digits would take half an hour.
    many = " ".join(["1000000"] * 300)
    asked = subprocess.Popen(
        ["make", "fib", f"n={many}"],
        cwd=paths.ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
        start_new_session=True,
    )
    time.sleep(3)
    os.killpg(asked.pid, 2)
    asked.wait(20)
    completed = make(place, "fib", "n=10")
    assert completed.stdout == "55\n"


def test_a_stopped_kernel_is_said_to_be_stopped(place: Path) -> None:
    """A command prints once that the kernel is stopped, and how to continue or end the machine."""
    assert make(place, "stage=2", "load").returncode == 0
    (state,) = place.glob("*/lab-*/state.json")
    pid = json.loads(state.read_text())["pid"]
    os.kill(pid, signal.SIGSTOP)
    command = ["make", "ref=1", "fib", "n=10"]
    keep = {**os.environ, "TMPDIR": str(place), "MAKEFLAGS": ""}
    for end in ("continue", "unload"):
        with subprocess.Popen(
            command, cwd=paths.ROOT, env=keep, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as asked:  # fmt: skip
            assert asked.stderr and asked.stdout
            note = asked.stderr.readline()
            assert "the machine's kernel is stopped by a signal" in note
            assert f"kill -CONT {pid} continues it; make unload ends the machine" in note
            if end == "continue":
                os.kill(pid, signal.SIGCONT)
                assert (asked.stdout.read(), asked.stderr.read()) == ("55\n", "")
                os.kill(pid, signal.SIGSTOP)
            else:
                assert "is down" in make(place, "unload").stdout
                assert "the machine ended" in asked.stderr.read()
    assert leftovers(place) == []


def test_a_busy_kernel_is_not_said_to_be_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        notice = persistent_machine._StoppedNotice(process.pid)
        notice.silent(persistent_machine.SILENCE + 1)
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        notice.silent(persistent_machine.SILENCE - 1)
        assert capsys.readouterr().err == ""
        for _ in range(2):
            notice.silent(persistent_machine.SILENCE + 1)
        process.kill()
    assert capsys.readouterr().err.count("is stopped by a signal") == 1


@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_of_a_kernel_that_gdb_has_stopped_gdb_is_named() -> None:
    with subprocess.Popen(
        ["sleep", "60"], preexec_fn=guest_process._may_be_traced  # noqa: PLW1509
    ) as process, subprocess.Popen(
        ["gdb", "-q", "-nx", "-p", str(process.pid)], stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as gdb:  # fmt: skip
        end = time.monotonic() + 60
        while not (why := guest_process.why_stopped(process.pid)) and time.monotonic() < end:
            time.sleep(0.05)
        assert why.startswith(f"by gdb, process {gdb.pid}, which is attached to it")
        gdb.kill()
        process.kill()


@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_gdb_asks_nothing_on_a_terminal(place: Path) -> None:
    """`gdb` shows no pager and no question before its first prompt."""
    ours, its = pty.openpty()
    os.write(ours, b"info symbol fib_compute\nquit\n")
    with subprocess.Popen(
        ["make", "ref=1", "stage=2", "gdb"], cwd=paths.ROOT, stdin=its, stdout=its, stderr=its,
        env={**os.environ, "TMPDIR": str(place), "MAKEFLAGS": ""},
    ) as gdb:  # fmt: skip
        os.close(its)
        said = b""
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:  # EIO: the other end is closed
            pass
        assert gdb.wait(60) == 0
    os.close(ours)
    text = said.decode(errors="replace")
    assert "fib_compute in section .text" in text
    assert "(y or n)" not in text
    assert "<RET>" not in text


# not exported
@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_gdb_knows_the_stage(place: Path) -> None:
    completed = make(
        place, "stage=2", "gdb", "args=-batch -ex 'info symbol fib_compute' -ex 'list fib_compute'"
    )
    assert "fib_compute in section .text" in completed.stdout
    assert "int fib_compute(struct fib_call *call" in completed.stdout
    assert make(place, "fib", "n=10").stdout == "55\n"


# /not exported
@pytest.mark.long
def test_compile_commands_name_the_sources(place: Path) -> None:
    assert make(place, "compile_commands.json").returncode == 0
    text = (paths.ROOT / "compile_commands.json").read_text()
    assert str(paths.STAGES / "1-iterative-u64/fib.c") in text
    (paths.ROOT / "compile_commands.json").unlink()
