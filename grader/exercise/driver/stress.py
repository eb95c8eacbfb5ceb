# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What make debug does to a learner's driver: the list of calls, and worse, on the debug kernel."""

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

# Seconds of many calls by four threads.
STORM, QUICK_STORM = 10, 2
LOADS, QUICK_LOADS = 50, 5
# Seconds for a command, where the machine boots in half a second.
COMMAND = 120.0


@dataclass
class _DriverStress:
    session: DriverSession
    plan: StressPlan
    tell: Tell
    figures: dict[str, int] = field(default_factory=dict)

    def command(self, what: str, command: str) -> str:
        """Run it; what it finds, and what the kernel finds, is wrong."""
        self.tell(what)
        try:
            result = self.session.guest.channel.run(
                command, COMMAND * self.session.guest.speed_factor
            )
        except MachineError as error:
            raise self.session.ended(error, what) from None
        self.session.clean(what)
        if result.status:
            said = result.output.strip().splitlines() or [f"exit {result.status}"]
            raise WrongError(Finding("wrong", f"{what}: {said[0]}", result.output))
        return result.output

    def count(self, names: dict[str, str], output: str) -> None:
        """Figures of the client, by the names they have in the report."""
        for name, value in re.findall(r"(\w+)=(\d+)", output):
            shown = names.get(name, name)
            self.figures[shown] = self.figures.get(shown, 0) + int(value)

    def many_calls(self) -> None:
        """Calls, then loads; and nothing may be lost."""
        session = self.session
        seconds = QUICK_STORM if self.plan.quick else STORM
        session.must_load()
        # Of a million steps each would be kept.
        self.command("quiet", f"echo 0 >{call_trace.REPORT}")
        concurrent = f"{driver_device.CLIENT} concurrent {self.plan.seed} {seconds}"
        self.count({}, self.command("random calls of four threads", concurrent))
        self.leaks()
        self.command("watch", f"echo 1 >{call_trace.REPORT}")
        session.must_unload("after all that")
        loads = QUICK_LOADS if self.plan.quick else LOADS
        self.tell(f"load and unload {loads} times")
        for _ in range(loads):
            session.must_load()
            session.must_unload("load")
        self.figures["loads"] = loads

    def without_memory(self) -> None:
        """Allocations that fail, the kernel's own as well."""
        self.session.must_load()
        names = {"failures": "failed allocations", "refused": "refused calls"}
        open_failure = f"{driver_device.CLIENT} open-failure"
        self.count(names, self.command("opens whose allocations fail", open_failure))
        self.session.must_unload("opens whose allocations fail")
        names["refused"] = "failed loads"
        load_failure = f"{driver_device.CLIENT} load-failure {driver_device.KO}"
        self.count(names, self.command("loads whose allocations fail", load_failure))

    def leaks(self) -> None:
        """Let kmemleak look for memory that nothing points to."""
        report = self.command("leak scan", leak_scan.COMMAND)
        found = leak_scan.read(report, self.session.module)
        self.figures["leaks"] = found.blocks
        if found.meaning:
            cause = f"leak scan: {found.meaning}"
            raise WrongError(Finding("dirty-log", cause, report, kind=Code.LEAK))


def examine(built: BuiltStage, machine: Machine, plan: StressPlan, tell: Tell) -> StressResult:
    """Verify the driver on the debug kernel; where nothing is wrong, put it under stress."""
    verified = verify.verify(built, machine, tell)
    figures = {"tests": verified.passed + verified.failed}
    if verified.findings:
        return StressResult(verified, figures, verified.findings)
    try:
        with DriverSession(machine, built.module) as session:
            _DriverStress(session, plan, tell, figures).many_calls()
        # kmemleak has allocations of its own, which would be among those that fail.
        with DriverSession(uml_debug.UNTRACKED, built.module) as session:
            _DriverStress(session, plan, tell, figures).without_memory()
    except WrongError as error:
        return StressResult(verified, figures, (error.finding,))
    return StressResult(verified, figures)
