# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test verification with a fake machine: the failures, status and cause for given answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import paths
from grader.base.errors import MachineDied, MachineError, MachineTimeout
from grader.base.finding import Failure, Finding, failed
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.conformance import system_calls, verify
from grader.exercise.conformance.verify import Tally, Verified
from grader.exercise.contract_tests import runner
from grader.exercise.files import device, expected_values, stages
from grader.exercise.static_contract.stage_contract import ContractViolation
from grader.lab.guest_channel import GuestCommandResult
from grader.lab.module import Module
from grader.scoring import status
from grader.scoring.status import ReportedFinding, Status
from tests.fake_machine import STAGE, Answer, FakeChannel, FakeGuest, FakeMachine, right

BUILT = BuiltStage(STAGE, Module("fibdrv", Path("/nowhere"), log_patterns=device.DIALECT))


def stands(result: Verified) -> tuple[str, str]:
    """Return the status and the cause of a verification result."""
    found = status.decide_verified(result)
    return found.name, found.cause


@pytest.fixture(autouse=True)
def on_trial(monkeypatch: pytest.MonkeyPatch) -> list[Failure]:
    """Replace the contract tests. They return a list, to which a test may add failures."""
    found: list[Failure] = []
    monkeypatch.setattr(FakeMachine, "kernel", lambda _self: None, raising=False)
    monkeypatch.setattr(
        runner, "link", lambda built, _kernel: replace(built.module, name="fibcontract")
    )
    monkeypatch.setattr(runner, "run", lambda *_: found)
    return found


def verified(machine: FakeMachine, built: BuiltStage = BUILT) -> Verified:
    """Verify with the fake machine, and check that the machine is stopped at the end."""
    result = verify.verify(built, machine, 1, True, lambda step: None)  # type: ignore[arg-type]
    assert machine.guest.stopped == bool(machine.booted)
    return result


def but(request: str, answer: str | Exception) -> Answer:
    """Return answers that are correct for every request except one."""

    def answers(asked: str, time: int) -> str:
        if asked != request:
            return right(asked, time)
        if isinstance(answer, Exception):
            raise answer
        return f"{answer}\n"

    return answers


def test_all_right() -> None:
    result = verified(FakeMachine())
    assert (*stands(result), result.failures) == ("ok", "", ())
    assert result.tests["value"] == Tally(94, 0)
    assert result.tests["abi"] == Tally(len(system_calls.cases(STAGE.manifest)))
    assert result.failed == 0 and result.passed == sum(t.passed for t in result.tests.values())


def test_a_broken_promise(on_trial: list[Failure]) -> None:
    on_trial.append(
        Failure("promise", 300, "nothing left", "2 blocks are left", "F(300): 2 blocks")
    )
    result = verified(FakeMachine())
    assert stands(result) == ("wrong", "F(300): 2 blocks")
    assert result.tests["promise"] == Tally(0, 1)


def test_where_digits_are_wrong_there_is_no_trial(on_trial: list[Failure]) -> None:
    on_trial.append(Failure("promise", 300, "", ""))
    result = verified(FakeMachine(but("read 0 64", "1 1 1")))
    assert "promise" not in result.tests
    assert result.failed


def test_a_machine_that_ends_on_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(*_: object) -> list[Failure]:
        raise MachineDied("the machine ended")

    monkeypatch.setattr(runner, "run", ends)
    found = stands(verified(FakeMachine()))
    assert found[0] == "crashed"
    assert found[1].startswith("contract tests: ")


def test_a_wrong_value() -> None:
    result = verified(FakeMachine(but("pread 0 81 71", "15 15 308061521170130")))
    assert stands(result)[0] == "wrong"
    assert stands(result)[1] == "F(71): expected 308061521170129, got 308061521170130"
    (failure,) = result.failures
    assert (failure.test, failure.n, failure.first_difference) == ("value", 71, 13)
    assert result.tests["value"] == Tally(93, 1)


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        ("-5 0 -", "EIO"),
        ("15 16 308061521170129", "308061521170129, and 16 bytes were written"),
        ("0 0 -", "nothing"),
        ("what is this", "what is this"),
        ("", ""),
    ],
)
def test_no_value(answer: str, got: str) -> None:
    result = verified(FakeMachine(but("pread 0 81 71", answer)))
    assert stands(result)[1] == f"F(71): expected 308061521170129, got {got}"


def test_a_failed_case_names_its_request() -> None:
    result = verified(FakeMachine(but("seek 0 94 0", "93")))
    assert stands(result)[1] == "lseek above max_n (seek 0 94 0): expected EINVAL, got 93"
    assert result.failures[0].n is None


def test_only_some_failures_are_kept() -> None:
    result = verified(
        FakeMachine(lambda r, time: "1 1 9\n" if r.startswith("pread") else right(r, time))
    )
    assert result.tests["value"] == Tally(0, 94)
    assert sum(f.test == "value" for f in result.failures) == verify.SHOWN


def test_a_breach_comes_first() -> None:
    built = replace(
        BUILT, violations=(ContractViolation("no such thing", "the variable x in fib.c"),)
    )
    result = verified(FakeMachine(but("pread 0 81 71", "1 1 0")), built)
    assert stands(result)[0] == "wrong"
    assert stands(result)[1] == "the variable x in fib.c; stage.h allows no such thing"
    assert [f.test for f in result.failures] == ["contract", "value"]


def test_a_stage_that_was_not_built() -> None:
    machine = FakeMachine()
    module = replace(BUILT.module, cause="fib.c:1:1: error: x", log="all of it")
    result = verified(machine, replace(BUILT, module=module))
    assert status.decide_verified(result) == Status(
        "build-failed", "fib.c:1:1: error: x", "all of it"
    )
    assert machine.booted == 0


@pytest.mark.parametrize(
    ("command", "kind", "cause"),
    [
        ("insmod", "load-failed", "load: insmod /lib/fibdrv/fibdrv.ko: exit 1: No such device"),
        ("test -c", "load-failed", "load: test -c /dev/fibonacci: exit 1: No such device"),
        ("rmmod", "unload-failed", "unload: rmmod fibdrv: exit 1: No such device"),
    ],
)
def test_commands_that_fail(command: str, kind: str, cause: str) -> None:
    result = verified(FakeMachine(commands={command: GuestCommandResult(1, "No such device\n")}))
    assert stands(result) == (kind, cause)


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("test -e /dev", "/dev/fibonacci"),
        ("test -e /sys", "/sys/class/fibonacci"),
        ("grep", "the device number (fibonacci in /proc/devices)"),
    ],
)
def test_what_is_left_behind(command: str, what: str) -> None:
    result = verified(FakeMachine(commands={command: GuestCommandResult(0, "")}))
    assert stands(result)[0] == "unload-failed"
    assert stands(result)[1] == f"unload: {what} is still there after rmmod"


def test_unloading_under_an_open_file() -> None:
    result = verified(FakeMachine(commands={"exec 3<": GuestCommandResult(0, "")}))
    assert stands(result)[0] == "unload-failed"
    assert stands(result)[1] == "unload while open: rmmod succeeded while a file was open"


def test_a_time_out_names_step_and_request() -> None:
    result = verified(FakeMachine(but("pread 0 81 71", MachineTimeout("no answer in time"))))
    assert stands(result)[0] == "timeout"
    assert stands(result)[1] == "values, read of F(71): no answer within 9 s, it hangs or loops"


def test_a_time_out_at_load() -> None:
    result = verified(FakeMachine(commands={"insmod": MachineTimeout("no answer in time")}))
    assert stands(result)[0] == "timeout"
    assert stands(result)[1] == "load: no answer within 9 s, it hangs or loops"


def test_a_crash_names_step_and_request() -> None:
    console = "[    1.0] Kernel panic - not syncing: no reason\n"
    died = MachineDied("the machine ended")
    result = verified(FakeMachine(but("seek 0 94 0", died), console=console, alive=False))
    assert stands(result)[0] == "crashed"
    assert stands(result)[1] == "ABI, lseek above max_n (seek 0 94 0): kernel panic: no reason"
    assert "no reason" in status.decide_verified(result).log


def test_an_error_of_a_machine_that_is_gone_is_a_crash() -> None:
    """An error of the client is a crash if the machine died too, since a panic kills the client."""
    early = MachineError("fibctl ended early, exit 139")
    result = verified(FakeMachine(but("seek 0 94 0", early), console="", alive=False))
    assert stands(result)[0] == "crashed"


def test_an_error_of_a_machine_that_is_up() -> None:
    early = MachineError("fibctl ended early, exit 139")
    console = "[    1.0] fibctl[40]: segfault at 0\n"
    result = verified(FakeMachine(but("seek 0 94 0", early), console=console))
    assert stands(result)[0] == "wrong"
    assert stands(result)[1] == (
        "ABI, lseek above max_n (seek 0 94 0): fibctl ended early, exit 139;"
        " the kernel log says: fibctl[40]: segfault at 0"
    )


def test_a_dirty_log() -> None:
    console = "[    1.0] fibdrv: F(0) leaves 16 bytes in 1 blocks unfreed\n"
    result = verified(FakeMachine(console=console))
    assert stands(result)[0] == "dirty-log"
    assert stands(result)[1] == "fibdrv: F(0) leaves 16 bytes in 1 blocks unfreed"
    assert result.tests["log"] == Tally(0, 1)


def test_wrong_answers_and_a_dirty_log() -> None:
    console = "[    1.0] fibdrv: F(71): the stage returned -1\n"
    result = verified(FakeMachine(but("pread 0 81 71", "-5 0 -"), console=console))
    assert stands(result)[0] == "wrong"
    assert stands(result)[1] == (
        "F(71): expected 308061521170129, got EIO;"
        " the kernel log says: fibdrv: F(71): the stage returned -1"
    )
    assert [f.test for f in result.failures] == ["value", "log"]


def test_a_crash_outranks_wrong_answers() -> None:
    found = [
        ReportedFinding("verify", failed(Failure("value", 1, "1", "2"), "F(1)")),
        ReportedFinding("verify", Finding("crashed", "a panic", "the log")),
        ReportedFinding("qemu", Finding("timeout", "something later")),
    ]
    assert status.decide(found) == Status("crashed", "a panic", "the log")
    assert status.decide(found[2:]) == Status("timeout", "qemu: something later")
    assert status.decide([]) == Status("ok")


def test_every_request_is_asked() -> None:
    machine = FakeMachine()
    verified(machine)
    for n in range(94):
        assert machine.guest.channel.seen[f"pread 0 {n // 4 + 64} {n}"] >= 1


@pytest.mark.parametrize(
    ("expected", "got", "at"),
    [
        ("123", "123", None),
        ("123", "124", 2),
        ("123", "12", 2),
        ("12", "123", 2),
        ("123", "ERANGE", None),
        ("EINVAL", "93", None),
        ("55", "55\\x0a", 2),
    ],
)
def test_first_difference(expected: str, got: str, at: int | None) -> None:
    assert Failure("value", 1, expected, got).first_difference == at


def test_long_numbers_are_cut_where_they_differ() -> None:
    want = expected_values.digits(1000)
    text = Failure("value", 1000, want, want[:100] + "x" + want[101:]).in_a_line("F(1000)")
    assert text == (
        f"F(1000): digit 101 of 209: expected ...{want[92:112]}...,"
        f" got ...{want[92:100]}x{want[101:112]}..."
    )
    short = Failure("value", 1000, want, want[:-1]).in_a_line("F(1000)")
    assert short == (
        f"F(1000): digit 209 of 209: expected ...{want[200:]}, got ...{want[200:208]} END"
    )


TENTH = stages.find(paths.STAGES, [10])[0]


def small_tenth(answers: Answer) -> Verified:
    """Verify two short ranges of consecutive n in stage 10, with the given client answers."""
    record = verify._Record(replace(BUILT, stage=TENTH))
    guest = FakeGuest(FakeChannel(answers, {}), "", True)
    runs = verify._Runs([(1500, 1520), (2000, 2005)], expected_values.new_modulus())
    verify._verify_runs(guest, record, runs, 6.0, lambda _: None)  # type: ignore[arg-type]
    return record.closed()


def run_answer(request: str, time: int, wrong: int = 0) -> str:
    """Answer a request like a stage whose only wrong result is F(wrong)."""
    verb, *words = request.split()
    if verb == "pread" and int(words[2]) == wrong:
        text = expected_values.digits(wrong - 1)
        return f"{len(text)} {len(text)} {text}\n"
    if verb != "verify":
        return right(request, time)
    first, last, modulus, known, after = map(int, words[1:])
    assert (known, after) == tuple(
        expected_values.fibonacci(n) % modulus for n in (first, first + 1)
    )
    return f"1 {wrong}\n" if first <= wrong <= last else "0 0\n"


def test_a_run_that_is_right() -> None:
    result = small_tenth(run_answer)
    assert result.ok and result.tests["value"] == Tally(27, 0)


def test_one_wrong_n_of_a_run_is_named() -> None:
    result = small_tenth(lambda request, time: run_answer(request, time, 1507))
    (failure,) = result.failures
    assert (failure.test, failure.n) == ("value", 1507)
    assert failure.expected == expected_values.digits(1507)


def test_a_run_that_is_right_when_read_again() -> None:
    """A range with a wrong value is reported even if a second read of each n is correct."""

    def answers(request: str, time: int) -> str:
        return run_answer(request, time, 1507 if request.startswith("verify") else 0)

    (failure,) = small_tenth(answers).failures
    assert (failure.test, failure.n) == ("value", 1507)
    assert failure.got == "digits of another number at first, F(1507) when read again"
