# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Verify one stage in a machine of its own: loading, the ABI, the values, the log."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from grader.base.errors import MachineDied, MachineError, MachineTimeout
from grader.lab import kernel_log
from grader.lab.machines import Machine, Running
from grader.stage import oracle, system_calls
from grader.stage.build import Built

# Seconds on the lab machine for one answer; the slowest call takes about two.
CALL_TIMEOUT = 6.0
# How many failures of one test are worth showing.
SHOWN = 5
EVERY_N_TO = 1000
# What must be gone when a stage is unloaded, and how the machine is asked for it.
LEFT_BEHIND = {
    "test -e /dev/fibonacci": "/dev/fibonacci",
    "test -e /sys/class/fibonacci": "/sys/class/fibonacci",
    "grep -qw fibonacci /proc/devices": "the device number (fibonacci in /proc/devices)",
}


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
        if not self.expected.isdigit() or not self.got[:1].isdigit():
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


def _cut(text: str) -> str:
    width = 48 if text.isdigit() else 160
    return text if len(text) <= width else f"{text[: width // 2]}...{text[-width // 2 :]}"


def _describe(failure: Failure) -> str:
    if failure.test == "contract":
        return f"{failure.got}; stage.h allows {failure.expected}"
    what = failure.title or f"F({failure.n})"
    at = failure.first_difference
    if at is None or max(len(failure.expected), len(failure.got)) <= 48:
        return f"{what}: expected {_cut(failure.expected)}, got {_cut(failure.got)}"
    expected, got = (_around(text, at) for text in (failure.expected, failure.got))
    return f"{what}: digit {at + 1} of {len(failure.expected)}: expected {expected}, got {got}"


def _around(text: str, at: int) -> str:
    """The part of a long text around one place."""
    begin, end = max(0, at - 8), at + 12
    before, after = "..." if begin else "", "..." if end < len(text) else ""
    return f"{before}{text[begin:end]}{after}" if at < len(text) else f"{before}{text[begin:]} END"


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


def _read_values(
    guest: Running, result: Verified, n_list: list[int], timeout: float, at: Callable[[str], None]
) -> None:
    reads = [f"pread 0 {n // 4 + 64} {n}" for n in n_list]
    answers = guest.wire.batch(["open 0 r", *reads], timeout)
    at("open")
    next(answers)
    for n, request in zip(n_list, reads):
        at(f"read of F({n})")
        answer = next(answers)
        want = oracle.digits(n)
        if answer.split() == [str(len(want)), str(len(want)), want]:
            result.passes("value")
        else:
            result.fails(Failure("value", n, want, system_calls.in_words(request, answer)))
    # The batch is done with the last answer: let it end.
    at("close")
    for _ in answers:
        pass


def _check_abi(guest: Running, result: Verified, timeout: float, at: Callable[[str], None]) -> None:
    cases = system_calls.cases(result.built.stage.manifest)
    answers = guest.wire.batch([c.request for c in cases], timeout)
    for case in cases:
        title = f"{case.title} ({case.request})"
        at(title)
        answer = next(answers)
        if case.holds(answer):
            result.passes("abi")
        else:
            result.fails(Failure("abi", None, case.wanted(), case.got(answer), title))
    at("the end")
    for _ in answers:
        pass


class _Steps:
    """Runs steps until one ends it all, and says how."""

    def __init__(self, result: Verified, guest: Running) -> None:
        self.result = result
        self.guest = guest
        self.detail = ""

    def at(self, detail: str) -> None:
        """Say what within the step comes now."""
        self.detail = detail

    def run(self, what: str, status: str, step: Callable[[], None]) -> bool:
        """Whether the step went through; otherwise the result has its end."""
        module = self.result.built.module
        self.detail = ""
        try:
            step()
            return True
        except MachineError as error:
            where = f"{what}, {self.detail}" if self.detail else what
            console = self.guest.console()
            if isinstance(error, MachineDied) or not self.guest.alive():
                finding = kernel_log.crash(console, module)
                self.result.end("crashed", f"{where}: {finding.cause}", finding.excerpt)
                return False
            dirt = kernel_log.dirt(console, module)
            extra = f"; the kernel log says: {dirt.cause}" if dirt else ""
            cause = f"{where}: {error}{extra}"
            if isinstance(error, MachineTimeout):
                status = "timeout"
                seconds = CALL_TIMEOUT * self.guest.speed_factor
                cause = f"{where}: no answer within {seconds:.0f} s, it hangs or loops{extra}"
            self.result.end(status, cause, kernel_log.excerpt(console))
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
        result.fails(Failure("contract", None, breach.expected, breach.got))
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
        for test, what in LEFT_BEHIND.items():
            if wire.run(test, timeout).status == 0:
                raise MachineError(f"{what} is still there after rmmod")

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
    if not steps.run("ABI", "wrong", lambda: _check_abi(guest, result, timeout, steps.at)):
        return
    tell("values")
    numbers = chosen_n(manifest.max_n, seed, quick)
    if not steps.run(
        "values", "wrong", lambda: _read_values(guest, result, numbers, timeout, steps.at)
    ):
        return
    if not steps.run("unload while open", "unload-failed", busy):
        return
    tell("unload again")
    if not steps.run("second unload", "unload-failed", unload):
        return
    result.passes("load")
    finding = kernel_log.dirt(guest.console(), result.built.module)
    if finding:
        if result.status == "ok":
            result.end("dirty-log", finding.cause, finding.excerpt)
        elif result.status == "wrong":
            result.cause += f"; the kernel log says: {finding.cause}"
            result.log = finding.excerpt
        result.fails(Failure("log", None, "a clean kernel log", finding.cause, "kernel log"))
    else:
        result.passes("log")
