# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stress a stage on the debug kernel until a step finds a fault."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

from grader.base.errors import MachineError
from grader.base.finding import Code, Failure, Finding
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.conformance import verify
from grader.exercise.conformance.verify import MODULE, Verified
from grader.exercise.files import device
from grader.lab import failure_classification, kernel_log, leak_scan, uml_debug
from grader.lab.machines import Machine, Running
from grader.lab.module import Module

TEST = "debug"  # The name of the stress tests in the report.
# The time limit of one command, in seconds, on a machine that boots in half a second.
COMMAND_TIMEOUT = 200.0
# The number of calls between two checks of the log.
CHUNK = 5000
# For these n every allocation fails once. Each failure needs a separate call, so the time grows
# with the square of the number of allocations. Stage 3 makes 1,241 allocations for n = 300.
EVERY_ALLOCATION = range(100, 301)
# The number of values of n in one request to a machine. Requests with slow calls contain only FEW
# values, so that progress is shown often.
FEW, SOME = 2, 20
# The number of machines that inject failures at the same time.
MACHINES = 2
# From this number of allocations on, a call counts as slow.
MANY_ALLOCATIONS = 60
# The number of failed allocations for a large n, and the bounds of the ranges. From each range, one
# large n is selected at random.
SAMPLES = 25
SIZES = (300, 1000, 3000, 10_000, 100_000)

# Messages of kmemleak that are no faults: kmemleak had no memory for itself, or kmemleak found a
# leak, which its own report shows in more detail.
EXPECTED = re.compile(r"kmemleak: (?:Cannot allocate a scan area|\d+ new suspected)")


@dataclass(frozen=True)
class StressPlan:
    """The extent of a stress test."""

    seed: int = 1
    calls: int = 100_000
    quick: bool = False


@dataclass(frozen=True)
class StressResult:
    """The result of a stress test: figures by name, and all findings, the worst first."""

    verified: Verified
    figures: Mapping[str, int]
    findings: tuple[Finding, ...] = ()

    @property
    def built(self) -> BuiltStage:
        """Return the stage."""
        return self.verified.built

    @property
    def cause(self) -> str:
        """Return the first cause, or "" if there are no findings."""
        return self.findings[0].cause if self.findings else ""

    @property
    def excerpt(self) -> str:
        """Return the log excerpt of the first finding."""
        return self.findings[0].excerpt if self.findings else ""

    def as_verified(self) -> Verified:
        """Return the verification with the findings of the stress test added."""
        more = [f.failure for f in self.findings if f.failure and f.failure.test == TEST]
        failures = (*self.verified.failures, *more)
        return replace(self.verified, findings=self.findings, failures=failures)


@dataclass
class _Figures:
    """The counters of a stress test, which several threads update."""

    counts: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, value: int) -> None:
        """Add to a counter."""
        with self._lock:
            self.counts[name] = self.counts.get(name, 0) + value


class _FoundError(Exception):
    """A step found a fault. The test then ends, because checkers report only the first fault."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.cause)
        self.finding = finding


Tell = Callable[[str], None]


def examine(built: BuiltStage, machine: Machine, plan: StressPlan, tell: Tell) -> StressResult:
    """Verify the stage as the grader does, then run the stress test."""
    verified = verify.verify(built, machine, plan.seed, True, tell)
    return stress(verified, machine, plan, tell)


def stress(verified: Verified, machine: Machine, plan: StressPlan, tell: Tell) -> StressResult:
    """Run the stress test on a verified stage, unless verification found more than leaks."""
    figures = _Figures()
    figures.add("tests", verified.passed + verified.failed)
    known = _worst_first(verified)
    leaky = leaks(verified)
    if known and not leaky:
        return StressResult(verified, figures.counts, known)
    found = _found_under_stress(verified.built, machine, figures, plan, tell, leaky)
    if found and _names_nobody(found, verified.built.module):
        # The kernel sometimes reports a fault of its own, but a fault of the module appears again.
        tell("once more, because the kernel's message does not mention the module")
        found = _found_under_stress(verified.built, machine, figures, plan, tell, leaky)
    if found:
        failure = Failure(TEST, None, "nothing found", found.cause, "debug kernel")
        # This finding comes first, because it shows where the leaked block was allocated.
        known = (replace(found, failure=failure), *known)
    return StressResult(verified, figures.counts, known)


def _found_under_stress(
    built: BuiltStage,
    machine: Machine,
    figures: _Figures,
    plan: StressPlan,
    tell: Tell,
    leaky: bool,
) -> Finding | None:
    """Run the stress test in a new machine. Return its finding, or None."""
    guest = _boot(machine, built.module)
    try:
        session = _StressSession(guest, built, figures, plan, tell)
        session.find_leak() if leaky else session.run()
        return None
    except _FoundError as error:
        return error.finding
    finally:
        guest.stop()


def _names_nobody(found: Finding, module: Module) -> bool:
    """Return whether a kernel message does not mention the module, not even in a call trace."""
    complaint = found.code in (Code.CRASHED, Code.DIRTY_LOG)
    words = (f"[{module.name}", f"{module.name}: ", *module.own)
    return complaint and not any(word in found.cause + found.excerpt for word in words)


def leaks(verified: Verified) -> bool:
    """Return whether the driver has counted blocks that were not released."""
    return any(finding.code == Code.LEAK for finding in verified.findings)


def in_words(figures: Mapping[str, int]) -> str:
    """Return the figures as text, for example "1 test, 100,008 calls"."""
    return ", ".join(
        f"{value:,} {name[:-1] if value == 1 and name.endswith('s') else name}"
        for name, value in figures.items()
    )


def _boot(machine: Machine, module: Module) -> Running:
    return machine.boot(
        device.contents({device.NAME: module.stripped}, {"fibstress": device.stress_client()})
    )


def _worst_first(verified: Verified) -> tuple[Finding, ...]:
    """Return the findings, the kernel's reports first, because they show the cause of wrong values.

    Violations of the contract come last.
    """

    def order(finding: Finding) -> int:
        if finding.code in (Code.CRASHED, Code.DIRTY_LOG):
            return 0
        contract = finding.failure is not None and finding.failure.test == "contract"
        return 2 if contract else 1

    return tuple(sorted(verified.findings, key=order))


class _StressSession:
    def __init__(
        self, guest: Running, built: BuiltStage, figures: _Figures, plan: StressPlan, tell: Tell
    ) -> None:
        self.guest = guest
        self.built = built
        self.figures = figures
        self.plan = plan
        self.tell = tell
        self.timeout = COMMAND_TIMEOUT * guest.speed_factor

    def _console(self) -> str:
        lines = self.guest.console().splitlines()
        return "\n".join(line for line in lines if not EXPECTED.search(line))

    def check_log(self, what: str) -> None:
        """Raise _FoundError if the log has a problem."""
        finding = kernel_log.first_problem(self._console(), self.built.module)
        if finding:
            raise _FoundError(finding.within(self._step(what)))

    def _step(self, what: str) -> str:
        """Return the name of a step with the seed that repeats it."""
        return f"{what} (seed {self.plan.seed})"

    def command(self, what: str, command: str, check_log: bool = True) -> str:
        """Run a command on the machine, check the log, and return the output.

        Raise _FoundError if the command fails or the log has a problem.
        """
        self.tell(what)
        try:
            result = self.guest.channel.run(command, self.timeout)
        except MachineError as error:
            raise _FoundError(self._ending(error).within(self._step(what))) from None
        if check_log:
            self.check_log(what)
        if result.status:
            output = result.output.strip()
            first = output.splitlines()[0] if output else f"exit status {result.status}"
            raise _FoundError(Finding("wrong", f"{self._step(what)}: {first}", output))
        return result.output

    def _ending(self, error: MachineError) -> Finding:
        """Return a finding for a failed command. For a time-out, quote the kernel's message."""
        found = failure_classification.classify(error, self.guest, self.built.module, "crashed")
        if found.status != "timeout":
            return found
        dirt = kernel_log.first_problem(self._console(), self.built.module)
        cause = f"{dirt.cause if dirt else 'no end'} (no answer within {self.timeout:.0f} s)"
        return Finding("timeout", cause, dirt.excerpt if dirt else found.excerpt)

    def run_client(self, what: str, command: str, check_log: bool = True) -> dict[str, int]:
        """Run fibstress and return its figures."""
        output = self.command(what, command, check_log)
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", output)}

    def run(self) -> None:
        """Run all steps in order."""
        self.command("load", f"insmod {MODULE}")
        self._calls()
        self._concurrent()
        self._fail_in_turn()
        self._random_failures()
        self._kills()
        self.command("unload", f"rmmod {device.NAME}")
        self._loads()
        self.command("load", f"insmod {MODULE}")
        self.leaks()
        self.command("unload", f"rmmod {device.NAME}")

    def find_leak(self) -> None:
        """Let kmemleak find where a block was allocated that the driver counted as leaked."""
        self.command("load", f"insmod {MODULE}", check_log=False)
        self.run_client("read", f"fibstress fail read 10 0 {self.plan.seed} 10", check_log=False)
        self.leaks()

    def _cap(self) -> int:
        """Return the largest n of most calls, which is smaller for slow stages to save time."""
        manifest = self.built.stage.manifest
        return min(manifest.max_n, 300 if manifest.traits.slow else 1000)

    def _calls(self) -> None:
        plan, manifest = self.plan, self.built.stage.manifest
        done = 0
        while done < plan.calls:
            count = min(CHUNK, plan.calls - done)
            seed = plan.seed * 1_000_003 + done
            figures = self.run_client(
                f"random calls, {done:,} of {plan.calls:,}",
                f"fibstress calls {seed} {count} {manifest.max_n} {self._cap()}",
            )
            done += figures["calls"]
            self.figures.add("calls", figures["calls"])

    def _concurrent(self) -> None:
        """Make calls in four threads while the module is unloaded and loaded again."""
        top = self.built.stage.manifest.max_n
        seconds = 3 if self.plan.quick else 9
        figures = self.run_client(
            "calls of four threads, with unloads at the same time",
            f"fibstress concurrent {self.plan.seed} {seconds} 4 {self._cap()} {top} {MODULE}",
        )
        self.figures.add("calls", figures["calls"])
        self.figures.add("loads", figures["loads"])

    def _fail(self, what: str, samples: int, numbers: Sequence[int]) -> int:
        """Make allocations fail in calls for some n. Return the most allocations in one call."""
        shown = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        figures = self.run_client(
            f"allocations that fail, {what}, n = {shown}",
            f"fibstress fail {what} 10 {samples} {self.plan.seed} {' '.join(map(str, numbers))}",
        )
        self.figures.add("failed allocations", figures["failures"])
        self.figures.add("refused calls", figures["refused"])
        return figures["most"]

    def _fail_in_turn(self) -> None:
        """Let every allocation of a call fail, one after the other.

        The machines have no kmemleak, because kmemleak's own allocations would be counted, too. The
        driver detects leaks; kmemleak checks for them in the step with random failures.
        """
        top = self.built.stage.manifest.max_n
        with self._untracked() as session:
            most = session._fail("read", 0, [min(top, EVERY_ALLOCATION[0])])
            rng = random.Random(self.plan.seed)
            drawn = [rng.randint(low + 1, high) for low, high in zip(SIZES, SIZES[1:])]
            for i, n in enumerate(drawn):
                if n <= top and (i == 0 or most <= MANY_ALLOCATIONS) and not self.plan.quick:
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
        """Test each part of the list of n in turn. After an exception, drop the remaining parts."""
        try:
            with self._untracked() as session:
                while not parts.empty():
                    session._fail("read", 0, parts.get_nowait())
        except Empty:  # the other machine took the last part
            pass
        except BaseException:
            while not parts.empty():
                with suppress(Empty):
                    parts.get_nowait()
            raise

    @contextmanager
    def _untracked(self) -> Iterator[_StressSession]:
        """Boot a machine without kmemleak and load the stage."""
        guest = _boot(uml_debug.UNTRACKED, self.built.module)
        try:
            session = _StressSession(guest, self.built, self.figures, self.plan, self.tell)
            session.command("load", f"insmod {MODULE}")
            yield session
        finally:
            guest.stop()

    def _random_failures(self) -> None:
        top = self.built.stage.manifest.max_n
        count = 50 if self.plan.quick else 500
        for percent in (1, 10, 100):
            figures = self.run_client(
                f"{percent} % of all allocations fail",
                f"fibstress random-failures {self.plan.seed} {count} {percent} {min(top, 1000)}",
            )
            self.figures.add("refused calls", figures["failures"])

    def _kills(self) -> None:
        top = self.built.stage.manifest.max_n
        count = 3 if self.plan.quick else 20
        most = min(top, 2000 if self.plan.quick else 5000)
        n = random.Random(self.plan.seed).randint(most // 2, most)
        figures = self.run_client(f"kills, n = {n}", f"fibstress kill {self.plan.seed} {count} {n}")
        self.figures.add("kills", figures["killed"])

    def _loads(self) -> None:
        count = 10 if self.plan.quick else 100
        figures = self.run_client(
            f"load and unload {count} times", f"fibstress reload {MODULE} {count}"
        )
        self.figures.add("loads", figures["loads"])
        if not self.plan.quick:
            figures = self.run_client(
                "loads with an allocation that fails", f"fibstress load-failures {MODULE}"
            )
            self.figures.add("failed loads", figures["refused"])

    def leaks(self) -> None:
        """Let kmemleak search for memory that no pointer refers to."""
        report = self.command("leak scan", leak_scan.COMMAND, check_log=False)
        found = leak_scan.read(report, self.built.module)
        self.figures.add("leaks", found.blocks)
        if found.meaning:
            message = f"What it means: {found.meaning}.\n{report}"
            cause = f"leak scan: {found.meaning}"
            raise _FoundError(Finding("dirty-log", cause, message, kind=Code.LEAK))
        self.check_log("leak scan")
