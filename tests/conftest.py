# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Provide fixtures that test files share: the lab machine, and a check for its leftovers."""

from __future__ import annotations

import datetime
import os
import re
import signal
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import once
import pytest
from once import (  # noqa: F401  (pytest calls these)
    pytest_addoption,
    pytest_runtest_makereport,
    pytest_sessionfinish,
)

from grader.base import scratch
from grader.exercise.files import exercises
from grader.lab import machines
from grader.lab.machines import NOTHING, Contents, Machine, Running
from grader.lab.module import Kernel

# A whole run each day plants each fault once in this number of days.
DAYS = 32
# A test file of one exercise names the exercise, as in EXERCISE = "kbench". The file is not
# collected if the exercise is missing.
collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("test_*.py")
    if (named := re.search(r'^EXERCISE = "(.+)"$', path.read_text(), re.MULTILINE))
    and named[1] not in exercises.names()
]


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and remove the variables that `make test` leaves in the environment."""
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"):
        os.environ.pop(name, None)
    # Restore the default handlers: "&" in a shell lets a command ignore SIGINT, and nohup lets it
    # ignore SIGHUP. Programs that the tests start would inherit this.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # The outputs that the tests expect were made with this seed.
    os.environ.setdefault("LAB_SEED", "1")
    config.addinivalue_line("markers", "machine: boots a machine (the lab kernel is built for it)")
    config.addinivalue_line("markers", "once: once.py skips it if nothing that it uses has changed")
    config.addinivalue_line("markers", "always: once.py does not skip it, whatever its file says")
    config.addinivalue_line("markers", "long: takes long; only with LAB_TESTS=long")
    config.addinivalue_line("markers", f"sampled: a whole run has one in {DAYS} of these each day")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests marked long. In a whole run, also skip the planted faults of other days.

    The name of a fault determines its day, so that each is planted once in DAYS days. A run of all
    takes three times as long. The long form skips none.
    """
    once.skip_passed(config, items)
    if os.environ.get("LAB_TESTS") == "long":
        return
    whole, today = config.getoption(once.OPTION), datetime.date.today().toordinal()
    for item in items:
        other_day = whole and (zlib.crc32(item.name.encode()) + today) % DAYS
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip("long form only: LAB_TESTS=long make test"))
        elif other_day and item.get_closest_marker("sampled"):
            item.add_marker(pytest.mark.skip("on another day, or by LAB_TESTS=long make test"))


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """Return a folder whose own name is the same in each run.

    Debug information contains the names of a stage's folder and of the folder above it. The
    number that pytest appends would differ in each run, so the object store would never have the
    stage's module.
    """
    folder = tmp_path / "t"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def uml() -> Machine:
    """Return the default lab machine, after building its kernel if the cache has none."""
    machine = machines.get("uml")
    machine.kernel()
    return machine


@pytest.fixture(scope="session")
def kernel(uml: Machine) -> Kernel:
    """Return the kernel that stages are built for."""
    return uml.kernel()


@pytest.fixture
def booted(uml: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Yield a list for the folders of booted machines. Fail if a folder or process remains."""
    folders: list[Path] = []
    boot: Callable[[Contents], Running] = uml.boot

    def noted(contents: Contents = NOTHING) -> Running:
        guest = boot(contents)
        folders.append(guest.folder)  # type: ignore[attr-defined]
        groups.append(guest.pid)  # type: ignore[attr-defined]
        return guest

    groups: list[int] = []
    monkeypatch.setattr(uml, "boot", noted)
    yield folders
    for folder, group in zip(folders, groups):
        assert not folder.exists(), f"{folder} is left"
        assert not scratch.processes_in(folder), f"processes of {folder} are left"
        assert not scratch.group_runs(group), f"a process of the group of {folder} is left"
