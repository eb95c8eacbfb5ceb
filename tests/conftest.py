# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What several test files need: the lab machine, and a look at what machines leave behind."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.base import scratch
from grader.exercise.files import exercises
from grader.lab import machines
from grader.lab.machines import NOTHING, Contents, Machine, Running
from grader.lab.module import Kernel

# A test file of one exercise names it (EXERCISE = "kbench") and is not collected without it.
collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("test_*.py")
    if (named := re.search(r'^EXERCISE = "(.+)"$', path.read_text(), re.MULTILINE))
    and named[1] not in exercises.names()
]


def pytest_configure(config: pytest.Config) -> None:
    """Name the markers; forget the make above us, which `make test` leaves in the environment."""
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"):
        os.environ.pop(name, None)
    # Where the shell has Ctrl-C ignored, as for nohup and "&", what we start would ignore it, too.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("LAB_SEED", "1")  # what is shown and expected is so with this one
    config.addinivalue_line("markers", "machine: boots a machine (the lab kernel is built for it)")
    config.addinivalue_line("markers", "long: takes long; only with LAB_TESTS=long")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is marked long unless the long form is asked for."""
    if os.environ.get("LAB_TESTS") != "long":
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip("part of the long form: LAB_TESTS=long make test"))


@pytest.fixture(scope="session")
def uml() -> Machine:
    """The default lab machine; its kernel is built when the cache has none."""
    machine = machines.get("uml")
    machine.kernel()
    return machine


@pytest.fixture(scope="session")
def kernel(uml: Machine) -> Kernel:
    """The kernel that stages are built for."""
    return uml.kernel()


@pytest.fixture
def booted(uml: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """The folders of the machines a test boots; at its end nothing of them may be left."""
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
