# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that QEMU counts instructions exactly and that no stage can lower its own count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import catalogue
import pytest
from catalogue import Fault

from grader.base import scratch
from grader.base.errors import LabError, MachineError
from grader.base.progress import Progress
from grader.exercise.build import stage_module
from grader.exercise.files import stages
from grader.exercise.workload.stage_workload import StageWorkload, contents
from grader.lab import machines, plugin, qemu
from grader.lab.module import Module
from grader.lab.plugin import Counts, Event
from grader.measure import instructions
from grader.measure.samples import Samples, Series
from grader.measure.workload import WrongAnswer
from grader.scoring import speed
from grader.scoring.points import Line
from grader.scoring.status import Status

KEPT = catalogue.found_by("repeated count")
N = 93


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    scratch.remove_all()


def subject_of(number: int, numbers: tuple[int, ...] = (N,)) -> StageWorkload:
    built = stage_module.build(stages.kit(number), machines.counting().kernel())
    assert not built.rejection, built.rejection
    return StageWorkload(built, numbers)


def faulty(fault: Fault, folder: Path) -> StageWorkload:
    """Build the stage with the fault, even if the stage violates the contract."""
    built = stage_module.build(catalogue.stage(fault, folder), machines.counting().kernel())
    assert built.ok, built.cause
    return StageWorkload(built, (N,))


def counted(subject: StageWorkload, n: int = N) -> instructions.CallCount:
    found = instructions.count_call(machines.counting(), subject, contents, n)
    assert isinstance(found, instructions.CallCount), found
    return found


@pytest.mark.machine
def test_every_machine_counts_the_same() -> None:
    """Two resumed machines count the same in the module, and nearly the same in total."""
    subject = subject_of(7, (1000,))
    first, second = (counted(subject, 1000) for _ in range(2))
    assert first.module == second.module
    assert not instructions.differ(first.whole, second.whole)
    assert 2000 < first.phases["compute"] < first.module < first.whole


@pytest.mark.once
@pytest.mark.machine
@pytest.mark.parametrize("fault", KEPT, ids=lambda fault: fault.name)
def test_a_result_that_is_kept_gains_nothing(fault: Fault, tmp_path: Path) -> None:
    """A stage gains nothing from a stored result, because the counter makes only one call."""
    subject, honest = faulty(fault, tmp_path), counted(subject_of(2))
    assert counted(subject).phases["compute"] >= honest.phases["compute"]
    guest = machines.counting().boot(contents([subject]), digits=100)
    try:
        guest.channel.check(f"insmod {subject.path}", 60)
        requests = [*subject.before, subject.count_request(N), subject.count_request(N)]
        assert list(guest.channel.stream_requests(subject.client, requests, 60)) == [
            "0",
            "20",
            "20",
        ]
        begin, _, end, begin_again, _, end_again = plugin.events(guest.folder)
    finally:
        guest.stop()
    first = end.counts - begin.counts
    again = end_again.counts - begin_again.counts
    gained = again.module < first.module - 30
    assert gained == fault.options.get("gains", True)


@pytest.mark.machine
def test_a_stage_that_is_wrong_is_out_and_the_others_count(tmp_path: Path) -> None:
    wrong = catalogue.stage(catalogue.named(1, "wrong-at-71"), tmp_path)
    bad = StageWorkload(stage_module.build(wrong, machines.counting().kernel()), (50, 71))
    good = subject_of(2, (10, 93))
    measured = instructions.count(machines.counting(), [bad, good], contents, lambda *_: None, 2)
    (finding,) = measured.findings.values()
    assert finding.status == "wrong" and "digits of a call, F(71)" in finding.cause
    assert {(key, n) for key, _, n in measured.samples} == {(good.key, 10), (good.key, 93)}


class Counted:
    """A workload whose module is a file with some bytes."""

    client, sizes, needed, wholes = "client", (10, 20), (), {}
    key = "one"

    def __init__(self, folder: Path, trusted: bool = True) -> None:
        self.trusted = trusted
        self.module = Module("one", folder)
        self.module.stripped.write_bytes(b"module")

    def count_request(self, n: int) -> str:
        return f"count {n}"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Replace counting by a list of the n that are counted."""
    counted: list[int] = []

    def count_call(_machine: object, _subject: object, _contents: object, n: int, _: float) -> Any:
        counted.append(n)
        return instructions.CallCount({"compute": 100 * n}, 90 * n, 110 * n)

    monkeypatch.setattr(instructions, "count_call", count_call)
    monkeypatch.setattr(instructions, "machine_key", lambda machine: {"machine": machine})
    return counted


def counts(subject: Any, machine: Any = "qemu", contents: Any = None) -> Any:
    return instructions.count(machine, [subject], contents, lambda *_: None).samples


def test_an_unchanged_module_is_not_counted_again(
    tmp_path: Path, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Counted(tmp_path)
    found = counts(one)
    assert asked == [10, 20]
    assert counts(one) == found == counts(Counted(tmp_path))
    assert asked == [10, 20]
    monkeypatch.setattr(one, "sizes", (10, 15, 20))
    counts(one)
    assert asked == [10, 20, 15]


@pytest.mark.parametrize("change", ["module", "machine", "method", "request", "damage"])
def test_another_call_is_counted(
    change: str, tmp_path: Path, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Counted(tmp_path)
    found = counts(one)
    if change == "module":
        one.module.stripped.write_bytes(b"another")
    if change == "method":
        monkeypatch.setattr(instructions, "method", lambda: "another")
    if change == "request":
        monkeypatch.setattr(one, "count_request", lambda n: f"other {n}")
    if change == "damage":
        (tmp_path / instructions.KEPT).write_text("{")
    assert counts(one, "another" if change == "machine" else "qemu") == found
    assert asked == [10, 20] * 2


def test_a_submission_is_always_counted(tmp_path: Path, asked: list[int]) -> None:
    counts(Counted(tmp_path))
    for _ in range(2):
        counts(Counted(tmp_path, trusted=False))
    assert asked == [10, 20] * 3


# These synthetic events describe a call by a correct stage.

SITES = (("compute", 0), ("decimal", 0), ("compute", 0))
DIGITS = "12200160415121876738"
NOTHING = Counts(*[0] * 11)


def added(one: Counts, **more: int) -> Counts:
    return replace(one, **{name: getattr(one, name) + by for name, by in more.items()})


def honest() -> list[Event]:
    """Return a call's events: 100 instructions for compute, 400 for decimal, 5 for release."""
    at = Counts(1_000_000, 8_000_000, 42, 0, 0, 0, 0, 0, 0, 450, 2_000_000)
    found = [Event("m16", at, "")]
    at = added(at, user=2, kernel=564, module=48)
    for i, took in enumerate((100, 400, 5)):
        found.append(Event(f"a{2 * i}", at, ""))
        at = added(at, module=took)
        found.append(Event(f"a{2 * i + 1}", at, ""))
        at = added(at, module=40)
    at = added(at, kernel=500)
    found.append(Event("m17", at, ""))
    found.append(Event("m18", added(at, user=5 + 12 * len(DIGITS)), DIGITS))
    return found


def judged(events: list[Event]) -> instructions.CallCount:
    return instructions._count(N, DIGITS, SITES, events)


def test_an_honest_call_is_counted() -> None:
    assert judged(honest()) == instructions.CallCount({"compute": 105, "decimal": 400}, 673, 1737)


@pytest.mark.parametrize(
    "more, said",
    [
        ({"module": 1000}, "outside of the driver"),
        ({"kernel": 50_000}, "of the kernel around"),
        ({"user": 1}, "of the caller"),
        ({"elsewhere": 1}, "outside of all code"),
        ({"interrupts": 9}, "that are interrupts"),
        ({"kernel": 100_000, "interrupted": 100_000}, "of interrupts"),
    ],
)
def test_what_does_not_belong_to_a_call_is_refused(more: dict[str, int], said: str) -> None:
    events = honest()
    last = events[-1]
    events[-1] = replace(last, counts=added(last.counts, **more))
    with pytest.raises(WrongAnswer) as error:
        judged(events)
    assert said in error.value.finding.cause


def test_work_ahead_of_the_call_is_refused() -> None:
    events = [replace(e, counts=added(e.counts, module=1000)) for e in honest()]
    with pytest.raises(WrongAnswer) as error:
        judged(events)
    assert "before the call" in error.value.finding.cause


@pytest.mark.parametrize("digits", ["", DIGITS[:-1], DIGITS[:-1] + "9", DIGITS + "0"])
def test_other_digits_are_refused(digits: str) -> None:
    events = honest()
    events[-1] = replace(events[-1], digits=digits)
    with pytest.raises(WrongAnswer):
        judged(events)


def test_another_course_is_refused() -> None:
    for events in (honest()[:-1], honest()[::-1], [*honest(), honest()[-1]]):
        with pytest.raises(WrongAnswer):
            judged(events)


def test_interrupts_are_left_out() -> None:
    events = honest()
    shifted = [added(e.counts, kernel=2700, interrupted=2700, interrupts=1) for e in events[2:]]
    events[2:] = [replace(e, counts=counts) for e, counts in zip(events[2:], shifted)]
    assert judged(events).phases == {"compute": 105, "decimal": 400}


# The plugin


def test_a_qemu_without_plugins_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "qemu"
    program.write_text("#!/bin/sh\necho 'qemu: -plugin: invalid option' >&2\nexit 1\n")
    program.chmod(0o755)
    assert plugin.why_unavailable(str(program)) == "qemu: -plugin: invalid option"
    monkeypatch.setattr(qemu, "QEMU", str(program))
    monkeypatch.setattr(qemu.Qemu, "kernel", lambda self: None)
    with pytest.raises(LabError, match="instructions cannot be counted: qemu: -plugin: invalid"):
        machines.counting()


@pytest.mark.machine
def test_what_a_machine_makes_the_plugin_write_is_bounded() -> None:
    guest = machines.counting().boot(contents([subject_of(2)]), digits=10)
    try:
        guest.channel.check(f"insmod {subject_of(2).path}", 60)
        requests = ["open 0 rw", f"count 0 {N}"]
        assert list(guest.channel.stream_requests("fibctl batch", requests, 60)) == ["0", "20"]
        with pytest.raises(MachineError, match="more events than are recorded"):
            plugin.events(guest.folder)
        assert (guest.folder / plugin.OUTPUT).stat().st_size < 500
    finally:
        guest.stop()


class Said(Progress):
    """A progress display that records its notes."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def say(self, text: str) -> None:
        self.notes.append(text)


def test_without_plugins_speed_is_judged_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    by_time, ok = Line("speed", 20, 20, "by time"), Status("ok")

    def cannot() -> None:
        raise LabError("qemu supports no plugins: invalid option", "run make doctor")

    monkeypatch.setattr(machines, "counting", cannot)
    monkeypatch.setattr(speed, "_timed", lambda *_: by_time)
    progress = Said()
    assert speed.measure(stages.kit(5), 7, progress)(ok) is by_time
    (note,) = progress.notes
    assert "speed is judged by time" in note and "qemu supports no plugins" in note
    # An untrusted submission is never timed in User-Mode Linux, which is a process of this
    # computer.
    untrusted = replace(stages.kit(5), isolated=True)
    with pytest.raises(LabError, match="supports no plugins"):
        speed.measure(untrusted, 7, progress)(ok)
    # grader/run.sh also judges by time, if it has timed both the stage and the previous one.
    timed: Samples = {
        (stages.kit(number).key, "compute", 10_000): Series([ns])
        for number, ns in ((4, 30_000.0), (5, 1_000.0))
    }
    line = speed.by_time(stages.kit(5), timed, ok)
    assert line and line.earned == 20
    assert speed.by_time(untrusted, timed, ok) is None
    assert speed.by_time(stages.kit(4), timed, ok) is None
