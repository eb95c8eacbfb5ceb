# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Skip tests that have passed before with the same inputs, as `go test` does.

Hundreds of tests of the kit plant a fault and run the check that must find it. They draw nothing,
and no two callers run at the same time. So the check finds the fault again as long as the grader
and the stages are the same. Such a test has the marker `once`. When it passes, this is recorded in
the lab's cache, under a digest of all that the test depends on:

- every file of the checkout except the handouts, other tests, and the texts at the top; with
  `once(all_files=True)` every file, for tests of handouts, of the site and of exported courses;
- its own test file, with the files of tests/ that this file imports, the data of all tests, and its
  parameters;
- the compiler, the lab's kernels, the processor, the host's kernel, and all LAB_ variables.

`make test` skips a recorded test. `make test args=...` and LAB_TESTS=long skip none. A record
counts for a week, because a computer has more properties than this list.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grader.base import object_store, paths

WEEK = 7 * 24 * 3600
OPTION = "--skip-passed"
REASON = "passed before with the same inputs; LAB_TESTS=long make test runs it again"
TESTS = Path(__file__).parent
# Paths whose files do not belong to the checkout. Deeper folders may be named build, too.
FOREIGN = re.compile(r"(build|work|\.git)/|(.*/)?(__pycache__|\.\w+_cache)/")
# What no test with the marker uses, at the top of the checkout. A test that does must have
# all_files.
APART = re.compile(r"handouts|tests|\..*|.*\.md")
KEYS = pytest.StashKey[dict[pytest.Item, str]]()
NOTES = pytest.StashKey[dict[pytest.Item, bool]]()
_IMPORT = re.compile(r"^\s*(?:from|import) (?:tests\.)?(\w+)", re.MULTILINE)


def digest(root: Path, files: Iterable[Path]) -> str:
    """Return one digest of the contents of files and of their names below root."""
    found = [
        (os.path.relpath(path, root), hashlib.sha256(path.read_bytes()).digest())
        for path in sorted(files)
    ]
    return hashlib.sha256(repr(found).encode()).hexdigest()


def sources(root: Path, all_files: bool) -> Iterator[Path]:
    """Yield the files of a checkout on which a marked test may depend.

    Without all_files, leave out the folders and texts of APART.
    """
    for name, folders, files in os.walk(root):
        here = Path(name).relative_to(root)
        folders[:] = [one for one in folders if not FOREIGN.fullmatch(f"{here / one}/")]
        for file in files:
            if all_files or not APART.fullmatch((here / file).parts[0]):
                yield Path(name, file)


def imported(file: Path) -> set[Path]:
    """Return a test file and the files beside it that it imports, directly or not."""
    found, todo = {file}, [file]
    while todo:
        for name in _IMPORT.findall(todo.pop().read_text()):
            beside = file.with_name(f"{name}.py")
            if beside.is_file() and beside not in found:
                found.add(beside)
                todo.append(beside)
    return found


@cache
def _surroundings(all_files: bool) -> str:
    kernels = sorted(path.name for kind in ("uml*", "distro-*") for path in paths.CACHE.glob(kind))
    flags = re.search(r"^flags.*", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    lab = sorted((k, v) for k, v in os.environ.items() if k.startswith("LAB_") and k != "LAB_TESTS")
    compilers = [object_store.compiler_version(os.environ.get("CC", "gcc")), sys.version]
    parts = (compilers, kernels, lab, flags and flags[0], platform.uname(), os.cpu_count())
    return object_store.key(parts, digest(paths.ROOT, sources(paths.ROOT, all_files)))


@cache
def _of_file(file: Path, whole_catalogue: bool) -> str:
    # A test may read or compile files beside it. Of the other tests' Python, it uses only imports.
    data = {path for path in sources(TESTS, all_files=True) if path.parent != TESTS}
    data |= {path for path in TESTS.glob("*.*") if path.suffix != ".py"}
    if not whole_catalogue:
        data -= set(TESTS.glob("faults/*"))
    return digest(TESTS, {*imported(file), *imported(TESTS / "conftest.py"), *data})


def marker(item: pytest.Item) -> pytest.Mark | None:
    """Return the marker `once` of a test or its file, unless the test has the marker `always`."""
    return None if item.get_closest_marker("always") else item.get_closest_marker("once")


def key(item: pytest.Item) -> str:
    """Return the name of a test's record, a digest of its inputs."""
    callspec = getattr(item, "callspec", None)
    values = list(callspec.params.values()) if callspec else []
    # A parameter that is a fault of the catalogue holds all that the catalogue says about it.
    whole_catalogue = not any(hasattr(value, "changes") for value in values)
    own = _of_file(item.path, whole_catalogue)
    shown = repr(values).replace(str(paths.ROOT), "")
    found = marker(item)
    all_files = bool(found and found.kwargs.get("all_files"))
    return object_store.key(item.nodeid, shown, own, _surroundings(all_files))


def record(name: str, now: float) -> None:
    """Record that a test has passed."""
    object_store.keep(name, {"time": str(now).encode()})


def has_passed(name: str, now: float) -> bool:
    """Return whether there is a record that is less than a week old."""
    found = object_store.fetch(name)
    return bool(found) and now - float(found["time"]) < WEEK


def forget() -> None:
    """Look at all inputs again for the next key."""
    _surroundings.cache_clear()
    _of_file.cache_clear()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that `make test` uses."""
    parser.addoption(OPTION, action="store_true", help=f"skip what {REASON.partition(';')[0]}")


def skip_passed(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the marked tests that have a record, if the option asks for it."""
    # Read all inputs now, even if nothing is skipped: pytest_sessionfinish compares with them.
    keys = config.stash[KEYS] = {item: key(item) for item in items if marker(item)}
    if not config.getoption(OPTION) or os.environ.get("LAB_TESTS") == "long":
        return
    for item, name in keys.items():
        if has_passed(name, time.time()):
            item.add_marker(pytest.mark.skip(REASON))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Note whether all phases of a marked test pass."""
    report = yield
    if marker(item):
        notes = item.config.stash.setdefault(NOTES, {})
        notes[item] = notes.get(item, True) and report.passed
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Record the tests that have passed, unless their inputs were edited meanwhile."""
    forget()
    for item, right in session.config.stash.get(NOTES, {}).items():
        before = session.config.stash[KEYS][item]
        if right and key(item) == before:
            record(before, time.time())
