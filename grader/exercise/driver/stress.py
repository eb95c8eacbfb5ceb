# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stress a learner's driver on the debug kernel, for make debug."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from grader.base.errors import MachineError
from grader.base.finding import Code, Finding
from grader.exercise.build.stage_module import BuiltStage
from grader.exercise.driver import call_trace, verify
from grader.exercise.driver.session import DriverSession, WrongError
from grader.exercise.files import driver_device
from grader.exercise.stress.debug_kernel import StressPlan, StressResult, Tell
from grader.lab import leak_scan, uml_debug
from grader.lab.machines import Machine

# The duration of the calls by four threads, in seconds.
STORM, QUICK_STORM = 10, 2
LOADS, QUICK_LOADS = 50, 5
# The time limit of a command, in seconds, on a machine that boots in half a second.
COMMAND = 120.0


@dataclass
class _DriverStress:
    session: DriverSession
    plan: StressPlan
    tell: Tell
    figures: dict[str, int] = field(default_factory=dict)

    def command(self, what: str, command: str) -> str:
        """Run a command and return its output. Raise WrongError if it or the kernel fails."""
        self.tell(what)
        try:
            result = self.session.command(command, COMMAND * self.session.guest.speed_factor)
        except MachineError as error:
            raise self.session.ended(error, what) from None
        self.session.clean(what)
        if result.status:
            output = result.output.strip().splitlines() or [f"exit {result.status}"]
            raise WrongError(Finding("wrong", f"{what}: {output[0]}", result.output))
        return result.output

    def count(self, names: dict[str, str], output: str) -> None:
        """Add numbers that the client printed to the numbers of the report."""
        for name, value in re.findall(r"(\w+)=(\d+)", output):
            shown = names.get(name, name)
            self.figures[shown] = self.figures.get(shown, 0) + int(value)

    def many_calls(self) -> None:
        """Make many calls, then load and unload many times, and check for leaks."""
        session = self.session
        seconds = QUICK_STORM if self.plan.quick else STORM
        session.must_load()
        # Pause the trace, which would otherwise hold millions of steps.
        self.command("quiet", f"echo 0 >{call_trace.REPORT}")
        concurrent = f"{driver_device.CLIENT} concurrent {self.plan.seed} {seconds}"
        self.count({}, self.command("random calls of four threads", concurrent))
        self.leaks()
        self.command("watch", f"echo 1 >{call_trace.REPORT}")
        session.must_unload("many calls")
        loads = QUICK_LOADS if self.plan.quick else LOADS
        self.tell(f"load and unload {loads} times")
        for _ in range(loads):
            session.must_load()
            session.must_unload("load")
        self.figures["loads"] = loads

    def without_memory(self) -> None:
        """Call and load the driver while allocations fail, including the kernel's own."""
        self.session.must_load()
        names = {"failures": "failed allocations", "refused": "refused calls"}
        open_failure = f"{driver_device.CLIENT} open-failure"
        self.count(names, self.command("opens whose allocations fail", open_failure))
        self.session.must_unload("opens whose allocations fail")
        names["refused"] = "failed loads"
        load_failure = f"{driver_device.CLIENT} load-failure {driver_device.KO}"
        self.count(names, self.command("loads whose allocations fail", load_failure))

    def leaks(self) -> None:
        """Let kmemleak search for memory that no pointer refers to."""
        report = self.command("leak scan", leak_scan.COMMAND)
        found = leak_scan.read(report, self.session.module)
        self.figures["leaks"] = found.blocks
        if found.meaning:
            cause = f"leak scan: {found.meaning}"
            raise WrongError(Finding("dirty-log", cause, report, kind=Code.LEAK))


def examine(built: BuiltStage, machine: Machine, plan: StressPlan, tell: Tell) -> StressResult:
    """Verify the driver on the debug kernel. If there are no findings, run the stress test."""
    verified = verify.verify(built, machine, plan.seed, tell)
    figures = {"tests": verified.passed + verified.failed}
    if verified.findings:
        return StressResult(verified, figures, verified.findings)
    try:
        with DriverSession(machine, built.module) as session:
            _DriverStress(session, plan, tell, figures).many_calls()
        # Use a kernel without kmemleak, because kmemleak's own allocations would fail, too.
        with DriverSession(uml_debug.UNTRACKED, built.module) as session:
            _DriverStress(session, plan, tell, figures).without_memory()
    except WrongError as error:
        return StressResult(verified, figures, (error.finding,))
    return StressResult(verified, figures)
