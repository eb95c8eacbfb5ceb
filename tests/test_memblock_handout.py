# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that the memblock handout shows the counted numbers, and the reports on its mistakes."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import catalogue
import pytest
from test_memblock import built, faulty, kernel, kits, mode

from electives.memblock import kernels, measure, points, runner, variants
from grader.base import paths, scratch

EXERCISE = "memblock"

__all__ = ["kernel"]
HANDOUT = (paths.ROOT / "handouts/electives/memblock.md").read_text(encoding="utf-8")
MARKED = re.compile(r"^<!-- mistake: ([^\n]*) -->\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = {match[1]: " ".join(match[2].split()) for match in MARKED.finditer(HANDOUT)}
CALLS = {words: call for call, words in measure.CALLS.items()}
# The folder of later kernel sources in the cache, which `make matrix` downloads.
LATER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "fibdrv-lab/sources")


@pytest.fixture(autouse=True)
def _no_folders_left() -> Iterator[None]:
    yield
    scratch.remove_all()


def rows(heading: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the table with this heading."""
    table = HANDOUT.split(f"\n| {heading} |", 1)[1].split("\n\n", 1)[0]
    for line in table.splitlines()[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def needs(kernel: Path, number: str) -> None:
    """Skip the test unless gcc and the kernel have the versions of the handout's numbers."""
    compiler = subprocess.run(
        ["gcc", "-dumpversion"], capture_output=True, text=True
    ).stdout.strip()
    same = f"{kernels.version(kernel)}.".startswith(f"{number}.")
    if compiler.split(".")[0] != "12" or not same:
        pytest.skip(f"the handout's figures are those of gcc 12 and Linux {number}")


def three() -> list[variants.Variant]:
    """Return the variants in the order of the handout's tables."""
    return [variants.KERNEL, kits("delayed"), kits("look")]


@pytest.mark.once(all_files=True)
def test_the_table_of_states_is_what_is_counted(kernel: Path) -> None:
    needs(kernel, "6.1")
    shown = list(rows("call"))
    regions = sorted({int(row[1].split(",")[0]) for row in shown})
    for column, variant in enumerate(three(), 2):
        out = variants.build(kernel, built(kernel, kernels.PLAIN), variant)
        counts = measure.states(out, dict.fromkeys(regions, ""))
        for row in shown:
            count = counts[CALLS[row[0]], int(row[1].split(",")[0])]
            assert row[column] == f"{count:,}", (row[0], row[1], variant.name)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("number", ["6.1", "6.12"])
def test_the_table_of_shares_is_what_is_counted(
    number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if number != "6.1":
        source = LATER / f"linux-source-{number}.tar.xz"
        if not source.is_file():
            pytest.skip(f"{source} not found; run make matrix")
        monkeypatch.setenv("KSRC", str(source))
    kernel = kernels.source()
    needs(kernel, number)
    own, called = (row for row in rows("the kernel's own tests of") if f"{number}," in row[0])
    for column, variant in enumerate(three(), 1):
        out = variants.build(kernel, built(kernel, kernels.PLAIN), variant)
        percent = measure.share(out).percent
        assert (own[column], called[column]) == tuple(f"{one:.2f} %" for one in percent)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SHOWN)
def test_a_mistake_is_told_as_the_handout_shows_it(kernel: Path, name: str) -> None:
    """The handout shows the reports of the random test with seed 0, which `check` does not use."""
    needs(kernel, "6.1")
    fault = catalogue.named("memblock", name)
    out = variants.build(kernel, built(kernel, kernels.UMA), faulty(fault))
    assert SHOWN[name] == runner.random_test(out, mode(fault), 0, points.SEEDS).wrong


def test_each_mistake_shows_what_is_said() -> None:
    section = HANDOUT.split("## Mistakes", 1)[1].split("\n## ", 1)[0]
    assert len(SHOWN) == section.count("```text") == 7
