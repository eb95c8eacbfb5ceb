# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""One stage on the debug kernel: what is done to it, in order, until something is found."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .. import explain, initramfs, log, verify
from ..build import Built
from ..errors import MachineDied, MachineError, MachineTimeout
from ..machines import Machine, Running

# Seconds that one command may take where the machine boots in half a second.
COMMAND_TIMEOUT = 200.0
# Calls that are made between two looks at the log.
CHUNK = 5000
MODULE = "/lib/fibdrv/fibdrv.ko"
KMEMLEAK = "/sys/kernel/debug/kmemleak"
# kmemleak takes no block for lost that is younger, in seconds.
KMEMLEAK_AGE = 5
# From which number of allocations in one call on not all of them can be made to fail for
# every n: with each that fails the call is made once more, so that the time goes by squares.
MANY_ALLOCATIONS = 60
# How many of the allocations of a large n are made to fail.
SAMPLES = 25

# What the kernel says when it is kmemleak that gets no memory, and that it has found something,
# which its own report tells better.
EXPECTED = re.compile(r"kmemleak: (?:Cannot allocate a scan area|\d+ new suspected)")


@dataclass(frozen=True)
class Plan:
    """How much is done."""

    seed: int = 1
    calls: int = 100_000
    quick: bool = False


@dataclass
class Examined:
    """What became of it: figures by name, and the first thing that is wrong, if any."""

    built: Built
    figures: dict[str, int] = field(default_factory=dict)
    cause: str = ""
    excerpt: str = ""

    def add(self, name: str, value: int) -> None:
        """Count."""
        self.figures[name] = self.figures.get(name, 0) + value


class _FoundError(Exception):
    """Something is wrong; no more is done, for the checkers go quiet after a first report."""

    def __init__(self, cause: str, excerpt: str) -> None:
        super().__init__(cause)
        self.excerpt = excerpt


Tell = Callable[[str], None]


def examine(built: Built, machine: Machine, plan: Plan, tell: Tell) -> Examined:
    """Verify the stage as the grader does, then put it under strain on a machine of its own."""
    result = Examined(built)
    # The debug kernel is slow: the longer list of large n is for the grader's other machines.
    verified = verify.verify(built, machine, plan.seed, True, tell)
    result.add("tests", verified.passed + verified.failed)
    if verified.status != "ok":
        result.cause, result.excerpt = _worst(verified), verified.log
    if result.cause and "unfreed" not in result.cause:
        return result
    guest = machine.boot({"fibdrv": built.stripped, "hammer": initramfs.hammer()})
    try:
        if result.cause:
            _find_leak(_Session(guest, result, plan, tell))
        else:
            _Session(guest, result, plan, tell).run()
    except _FoundError as found:
        result.cause, result.excerpt = str(found), found.excerpt
    finally:
        guest.stop()
    return result


def _worst(verified: verify.Verified) -> str:
    """What is wrong; a breach of the contract only if there is nothing else."""
    others = [f for f in verified.failures if f.test != "contract"]
    if not others or verified.failures[0] == others[0]:
        return verified.cause
    return f"{others[0].title or others[0].test}: {others[0].got}"


def _find_leak(session: _Session) -> None:
    """The driver has counted a leak; kmemleak knows where the block came from."""
    session.command("load", f"insmod {MODULE}", look=False)
    session.hammer("read", "hammer fail read 10 0 10", look=False)
    session.leaks()


class _Session:
    def __init__(self, guest: Running, result: Examined, plan: Plan, tell: Tell) -> None:
        self.guest = guest
        self.result = result
        self.plan = plan
        self.tell = tell
        self.timeout = COMMAND_TIMEOUT * guest.speed_factor

    def _console(self) -> str:
        lines = self.guest.console().splitlines()
        return "\n".join(line for line in lines if not EXPECTED.search(line))

    def look(self, what: str) -> None:
        """Look at the log."""
        finding = log.dirt(self._console(), self.result.built.module)
        if finding:
            raise _FoundError(f"{what}: {finding.cause}", finding.excerpt)

    def command(self, what: str, command: str, look: bool = True) -> str:
        """Run a command on the machine and look at the log; returns what it printed."""
        self.tell(what)
        try:
            done = self.guest.wire.run(command, self.timeout)
        except MachineDied:
            finding = log.crash(self._console(), self.result.built.module)
            raise _FoundError(f"{what}: {finding.cause}", finding.excerpt) from None
        except MachineTimeout:
            finding_or_none = log.dirt(self._console(), self.result.built.module)
            cause = finding_or_none.cause if finding_or_none else "no end"
            text = finding_or_none.excerpt if finding_or_none else log.excerpt(self._console())
            raise _FoundError(
                f"{what}: {cause} (no answer within {self.timeout:.0f} s)", text
            ) from None
        except MachineError as error:
            raise _FoundError(f"{what}: {error}", log.excerpt(self._console())) from None
        if look:
            self.look(what)
        if done.status:
            output = done.output.strip()
            first = output.splitlines()[0] if output else f"exit status {done.status}"
            raise _FoundError(f"{what}: {first}", output)
        return done.output

    def hammer(self, what: str, command: str, look: bool = True) -> dict[str, int]:
        """Run hammer; returns its figures."""
        output = self.command(what, command, look)
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", output)}

    def run(self) -> None:
        """Everything, in order."""
        self.command("load", f"insmod {MODULE}")
        self._calls()
        self._failing_reads()
        self._kills()
        self.command("unload", "rmmod fibdrv")
        self._loads()
        self.command("load", f"insmod {MODULE}")
        self.leaks()
        self.command("unload", "rmmod fibdrv")

    def _calls(self) -> None:
        plan, manifest = self.plan, self.result.built.stage.manifest
        # In the debug kernel stage 3 needs seconds for F(10,000): a cap for most calls.
        cap = min(manifest.max_n, 300 if manifest.number <= 4 else 1000)
        done = 0
        while done < plan.calls:
            count = min(CHUNK, plan.calls - done)
            seed = plan.seed * 1_000_003 + done
            figures = self.hammer(
                f"random calls, {done:,} of {plan.calls:,}",
                f"hammer calls {seed} {count} {manifest.max_n} {cap}",
            )
            done += figures["calls"]
            self.result.add("calls", figures["calls"])

    def _fail(self, what: str, samples: int, numbers: list[int]) -> int:
        """Returns the largest number of allocations that one call has made."""
        shown = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        figures = self.hammer(
            f"allocations that fail, {what}, n = {shown}",
            f"hammer fail {what} 10 {samples} {' '.join(map(str, numbers))}",
        )
        self.result.add("failed allocations", figures["failures"])
        self.result.add("refused calls", figures["refused"])
        return figures["most"]

    def _failing_reads(self) -> None:
        top = self.result.built.stage.manifest.max_n
        most = self._fail("read", 0, [min(top, 100)])
        if top < 300:
            numbers = list(range(top))
        elif most > MANY_ALLOCATIONS:
            numbers = [200, 300]
        else:
            numbers = list(range(101, 301))
        if self.plan.quick:
            numbers = numbers[:1] if most <= MANY_ALLOCATIONS else []
        step = 1 if most > MANY_ALLOCATIONS else 20
        for i in range(0, len(numbers), step):
            self._fail("read", 0, numbers[i : i + step])
        for n in (1000, 3000, 10_000, 100_000):
            if n <= top and (n == 1000 or most <= MANY_ALLOCATIONS) and not self.plan.quick:
                self._fail("read", SAMPLES, [n])
        self._fail("write", SAMPLES, [min(top, 90), min(top, 200)])
        self._fail("measure", SAMPLES, [min(top, 90), min(top, 200)])
        count = 50 if self.plan.quick else 500
        for percent in (1, 10, 100):
            figures = self.hammer(
                f"{percent} % of all allocations fail",
                f"hammer starve {self.plan.seed} {count} {percent} {min(top, 1000)}",
            )
            self.result.add("refused calls", figures["failures"])

    def _kills(self) -> None:
        top = self.result.built.stage.manifest.max_n
        count = 3 if self.plan.quick else 20
        n = min(top, 2000 if self.plan.quick else 5000)
        figures = self.hammer("kills", f"hammer kill {self.plan.seed} {count} {n}")
        self.result.add("kills", figures["killed"])

    def _loads(self) -> None:
        count = 10 if self.plan.quick else 100
        figures = self.hammer(f"load and unload {count} times", f"hammer reload {MODULE} {count}")
        self.result.add("loads", figures["loads"])
        if not self.plan.quick:
            figures = self.hammer("loads with an allocation that fails", f"hammer refill {MODULE}")
            self.result.add("failed loads", figures["refused"])
            self.result.add("failed allocations", figures["failures"])

    def leaks(self) -> None:
        """Let kmemleak scan: once to know what changes, and once when all is old enough."""
        report = self.command(
            "leak scan",
            f"echo scan >{KMEMLEAK} && sleep {KMEMLEAK_AGE} && echo scan >{KMEMLEAK}"
            f" && cat {KMEMLEAK}",
            look=False,
        )
        self.result.add("leaks", explain.leaked(report))
        module = self.result.built.module
        meaning = explain.leaks(
            report, lambda symbol, offset, size: log.source_line(module, symbol, offset, size)
        )
        if meaning:
            raise _FoundError(f"leak scan: {meaning}", f"What it means: {meaning}.\n{report}")
        self.look("leak scan")
