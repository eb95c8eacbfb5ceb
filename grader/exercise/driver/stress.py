# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What make debug does to a learner's driver: the list of calls, and worse, on the debug kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from grader.base.errors import MachineError
from grader.base.finding import Code, Finding
from grader.exercise.build.stage_module import Built
from grader.exercise.driver import call_trace, verify
from grader.exercise.driver.session import Session, WrongError
from grader.exercise.files import driver_device
from grader.exercise.stress.debug_kernel import Examined, Plan, Tell
from grader.lab import leak_scan, uml_debug
from grader.lab.machines import Machine

# Seconds of many calls by four threads.
STORM, QUICK_STORM = 10, 2
LOADS, QUICK_LOADS = 50, 5
# Seconds for a command, where the machine boots in half a second.
COMMAND = 120.0


@dataclass
class _Strain:
    session: Session
    plan: Plan
    tell: Tell
    figures: dict[str, int] = field(default_factory=dict)

    def command(self, what: str, command: str) -> str:
        """Run it; what it finds, and what the kernel finds, is wrong."""
        self.tell(what)
        try:
            done = self.session.guest.wire.run(command, COMMAND * self.session.guest.speed_factor)
        except MachineError as error:
            raise self.session.ended(error, what) from None
        self.session.clean(what)
        if done.status:
            said = done.output.strip().splitlines() or [f"exit {done.status}"]
            raise WrongError(Finding("wrong", f"{what}: {said[0]}", done.output))
        return done.output

    def count(self, names: dict[str, str], said: str) -> None:
        """Figures of the client, by the names they have in the report."""
        for name, value in re.findall(r"(\w+)=(\d+)", said):
            shown = names.get(name, name)
            self.figures[shown] = self.figures.get(shown, 0) + int(value)

    def many_calls(self) -> None:
        """Calls, then loads; and nothing may be lost."""
        session = self.session
        seconds = QUICK_STORM if self.plan.quick else STORM
        session.must_load()
        # Of a million steps each would be kept.
        self.command("quiet", f"echo 0 >{call_trace.REPORT}")
        storm = f"{driver_device.CLIENT} storm {self.plan.seed} {seconds}"
        self.count({}, self.command("random calls of four threads", storm))
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
        reopen = f"{driver_device.CLIENT} reopen"
        self.count(names, self.command("opens whose allocations fail", reopen))
        self.session.must_unload("opens whose allocations fail")
        names["refused"] = "failed loads"
        refill = f"{driver_device.CLIENT} refill {driver_device.KO}"
        self.count(names, self.command("loads whose allocations fail", refill))

    def leaks(self) -> None:
        """Let kmemleak look for memory that nothing points to."""
        report = self.command("leak scan", leak_scan.COMMAND)
        found = leak_scan.read(report, self.session.module)
        self.figures["leaks"] = found.blocks
        if found.meaning:
            cause = f"leak scan: {found.meaning}"
            raise WrongError(Finding("dirty-log", cause, report, kind=Code.LEAK))


def examine(built: Built, machine: Machine, plan: Plan, tell: Tell) -> Examined:
    """Verify the driver on the debug kernel; where nothing is wrong, put it under stress."""
    verified = verify.verify(built, machine, tell)
    figures = {"tests": verified.passed + verified.failed}
    if verified.findings:
        return Examined(verified, figures, verified.findings)
    try:
        with Session(machine, built.module) as session:
            _Strain(session, plan, tell, figures).many_calls()
        # kmemleak has allocations of its own, which would be among those that fail.
        with Session(uml_debug.UNTRACKED, built.module) as session:
            _Strain(session, plan, tell, figures).without_memory()
    except WrongError as error:
        return Examined(verified, figures, (error.finding,))
    return Examined(verified, figures)
