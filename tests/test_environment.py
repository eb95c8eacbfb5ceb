# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the kit in unusual environments: each run succeeds or prints one clear error line.

Some cases run in the long form only: LAB_TESTS=long. Tests that change mounts or networks use their
own namespaces, and are skipped where namespaces are forbidden.
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
# The command that creates a mount namespace, so that changed mounts stay within the test.
NAMESPACE = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]


def environment(**more: str) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | more


def inside(script: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script with the given arguments in the namespace."""
    return subprocess.run(
        [*NAMESPACE, "sh", "-euc", script, "sh", *words],
        cwd=paths.ROOT, env=environment(**more), capture_output=True, text=True, timeout=300,
    )  # fmt: skip


needs_namespace = pytest.mark.skipif(
    subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode != 0,
    reason="namespaces are not allowed here",
)


def one_line(run: subprocess.CompletedProcess[str], status: int = 2) -> str:
    """Return the only error line of a run that failed with the given status."""
    # Skip progress lines and the verdicts of stages.
    lines = [x for x in run.stderr.splitlines() if not re.match(r"\[|stage .*: ok: ", x)]
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
    """With a warm cache a run works without network and without a usable /dev/shm."""
    run = inside(
        'mount --bind scripts /dev/shm; exec unshare -n "$@"',
        RUN, *ONE_STAGE, "--out", str(tmp_path / "report"), LAB_BUILD=str(tmp_path / "build"),
    )  # fmt: skip
    is_right(run)


# States of /dev/shm that User-Mode Linux cannot use for its memory. Its kernel would exit without a
# message, or die of SIGBUS much later.
USELESS = {"read-only": "ro", "noexec": "noexec", "too small": "size=100M"}


@needs_namespace
@pytest.mark.parametrize("options", USELESS.values(), ids=USELESS.keys())
def test_a_shm_that_cannot_be_used(tmp_path: Path, options: str) -> None:
    """If /dev/shm is unusable, the machine's memory goes to the folder for temporary files."""
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
    # The grader's own files need a part of the 50 MB.
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
    """A full disk for the results causes one error line and leaves no partial report."""
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
    """If the folder for temporary files is full, the error line advises setting TMPDIR."""
    (tmp_path / "small").mkdir()
    run = inside(
        f'mount -t tmpfs -o size={size} none "$TMPDIR"; exec "$@"',
        RUN, *ONE_STAGE, "--machine", "uml", "--out", str(tmp_path / "report"),
        LAB_BUILD=str(tmp_path / "build"), TMPDIR=str(tmp_path / "small"),
    )  # fmt: skip
    line = one_line(run)
    assert line.startswith(f"grader: {tmp_path}/small/")
    assert line.endswith("set TMPDIR to another folder")
    assert not (tmp_path / "report").exists()


@needs_namespace
def test_a_full_cache(tmp_path: Path) -> None:
    """lab-kernel.sh reports a full cache before it unpacks anything."""
    run = inside(
        'mount -t tmpfs -o size=50M none "$XDG_CACHE_HOME"; exec scripts/lab-kernel.sh uml',
        XDG_CACHE_HOME=str(tmp_path),
    )
    assert "MB free" in one_line(run)


def test_a_cache_entry_cut_short(tmp_path: Path) -> None:
    """lab-kernel.sh --print exits with status 1 for a truncated cache entry."""
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
    """An interrupted setup leaves neither partial files nor running processes."""
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


def copy_kit(checkout: Path) -> None:
    """Copy the kit's files without the results of builds."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        found = {name for name in names if re.fullmatch(r"\.git|tests|\..*cache", name)}
        return found | ({"build"} if Path(folder) == paths.ROOT else set())

    shutil.copytree(paths.ROOT, checkout, ignore=left_out)


@pytest.mark.machine
@pytest.mark.long
def test_two_runs_at_once_in_a_path_of_many_letters(tmp_path: Path) -> None:
    """Two runs at once succeed in a checkout whose path has spaces and non-ASCII letters."""
    checkout = tmp_path / "kit für Ada's lab"
    copy_kit(checkout)
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
    """The programs build in a path with spaces and a quote, which make itself cannot handle."""
    checkout = tmp_path / "kit für Ada's lab"
    copy_kit(checkout)
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
    """A run succeeds with closed streams, and prints one error line if its output is full."""
    run = subprocess.run(
        ["sh", "-c", f'exec "$@" {turned}', "sh", RUN, *ONE_STAGE,
         "--out", str(tmp_path / "report")],
        cwd=paths.ROOT, env=environment(), stderr=subprocess.PIPE, text=True, timeout=300,
    )  # fmt: skip
    if status:
        assert one_line(run).startswith("grader: standard output: No space left on device; ")
    else:
        assert run.returncode == 0, run.stderr
    report = json.loads((tmp_path / "report/report.json").read_text())
    assert report["stages"][0]["status"] == "ok"


@pytest.mark.long
@pytest.mark.machine
def test_a_pipe_that_nobody_reads(tmp_path: Path) -> None:
    """A run whose output pipe is closed prints no traceback and returns 0 or 141 (SIGPIPE)."""
    script = '{ "$@"; echo "status $?" >&2; } | true'
    run = subprocess.run(
        ["sh", "-c", script, "sh", RUN, *ONE_STAGE, "--out", str(tmp_path / "report")],
        cwd=paths.ROOT, env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.stderr.splitlines()[-1] in ("status 141", "status 0")
    assert "Traceback" not in run.stderr


@pytest.mark.machine
def test_no_home_a_long_name_and_a_fifo(tmp_path: Path) -> None:
    """A run succeeds without HOME, with a long stage name, and with a FIFO among the sources."""
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
    """The grader leaves out a FIFO, so the compiler reports a missing file and does not block."""
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
