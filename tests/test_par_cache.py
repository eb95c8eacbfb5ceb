# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test counts of instructions that expected/par.json lacks: each is made once and cached."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.base import cache, paths
from grader.base.errors import LabError
from grader.exercise.build import stage_module
from grader.exercise.files import stages
from grader.lab.module import Kernel, Module
from grader.measure import instructions
from grader.measure.guest_session import Measurements
from grader.measure.samples import Series
from grader.scoring import par

PLACES = {(4, "compute", 9000), (5, "compute", 9000)}
KERNEL = Kernel("qemu-1", Path("/nowhere"), "x86", "6.1", "gcc")


class Counting:
    """A fake machine that records the requested counts."""

    name, metric = "qemu", "instructions"

    def __init__(self) -> None:
        self.emulator = "QEMU 1"
        self.asked: list[tuple[str, tuple[int, ...]]] = []
        self.counting: Callable[[], None] = lambda: None
        self.kernel = lambda: KERNEL

    def facts(self) -> dict[str, str]:
        return {"emulator": self.emulator}

    def count(self, _machine: object, subjects: list[Any], *_: object) -> Measurements:
        self.counting()
        self.asked += [(subject.key, subject.sizes) for subject in subjects]
        return Measurements(
            {
                (subject.key, phase, n): Series([1000.0 * subject.built.stage.number + n])
                for subject in subjects
                for phase in ("compute", "decimal", "read")
                for n in subject.sizes
            }
        )


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Counting()
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    monkeypatch.setattr(instructions, "count", made.count)
    monkeypatch.setattr(par, "_built", lambda _machine, number: stage_module.BuiltStage(
        stages.kit(number), Module("x", tmp_path)))  # fmt: skip
    return made


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "par").iterdir())


def test_what_is_asked_for_is_counted_once(machine: Any, tmp_path: Path) -> None:
    said: list[str] = []
    found = par.counts(machine, PLACES, lambda what, *_: said.append(what))
    assert found == {(4, "compute", 9000): 13000.0, (5, "compute", 9000): 14000.0}
    assert machine.asked == [("reference-4", (9000,)), ("reference-5", (9000,))]
    assert any("count the reference, once" in what and "stage 5 at 9,000" in what for what in said)
    said.clear()
    assert par.counts(machine, PLACES, lambda what, *_: said.append(what)) == found
    assert par.counts(machine, {(5, "read", 9000)}) == {(5, "read", 9000): 14000.0}
    assert len(machine.asked) == 2 and not said
    # Counts at another n need a separate run, and the first count stays in the cache.
    par.counts(machine, {(5, "compute", 8000), *PLACES})
    assert machine.asked[2:] == [("reference-5", (8000,))]
    assert par.counts(machine, PLACES) == found and len(machine.asked) == 3
    assert len(kept(tmp_path)) == 2


def test_the_exact_key_is_answered_from_expected(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = {
        "key": instructions.machine_key(machine),
        "stages": {str(number): {"compute": {"9000": number * 1.5}} for number in (4, 5)},
    }
    monkeypatch.setattr(par, "FILE", tmp_path / "par.json")
    par.FILE.write_text(json.dumps({"records": [record]}))
    assert par.counts(machine, PLACES)[5, "compute", 9000] == 7.5
    assert not machine.asked
    # If the record contains some of the n, only the missing n are counted.
    par.counts(machine, {(5, "compute", 9000), (5, "compute", 7000)})
    assert machine.asked == [("reference-5", (7000,))]
    # A new version of QEMU makes all counts of the record invalid.
    machine.emulator = "QEMU 2"
    assert par.counts(machine, PLACES)[5, "compute", 9000] == 14000.0


def test_a_count_of_something_else_is_never_used(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counts_anew(times: int) -> None:
        par.counts(machine, PLACES)
        assert len(machine.asked) == 2 * times

    counts_anew(1)
    machine.emulator = "QEMU 2"
    counts_anew(2)
    machine.kernel = lambda: Kernel("qemu-1", Path("/nowhere"), "x86", "6.1", "gcc 2")
    counts_anew(3)
    monkeypatch.setattr(instructions, "method", lambda: "another way to count")
    counts_anew(4)
    # The contract and the driver are part of the key.
    common = tmp_path / "common"
    common.mkdir()
    for path in paths.COMMON.glob("*.[ch]"):
        (common / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(paths, "COMMON", common)
    counts_anew(4)
    for times, name in ((5, "driver.c"), (6, "stage.h")):
        (common / name).write_text((common / name).read_text() + "\n")
        counts_anew(times)


def test_another_object_of_the_reference_is_counted(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = stages.kit(5)
    shipped = replace(kit, shipped=tmp_path / "reference")
    monkeypatch.setattr(stages, "kit", lambda _number: shipped)
    place = {(5, "compute", 9000)}
    with pytest.raises(par.NoReference, match="no object of stage 5 that machine qemu can measure"):
        par.counts(machine, place)
    (tmp_path / "reference").mkdir()
    for times, content in ((1, b"one"), (2, b"two"), (2, b"one")):
        (tmp_path / "reference" / "qemu.o_shipped").write_bytes(content)
        par.counts(machine, place)
        assert len(machine.asked) == times


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "null", '{"counts": 1}', '{"counts": {"compute": {"9000": -1}}}',
     '{"counts": {"compute": {"9000": "x"}}}', '{"counts": {"compute": {"9000": NaN}}}',
     '{"counts": {"compute": {"n": 5}}}', '{"counts": {"compute": [9000]}}', "\udcff"],
)  # fmt: skip
def test_a_damaged_file_is_counted_again(damage: str, machine: Any, tmp_path: Path) -> None:
    right = par.counts(machine, PLACES)
    for path in (tmp_path / "par").iterdir():
        path.write_bytes(damage.encode(errors="surrogateescape"))
    assert par.counts(machine, PLACES) == right
    assert len(machine.asked) == 4
    assert par.counts(machine, PLACES) == right
    assert len(machine.asked) == 4


def test_a_cache_that_cannot_be_written_is_one_line(machine: Any, tmp_path: Path) -> None:
    (tmp_path / "locks").touch()
    with pytest.raises(LabError, match="set XDG_CACHE_HOME to a directory that you can write"):
        par.counts(machine, PLACES)


def test_two_at_once_count_once(machine: Any) -> None:
    """The second of two concurrent runs prints that it waits, and uses the first run's count."""
    begun, go_on, waits = threading.Event(), threading.Event(), threading.Event()
    said: list[str] = []
    found: list[Any] = []

    def counting() -> None:
        begun.set()
        assert go_on.wait(30)

    def tell(what: str, *_: int) -> None:
        said.append(what)
        if "wait for another run" in what:
            waits.set()

    machine.counting = counting
    first = threading.Thread(target=lambda: found.append(par.counts(machine, PLACES)))
    second = threading.Thread(target=lambda: found.append(par.counts(machine, PLACES, tell)))
    first.start()
    assert begun.wait(30)
    second.start()
    assert waits.wait(30)
    go_on.set()
    first.join()
    second.join()
    assert len(found) == 2 and found[0] == found[1]
    assert len(machine.asked) == 2
    assert not any("count the reference" in what for what in said if "wait" not in what)


def test_a_writer_that_dies_leaves_the_value_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    cache.write("some", "name", {"a": 1})

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(LabError, match="No space left"):
        cache.write("some", "name", {"a": 2})
    assert cache.read("some", "name") == {"a": 1}
    assert [path.name for path in (tmp_path / "some").iterdir()] == ["name.json"]
