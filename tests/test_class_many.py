# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A class of three hundred of stage 5, stopped at a third, and on. LAB_CLASS names another size."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests import class_made
from tests.class_made import rows
from tests.left_over import left_over
from tests.sandbox_calls import needs_sandbox

SIZE = int(os.environ.get("LAB_CLASS", "300"))
NAMES = itertools.cycle(["", "$(touch pwned)", "a\nb", '"; reboot #', "ü 'q'", "{} {.}", "-rf"])


@needs_sandbox
@pytest.mark.skipif(not shutil.which("parallel"), reason="no GNU parallel")
@pytest.mark.machine
@pytest.mark.long
@pytest.mark.timeout(6 * 3600)
def test_each_has_what_it_must_have(tmp_path: Path) -> None:
    secret, home = tmp_path / "secret", tmp_path / "home"
    secret.write_text(class_made.SECRET)
    for folder in (home, tmp_path / "tmp", tmp_path / "submissions"):
        folder.mkdir()
    kinds = itertools.cycle(class_made.of_stage_5(secret, home).items())
    expected = {}
    for i in range(SIZE):
        kind, (make, *must) = next(kinds)
        student = f"{i:03} {kind} {next(NAMES)}"
        make(tmp_path / "submissions" / student)
        expected[student] = must
        if i % 3 == 0 and must[1] != "refused":
            packed = tmp_path / "submissions" / f"{student}{'.zip' if i % 2 else '.tar.gz'}"
            class_made.packed(tmp_path / "submissions" / student, packed)
    out = tmp_path / "out"
    words = class_made.command(
        tmp_path / "submissions", "--stage", "5", "--seed", "7", "--out", out
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "HOME": str(home)}
    environment["XDG_CACHE_HOME"] = str(Path.home() / ".cache")
    first = subprocess.Popen(words, env=environment)
    while len(list(out.glob("results/*.json"))) < SIZE / 3:
        assert first.poll() is None
        time.sleep(1)
    first.send_signal(signal.SIGINT)
    assert first.wait(120) == 130
    assert left_over(tmp_path / "tmp") == [] and left_over(out) == []
    again = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert again.returncode == 0, again.stdout + again.stderr
    done = re.search(r"(\d+) are done, (\d+) to do", again.stderr)
    assert done and int(done[1]) >= SIZE // 3 and int(done[1]) + int(done[2]) == SIZE
    found = rows(out)
    wrong = {
        student: (must, row["points"], row["status"], row["cause"])
        for student, must in expected.items()
        if (row := found.get(student)) is None
        or [row["points"], row["status"]] != must[:2]
        or must[2] not in row["cause"]
    }
    assert wrong == {}
    assert set(found) == set(expected)
    assert list(home.iterdir()) == [] and left_over(tmp_path / "tmp") == []
    for path in out.rglob("*.*"):
        if path.suffix in (".csv", ".html", ".json"):
            assert class_made.SECRET not in path.read_text()
