# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The kit against the world: each mishap gives the right result or one clear line.

Some are left to the long form: LAB_TESTS=long.

Mounts and networks are changed in namespaces of their own; where those are forbidden, the tests
that need them are skipped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from grader.base import paths

RUN = "grader/run.sh"
ONE_STAGE = ["--stage", "1", "--no-measure", "--quick"]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
# A namespace in which mounts may be changed and nobody else sees them.
NAMESPACE = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]


def environment(**more: str) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | more


def inside(script: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in the namespace, with words as its arguments."""
    return subprocess.run(
        [*NAMESPACE, "sh", "-euc", script, "sh", *words],
        cwd=paths.ROOT, env=environment(**more), capture_output=True, text=True, timeout=300,
    )  # fmt: skip


needs_namespace = pytest.mark.skipif(
    subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode != 0,
    reason="no namespaces of one's own here",
)


def one_line(run: subprocess.CompletedProcess[str], status: int = 2) -> str:
    """The only line of a run that could not be done."""
    lines = [x for x in run.stderr.splitlines() if not x.startswith("[")]  # progress
    assert run.returncode == status, run.stderr
    assert "Traceback" not in run.stderr
    assert len(lines) == 1, run.stderr
    return lines[0]


def is_right(run: subprocess.CompletedProcess[str]) -> None:
    assert run.returncode == 0, run.stderr + run.stdout
    assert "Traceback" not in run.stderr


@pytest.mark.long
@pytest.mark.machine
@needs_namespace
def test_no_network_and_no_shm(tmp_path: Path) -> None:
    """With a warm cache nothing is fetched; the machine's memory can be elsewhere."""
    run = inside(
        'mount --bind scripts /dev/shm; exec unshare -n "$@"',
        RUN, *ONE_STAGE, "--out", str(tmp_path / "report"), LAB_BUILD=str(tmp_path / "build"),
    )  # fmt: skip
    is_right(run)


# What /dev/shm can be: a kernel in user mode has its memory there, and ends without a word, or
# much later by SIGBUS, when it cannot.
USELESS = {"read-only": "ro", "noexec": "noexec", "too small": "size=100M"}


@needs_namespace
@pytest.mark.parametrize("options", USELESS.values(), ids=USELESS.keys())
def test_a_shm_that_cannot_be_used(tmp_path: Path, options: str) -> None:
    """The machine's memory goes to the folder for temporary files instead."""
    memory_folder = "from grader.lab import uml; print(uml.memory_folder(256 << 20))"
    run = inside(
        f'mount -t tmpfs -o {options} none /dev/shm; mount -t tmpfs none "$TMPDIR"; exec "$@"',
        str(paths.SCRIPTS / "python.sh"), "-c", memory_folder,
        TMPDIR=str(tmp_path), PYTHONPATH=str(paths.ROOT),
    )  # fmt: skip
    is_right(run)
    assert run.stdout == f"{tmp_path}\n"


@pytest.mark.machine
@needs_namespace
@pytest.mark.long
def test_no_shm_that_can_be_used_and_a_run(tmp_path: Path) -> None:
    run = inside(
        'mount -t tmpfs -o ro none /dev/shm; exec "$@"',
        RUN, *ONE_STAGE, "--out", str(tmp_path / "report"), LAB_BUILD=str(tmp_path / "build"),
    )  # fmt: skip
    is_right(run)


@needs_namespace
@pytest.mark.long
def test_no_place_for_the_memory(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    run = inside(
        "mount -t tmpfs -o ro none /dev/shm; mount -t tmpfs -o noexec none /var/tmp;"
        ' mount -t tmpfs -o size=50M none "$TMPDIR"; exec "$@"',
        RUN, *ONE_STAGE, "--out", str(tmp_path / "report"),
        LAB_BUILD=str(tmp_path / "build"), TMPDIR=str(tmp_path / "small"),
    )  # fmt: skip
    line = one_line(run)
    assert line.startswith("grader: no room for the machine's memory of 256 MB (")
    assert "/dev/shm: Read-only file system; " in line
    # What the grader has put there itself is not free.
    assert re.search(rf"{re.escape(str(tmp_path))}/small: only (50|4\d) MB free; ", line)
    assert "/var/tmp: mounted noexec)" in line
    assert "set TMPDIR" in line
    assert not (tmp_path / "report").exists()


@pytest.mark.long
@pytest.mark.machine
@needs_namespace
def test_a_checkout_that_is_read_only(tmp_path: Path) -> None:
    script = 'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"; cd "$0"; exec "$@"'
    run = subprocess.run(
        [*NAMESPACE, "sh", "-euc", script, str(paths.ROOT), RUN, *ONE_STAGE],
        env=environment(LAB_BUILD=str(tmp_path / "build")),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    is_right(run)
    assert (tmp_path / "build/report/report.json").is_file()


@needs_namespace
@pytest.mark.parametrize(
    "size",
    ["300k", *(pytest.param(size, marks=pytest.mark.long) for size in ("100k", "1200k", "2500k"))],
)
def test_a_full_disk(tmp_path: Path, size: str) -> None:
    """Where the results go: one line, and nothing half-written."""
    run = inside(
        f'mount -t tmpfs -o size={size} none "$LAB_BUILD"; status=0; "$@" || status=$?;'
        ' test ! -e "$LAB_BUILD/report"; exit $status',
        RUN, *ONE_STAGE, LAB_BUILD=str(tmp_path),
    )  # fmt: skip
    assert "No space left" in one_line(run)


@needs_namespace
@pytest.mark.parametrize(
    "size", ["4M", *(pytest.param(s, marks=pytest.mark.long) for s in ("1M", "2M"))]
)
def test_a_full_folder_for_temporary_files(tmp_path: Path, size: str) -> None:
    """Where a machine has its files: TMPDIR is what helps."""
    (tmp_path / "small").mkdir()
    run = inside(
        f'mount -t tmpfs -o size={size} none "$TMPDIR"; exec "$@"',
        RUN, *ONE_STAGE, "--machine", "uml", "--out", str(tmp_path / "report"),
        LAB_BUILD=str(tmp_path / "build"), TMPDIR=str(tmp_path / "small"),
    )  # fmt: skip
    line = one_line(run)
    assert line.startswith(f"grader: No space left on device: {tmp_path}/small/")
    assert line.endswith("set TMPDIR to a folder elsewhere")
    assert not (tmp_path / "report").exists()


@needs_namespace
def test_a_full_cache(tmp_path: Path) -> None:
    """Where the lab kernel goes: said before anything is unpacked."""
    run = inside(
        'mount -t tmpfs -o size=50M none "$XDG_CACHE_HOME"; exec scripts/lab-kernel.sh uml',
        XDG_CACHE_HOME=str(tmp_path),
    )
    assert "MB free" in one_line(run)


def test_a_cache_entry_cut_short(tmp_path: Path) -> None:
    """It is not taken for whole: --print says that there is none."""
    script = [str(paths.SCRIPTS / "lab-kernel.sh"), "uml", "--print"]
    entry = Path(subprocess.run(script, capture_output=True, text=True).stdout.strip())
    copy = tmp_path / "fibdrv-lab" / entry.name
    shutil.copytree(entry, copy, symlinks=True)
    cold = environment(XDG_CACHE_HOME=str(tmp_path))
    assert subprocess.run(script, env=cold, capture_output=True).returncode == 0
    with (copy / "build/Module.symvers").open("r+") as file:
        file.truncate(100)
    assert subprocess.run(script, env=cold, capture_output=True).returncode == 1


def test_an_interrupted_set_up(tmp_path: Path) -> None:
    """Nothing half-made is left, nothing runs on."""
    process = subprocess.Popen(
        [str(paths.SCRIPTS / "lab-kernel.sh"), "uml"],
        env=environment(XDG_CACHE_HOME=str(tmp_path)), stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert "unpacking" in process.stderr.readline()
    cache = tmp_path / "fibdrv-lab"
    until = time.monotonic() + 60
    while not list(cache.glob("*.tmp.*/src/*")) and time.monotonic() < until:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert sorted(p.name for p in cache.iterdir()) == ["locks", "logs"]


@pytest.mark.machine
@pytest.mark.long
def test_two_runs_at_once_in_a_path_of_many_letters(tmp_path: Path) -> None:
    """Two runs in one checkout, whose path has spaces and more than ASCII."""
    checkout = tmp_path / "kit für Ada's lab"
    shutil.copytree(
        paths.ROOT, checkout, ignore=shutil.ignore_patterns("build", ".git", ".*cache", "tests")
    )
    runs = [
        subprocess.Popen(
            [f"./{RUN}", *ONE_STAGE, "--out", f"build/report {i}"],
            cwd=checkout, env={k: v for k, v in environment().items() if k != "LAB_BUILD"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for i in (1, 2)
    ]  # fmt: skip
    for i, run in enumerate(runs, 1):
        output, errors = run.communicate(timeout=300)
        assert run.returncode == 0, errors + output
        report = json.loads((checkout / f"build/report {i}/report.json").read_text())
        assert report["stages"][0]["status"] == "ok"


def test_programs_of_a_stage_in_a_path_of_many_letters(tmp_path: Path) -> None:
    """Built by make, which takes no blank and no quote in a name."""
    checkout = tmp_path / "kit für Ada's lab"
    shutil.copytree(
        paths.ROOT, checkout, ignore=shutil.ignore_patterns("build", ".git", ".*cache", "tests")
    )
    run = subprocess.run(
        ["make", "stage=1", "user", "sanitize", "memcheck"],
        cwd=checkout, env={k: v for k, v in environment().items() if k != "LAB_BUILD"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    is_right(run)
    assert "built build/user/1-iterative-u64/plain/fib\n" in run.stdout
    assert "sanitize: 1-iterative-u64: nothing found" in run.stdout
    assert "memcheck: 1-iterative-u64: no error, no byte lost" in run.stdout


@pytest.mark.machine
@pytest.mark.parametrize(
    ("turned", "status"), [("<&- >&-", 0), ("<&- >/dev/full", 2)], ids=["closed", "full"]
)
def test_streams_that_are_closed_or_full(tmp_path: Path, turned: str, status: int) -> None:
    """Nothing to read, nowhere to print: the run is right, or says so in a line."""
    run = subprocess.run(
        ["sh", "-c", f'exec "$@" {turned}', "sh", RUN, *ONE_STAGE,
         "--out", str(tmp_path / "report")],
        cwd=paths.ROOT, env=environment(), stderr=subprocess.PIPE, text=True, timeout=300,
    )  # fmt: skip
    if status:
        assert one_line(run) == "grader: No space left on device: standard output"
    else:
        assert run.returncode == 0, run.stderr
    report = json.loads((tmp_path / "report/report.json").read_text())
    assert report["stages"][0]["status"] == "ok"


@pytest.mark.long
@pytest.mark.machine
def test_a_pipe_that_nobody_reads(tmp_path: Path) -> None:
    """Not a word of it, and no status of a stage that has failed."""
    script = '{ "$@"; echo "status $?" >&2; } | true'
    run = subprocess.run(
        ["sh", "-c", script, "sh", RUN, *ONE_STAGE, "--out", str(tmp_path / "report")],
        cwd=paths.ROOT, env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.stderr.splitlines()[-1] in ("status 141", "status 0")
    assert "Traceback" not in run.stderr


@pytest.mark.machine
def test_no_home_a_long_name_and_a_fifo(tmp_path: Path) -> None:
    """A stage with as long a name as a file may have; a FIFO beside it is no file to wait for."""
    stage = tmp_path / "tree" / ("1-" + "a" * 240)
    (original,) = paths.STAGES.glob("1-*")
    shutil.copytree(original, stage)
    os.mkfifo(stage / "pipe.h")
    run = subprocess.run(
        [str(paths.ROOT / RUN), *ONE_STAGE, "--machine", "uml", "--tree", str(tmp_path / "tree"),
         "--out", str(tmp_path / "report")],
        env={k: v for k, v in environment(XDG_CACHE_HOME=str(CACHE)).items() if k != "HOME"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    is_right(run)


@pytest.mark.machine
def test_a_fifo_that_is_included(tmp_path: Path) -> None:
    """It keeps no compiler waiting: it is left out, and so not there."""
    stage = tmp_path / "tree/1-waits"
    (original,) = paths.STAGES.glob("1-*")
    shutil.copytree(original, stage)
    os.mkfifo(stage / "pipe.h")
    source = stage / "fib.c"
    source.write_text('#include "pipe.h"\n' + source.read_text())
    run = subprocess.run(
        [str(paths.ROOT / RUN), *ONE_STAGE, "--machine", "uml", "--tree", str(tmp_path / "tree"),
         "--out", str(tmp_path / "report")],
        env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 1, run.stderr
    assert "pipe.h is left out: not a file of this directory" in run.stderr
    assert "pipe.h: No such file or directory" in run.stderr + run.stdout


@needs_namespace
def test_a_read_only_checkout_has_no_room_for_work(tmp_path: Path) -> None:
    script = 'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"; cd "$0"; exec "$@"'
    run = subprocess.run(
        [*NAMESPACE, "sh", "-euc", script, str(paths.ROOT), "scripts/python.sh",
         "-m", "grader.course.commands", "start", "--exercise", "1"],
        env=environment(LAB_BUILD=str(tmp_path / "build"), PYTHONPATH=str(paths.ROOT)),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert "Read-only file system" in one_line(run)


@pytest.mark.long
@pytest.mark.machine
def test_a_stage_directory_full_of_junk(tmp_path: Path) -> None:
    stage = tmp_path / "tree/1-junk"
    (original,) = paths.STAGES.glob("1-*")
    shutil.copytree(original, stage)
    (stage / "core").write_bytes(os.urandom(100_000))
    (stage / "fib.c~").write_text("#error old")
    (stage / ".fib.c.swp").write_bytes(b"\x00" * 4096)
    (stage / "a b;rm -rf $(HOME).c").write_text("#error a name")
    (stage / "fib.o").write_bytes(b"\x7fELF")
    (stage / "Makefile").write_text("$(error of its own)")
    (stage / "old.c").mkdir()
    (stage / "dangling.c").symlink_to("nowhere")
    os.mkfifo(stage / "pipe.c")
    (stage / "deep/er").mkdir(parents=True)
    run = subprocess.run(
        [str(paths.ROOT / RUN), *ONE_STAGE, "--machine", "uml", "--tree", str(tmp_path / "tree"),
         "--out", str(tmp_path / "report")],
        env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    is_right(run)


@pytest.mark.parametrize(
    "content", ['{"schema": 0, "stages": []}', "{", "[]", '{"schema": 1}', "\x00\xff"]
)
def test_a_report_that_is_older_or_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "report.json").write_text(content, encoding="latin-1")
    run = subprocess.run(
        [str(paths.SCRIPTS / "python.sh"), "-m", "grader.report", str(tmp_path)],
        cwd=paths.ROOT, env=environment(PYTHONPATH=str(paths.ROOT)),
        capture_output=True, text=True,
    )  # fmt: skip
    assert one_line(run).startswith("report: ")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.json"]
