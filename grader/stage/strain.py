# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""One stage on the debug kernel: what is done to it, in order, until something is found."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from grader.base.errors import MachineDied, MachineError, MachineTimeout
from grader.lab import initramfs, kernel_log, log_meaning, uml_debug
from grader.lab.machines import Machine, Running
from grader.stage import verify
from grader.stage.build import Built
from grader.stage.verify import Failure, Verified

# Seconds that one command may take where the machine boots in half a second.
COMMAND_TIMEOUT = 200.0
# Calls that are made between two looks at the log.
CHUNK = 5000
MODULE = "/lib/fibdrv/fibdrv.ko"
KMEMLEAK = "/sys/kernel/debug/kmemleak"
# kmemleak takes no block for lost that is younger, in seconds.
KMEMLEAK_AGE = 5
# For these n each allocation is made to fail. With each that does the call is made once more, so
# that the time goes by their square: stage 3 makes 1,241 for n = 300.
EVERY_ALLOCATION = range(100, 301)
# How many n one machine is asked for at once; the fewer, the more is seen of the progress.
FEW, SOME = 2, 20
# How many machines do so at once.
MACHINES = 2
# From which number of allocations in one call on F(n) takes long.
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

    verified: Verified
    figures: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def built(self) -> Built:
        """The stage."""
        return self.verified.built

    @property
    def cause(self) -> str:
        """What is wrong."""
        return self.verified.cause

    @property
    def excerpt(self) -> str:
        """The log around it."""
        return self.verified.log

    def add(self, name: str, value: int) -> None:
        """Count."""
        with self._lock:
            self.figures[name] = self.figures.get(name, 0) + value


class _FoundError(Exception):
    """Something is wrong; no more is done, for the checkers go quiet after a first report."""

    def __init__(self, status: str, cause: str, excerpt: str) -> None:
        super().__init__(cause)
        self.status = status
        self.excerpt = excerpt


Tell = Callable[[str], None]


def examine(built: Built, machine: Machine, plan: Plan, tell: Tell) -> Examined:
    """Verify the stage as the grader does, then put it under strain."""
    # The debug kernel is slow: the longer list of large n is for the grader's other machines.
    return strain(verify.verify(built, machine, plan.seed, True, tell), machine, plan, tell)


def strain(verified: Verified, machine: Machine, plan: Plan, tell: Tell) -> Examined:
    """Put a verified stage under strain; what is found is noted in verified as well."""
    result = Examined(verified)
    result.add("tests", verified.passed + verified.failed)
    if verified.status != "ok":
        verified.cause = _worst(verified)
    leaky = leaks(verified)
    if verified.cause and not leaky:
        return result
    guest = _boot(machine, result)
    try:
        session = _Session(guest, result, plan, tell)
        session.find_leak() if leaky else session.run()
    except _FoundError as found:
        if leaky:  # the driver has counted it; now it is known where the block came from
            verified.cause, verified.log = str(found), found.excerpt
        verified.end(found.status, str(found), found.excerpt)
        verified.fails(Failure("debug", None, "nothing found", str(found), "debug kernel"))
    finally:
        guest.stop()
    return result


def leaks(verified: Verified) -> bool:
    """Whether the driver has counted blocks that were not given back."""
    return "unfreed" in verified.cause


def in_words(figures: dict[str, int]) -> str:
    """The figures for a reader: "1 test, 100,008 calls"."""
    return ", ".join(
        f"{value:,} {name[:-1] if value == 1 and name.endswith('s') else name}"
        for name, value in figures.items()
    )


def _boot(machine: Machine, result: Examined) -> Running:
    return machine.boot({"fibdrv": result.built.stripped, "hammer": initramfs.hammer()})


def _worst(verified: Verified) -> str:
    """What is wrong; a breach of the contract only if there is nothing else."""
    others = [f for f in verified.failures if f.test != "contract"]
    if not others or verified.failures[0] == others[0]:
        return verified.cause
    return f"{others[0].title or others[0].test}: {others[0].got}"


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
        finding = kernel_log.dirt(self._console(), self.result.built.module)
        if finding:
            raise _FoundError("dirty-log", f"{what}: {finding.cause}", finding.excerpt)

    def command(self, what: str, command: str, look: bool = True) -> str:
        """Run a command on the machine and look at the log; returns what it printed."""
        self.tell(what)
        try:
            done = self.guest.wire.run(command, self.timeout)
        except MachineDied:
            finding = kernel_log.crash(self._console(), self.result.built.module)
            raise _FoundError("crashed", f"{what}: {finding.cause}", finding.excerpt) from None
        except MachineTimeout:
            finding_or_none = kernel_log.dirt(self._console(), self.result.built.module)
            cause = finding_or_none.cause if finding_or_none else "no end"
            text = (
                finding_or_none.excerpt if finding_or_none else kernel_log.excerpt(self._console())
            )
            cause = f"{what}: {cause} (no answer within {self.timeout:.0f} s)"
            raise _FoundError("timeout", cause, text) from None
        except MachineError as error:
            text = kernel_log.excerpt(self._console())
            raise _FoundError("crashed", f"{what}: {error}", text) from None
        if look:
            self.look(what)
        if done.status:
            output = done.output.strip()
            first = output.splitlines()[0] if output else f"exit status {done.status}"
            raise _FoundError("wrong", f"{what}: {first}", output)
        return done.output

    def hammer(self, what: str, command: str, look: bool = True) -> dict[str, int]:
        """Run hammer; returns its figures."""
        output = self.command(what, command, look)
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", output)}

    def run(self) -> None:
        """Everything, in order."""
        self.command("load", f"insmod {MODULE}")
        self._calls()
        self._storm()
        self._fail_in_turn()
        self._starve()
        self._kills()
        self.command("unload", "rmmod fibdrv")
        self._loads()
        self.command("load", f"insmod {MODULE}")
        self.leaks()
        self.command("unload", "rmmod fibdrv")

    def find_leak(self) -> None:
        """The driver has counted a leak; kmemleak knows where the block came from."""
        self.command("load", f"insmod {MODULE}", look=False)
        self.hammer("read", "hammer fail read 10 0 10", look=False)
        self.leaks()

    def _cap(self) -> int:
        """In the debug kernel stage 3 needs seconds for F(10,000): a cap for most calls."""
        manifest = self.result.built.stage.manifest
        return min(manifest.max_n, 300 if manifest.number <= 4 else 1000)

    def _calls(self) -> None:
        plan, manifest = self.plan, self.result.built.stage.manifest
        done = 0
        while done < plan.calls:
            count = min(CHUNK, plan.calls - done)
            seed = plan.seed * 1_000_003 + done
            figures = self.hammer(
                f"random calls, {done:,} of {plan.calls:,}",
                f"hammer calls {seed} {count} {manifest.max_n} {self._cap()}",
            )
            done += figures["calls"]
            self.result.add("calls", figures["calls"])

    def _storm(self) -> None:
        """Reads, and whatever else, while it is unloaded and loaded again."""
        top = self.result.built.stage.manifest.max_n
        seconds = 3 if self.plan.quick else 9
        figures = self.hammer(
            "calls of four threads, and unloads meanwhile",
            f"hammer storm {self.plan.seed} {seconds} 4 {self._cap()} {top} {MODULE}",
        )
        self.result.add("calls", figures["calls"])
        self.result.add("loads", figures["loads"])

    def _fail(self, what: str, samples: int, numbers: Sequence[int]) -> int:
        """Returns the largest number of allocations that one call has made."""
        shown = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        figures = self.hammer(
            f"allocations that fail, {what}, n = {shown}",
            f"hammer fail {what} 10 {samples} {' '.join(map(str, numbers))}",
        )
        self.result.add("failed allocations", figures["failures"])
        self.result.add("refused calls", figures["refused"])
        return figures["most"]

    def _fail_in_turn(self) -> None:
        """Every allocation of a call fails, one after the other.

        On machines without kmemleak: with it, its own would be counted among them. The driver
        counts what is not given back; kmemleak looks while allocations fail by chance, below.
        """
        top = self.result.built.stage.manifest.max_n
        with self._untracked() as session:
            most = session._fail("read", 0, [min(top, EVERY_ALLOCATION[0])])
            for n in (1000, 3000, 10_000, 100_000):
                if n <= top and (n == 1000 or most <= MANY_ALLOCATIONS) and not self.plan.quick:
                    session._fail("read", SAMPLES, [n])
            for what in ("write", "measure"):
                session._fail(what, SAMPLES, [min(top, 90), min(top, 200)])
        size = FEW if most > MANY_ALLOCATIONS else SOME
        numbers = range(top) if top < EVERY_ALLOCATION[-1] else EVERY_ALLOCATION[1:]
        if self.plan.quick:
            numbers = numbers[:size] if size == SOME else numbers[:0]
        parts = SimpleQueue[range]()
        for i in range(0, len(numbers), size):
            parts.put(numbers[i : i + size])
        with ThreadPoolExecutor() as pool:
            machines = [
                pool.submit(self._fail_reads, parts) for _ in range(min(MACHINES, parts.qsize()))
            ]
            for machine in machines:
                machine.result()

    def _fail_reads(self, parts: SimpleQueue[range]) -> None:
        """Take from parts until nothing is left; drop what is when something is found."""
        try:
            with self._untracked() as session:
                while not parts.empty():
                    session._fail("read", 0, parts.get_nowait())
        except Empty:  # the other machine has taken the last
            pass
        except BaseException:
            while not parts.empty():
                with suppress(Empty):
                    parts.get_nowait()
            raise

    @contextmanager
    def _untracked(self) -> Iterator[_Session]:
        """A machine without kmemleak, the stage loaded."""
        guest = _boot(uml_debug.UNTRACKED, self.result)
        try:
            session = _Session(guest, self.result, self.plan, self.tell)
            session.command("load", f"insmod {MODULE}")
            yield session
        finally:
            guest.stop()

    def _starve(self) -> None:
        top = self.result.built.stage.manifest.max_n
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

    def leaks(self) -> None:
        """Let kmemleak scan: once to know what changes, and once when all is old enough."""
        report = self.command(
            "leak scan",
            f"echo scan >{KMEMLEAK} && sleep {KMEMLEAK_AGE} && echo scan >{KMEMLEAK}"
            f" && cat {KMEMLEAK}",
            look=False,
        )
        self.result.add("leaks", log_meaning.leaked(report))
        module = self.result.built.module
        meaning = log_meaning.leaks(
            report,
            lambda symbol, offset, size: kernel_log.source_line(module, symbol, offset, size),
        )
        if meaning:
            raise _FoundError(
                "dirty-log", f"leak scan: {meaning}", f"What it means: {meaning}.\n{report}"
            )
        self.look("leak scan")
