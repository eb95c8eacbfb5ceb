# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verify one stage in a machine of its own: loading, the ABI, the values, the log."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from . import abi, log, oracle
from .build import Built
from .errors import MachineDied, MachineError, MachineTimeout
from .machines import Machine, Running

# Seconds on the lab machine for one answer; the slowest call takes about two.
CALL_TIMEOUT = 6.0
# How many failures of one test are worth showing.
SHOWN = 5
EVERY_N_TO = 1000


@dataclass(frozen=True)
class Failure:
    """One thing that is not as it should be."""

    test: str
    n: int | None
    expected: str
    got: str
    title: str = ""

    @property
    def first_difference(self) -> int | None:
        """Where expected and got part, counted from 0."""
        if not self.expected.isdigit():
            return None
        for i, (a, b) in enumerate(zip(self.expected, self.got)):
            if a != b:
                return i
        shorter = min(len(self.expected), len(self.got))
        return shorter if len(self.expected) != len(self.got) else None


@dataclass
class Verified:
    """What became of a stage."""

    built: Built
    status: str = "ok"
    cause: str = ""
    log: str = ""
    tests: dict[str, list[int]] = field(default_factory=dict)  # passed and failed by test
    failures: list[Failure] = field(default_factory=list)

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(passed for passed, _ in self.tests.values())

    @property
    def failed(self) -> int:
        """How many tests failed."""
        return sum(failed for _, failed in self.tests.values())

    def end(self, status: str, cause: str, excerpt: str = "") -> None:
        """Set how it ended; the first word counts."""
        if self.status in ("ok", "wrong") and status != "wrong" or self.status == "ok":
            self.status, self.cause = status, cause
            self.log = self.log or excerpt

    def passes(self, test: str) -> None:
        """Count a test that passed."""
        self.tests.setdefault(test, [0, 0])[0] += 1

    def fails(self, failure: Failure) -> None:
        """Count a test that failed; a few of each kind are kept to be shown."""
        self.tests.setdefault(failure.test, [0, 0])[1] += 1
        if sum(f.test == failure.test for f in self.failures) < SHOWN:
            self.failures.append(failure)
        if self.status == "ok":
            self.end("wrong", _describe(failure))


def _cut(text: str, width: int = 48) -> str:
    return text if len(text) <= width else f"{text[: width // 2]}...{text[-width // 2 :]}"


def _describe(failure: Failure) -> str:
    at = failure.first_difference
    if failure.test == "value" and at is not None and len(failure.expected) > 48:
        begin = max(0, at - 8)
        where = f" at digit {at}: ...{failure.expected[begin : at + 12]}..."
        return (
            f"F({failure.n}) is wrong{where} expected,"
            f" ...{_cut(failure.got[begin : at + 12])}... got"
        )
    what = failure.title or f"F({failure.n})"
    return f"{what}: expected {_cut(failure.expected)}, got {_cut(failure.got)}"


def chosen_n(max_n: int, seed: int, quick: bool) -> list[int]:
    """Which n are verified: all to 1,000, golden ones and random ones above, max_n."""
    some = list(range(min(max_n, EVERY_N_TO) + 1))
    if max_n > EVERY_N_TO:
        rng = random.Random(seed)
        ratio = max_n / EVERY_N_TO
        count = 8 if quick else 24
        above = {round(EVERY_N_TO * ratio ** rng.random()) for _ in range(count)}
        golden = [n for n in oracle.golden_n() if n <= max_n]
        above.update(golden[:: max(1, len(golden) // 12)] if quick else golden)
        above.update({EVERY_N_TO + 1, max_n - 1, max_n})
        some.extend(sorted(above - set(some)))
    return some


def _read_values(guest: Running, result: Verified, n_list: list[int], timeout: float) -> None:
    requests = ["open 0 r"]
    for n in n_list:
        requests.append(f"pread 0 {n // 4 + 64} {n}")
    current = n_list[0]
    try:
        answers = guest.wire.batch(requests, timeout)
        next(answers)
        for current in n_list:
            _judge_value(result, current, next(answers))
        # The batch is done with the last answer: let it end.
        for _ in answers:
            pass
    except MachineTimeout as error:
        raise MachineTimeout(f"read of F({current})") from error


def _judge_value(result: Verified, n: int, answer: str) -> None:
    want = oracle.digits(n)
    count, touched, data = answer.split(" ", 2)
    data = data.strip()
    if data == want and count == touched == str(len(want)):
        result.passes("value")
    elif data == want:
        got = f"{count} digits said, {touched} bytes written"
        result.fails(Failure("value", n, f"{len(want)} digits", got))
    else:
        result.fails(Failure("value", n, want, data if data != "-" else f"error {count}"))


def _check_abi(guest: Running, result: Verified, timeout: float) -> None:
    cases = abi.cases(result.built.stage.manifest)
    current = cases[0]
    answers = guest.wire.batch([c.request for c in cases], timeout)
    try:
        for current in cases:
            answer = next(answers)
            if current.holds(answer):
                result.passes("abi")
            else:
                result.fails(Failure("abi", None, current.expected, answer.strip(), current.title))
        for _ in answers:
            pass
    except MachineTimeout as error:
        raise MachineTimeout(f"{current.title} ({current.request})") from error


class _Steps:
    """Runs steps until one ends it all, and says how."""

    def __init__(self, result: Verified, guest: Running) -> None:
        self.result = result
        self.guest = guest

    def run(self, what: str, status: str, step: Callable[[], None]) -> bool:
        """Whether the step went through; otherwise the result has its end."""
        module = self.result.built.module
        try:
            step()
            return True
        except MachineDied:
            finding = log.crash(self.guest.console(), module)
            self.result.end("crashed", f"{what}: {finding.cause}", finding.excerpt)
        except MachineTimeout as error:
            seconds = CALL_TIMEOUT * self.guest.speed_factor
            detail = f" in {error}" if "no answer" not in str(error) else ""
            self.result.end(
                "timeout",
                f"{what}: no answer within {seconds:.0f} s{detail}",
                log.excerpt(self.guest.console()),
            )
        except MachineError as error:
            if not self.guest.alive():
                finding = log.crash(self.guest.console(), module)
                self.result.end("crashed", f"{what}: {finding.cause}", finding.excerpt)
            else:
                finding_or_none = log.dirt(self.guest.console(), module)
                extra = f" - {finding_or_none.cause}" if finding_or_none else ""
                self.result.end(
                    status, f"{what}: {error}{extra}", log.excerpt(self.guest.console())
                )
        return False


def verify(
    built: Built, machine: Machine, seed: int, quick: bool, tell: Callable[[str], None]
) -> Verified:
    """Boot a machine for one stage and try all that the ABI promises."""
    result = Verified(built)
    if not built.ok:
        result.end("build-failed", built.cause, built.log[-4000:])
        return result
    if not built.breaches:
        result.passes("contract")
    for breach in built.breaches:
        result.fails(Failure("contract", None, breach.expected, breach.got, "contract"))
    guest = machine.boot({"fibdrv": built.stripped})
    try:
        _verify_in(guest, result, seed, quick, tell)
    finally:
        guest.stop()
    return result


def _verify_in(
    guest: Running, result: Verified, seed: int, quick: bool, tell: Callable[[str], None]
) -> None:
    timeout = CALL_TIMEOUT * guest.speed_factor
    manifest = result.built.stage.manifest
    steps = _Steps(result, guest)
    wire = guest.wire

    def load() -> None:
        wire.check("insmod /lib/fibdrv/fibdrv.ko", timeout)
        wire.check("test -c /dev/fibonacci", timeout)

    def unload() -> None:
        wire.check("rmmod fibdrv", timeout)
        if wire.run("test -e /dev/fibonacci || test -e /sys/class/fibonacci", timeout).status == 0:
            raise MachineError("the device is still there after rmmod")

    def busy() -> None:
        done = wire.run("exec 3</dev/fibonacci && rmmod fibdrv 2>&1", timeout)
        if done.status == 0:
            raise MachineError("rmmod went through while a file was open")

    tell("load")
    if not steps.run("load", "load-failed", load):
        return
    tell("unload")
    if not steps.run("unload", "unload-failed", unload):
        return
    tell("load again")
    if not steps.run("second load", "load-failed", load):
        return
    tell("the ABI")
    if not steps.run("ABI", "wrong", lambda: _check_abi(guest, result, timeout)):
        return
    tell("values")
    numbers = chosen_n(manifest.max_n, seed, quick)
    if not steps.run("values", "wrong", lambda: _read_values(guest, result, numbers, timeout)):
        return
    if not steps.run("unload while open", "unload-failed", busy):
        return
    tell("unload again")
    if not steps.run("second unload", "unload-failed", unload):
        return
    result.passes("load")
    finding = log.dirt(guest.console(), result.built.module)
    if finding:
        if result.status == "ok":
            result.end("dirty-log", finding.cause, finding.excerpt)
        result.fails(Failure("log", None, "a clean kernel log", finding.cause, "kernel log"))
    else:
        result.passes("log")
