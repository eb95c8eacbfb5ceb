# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Task 1: load and unload, twice, while a file is open, and when each step of init fails."""

from __future__ import annotations

import errno

from grader.exercise.driver import call_trace, system_calls
from grader.exercise.driver.session import LOAD, Session, wrong
from grader.exercise.driver.system_calls import Case
from grader.exercise.files import driver_device

# More steps than an init has that is to be read.
MOST_STEPS = 24
MISSING = "; ".join(
    f"test -e {path} || echo {path}"
    for path in (driver_device.NODE, f"{driver_device.CLASS}/{driver_device.NAME}")
)
CHARACTER_DEVICE = "20600"  # root's alone
WHILE_OPEN = (
    Case(f"open {driver_device.NODE}", "open 0 rw", "0"),
    Case("unload while a file is open", "unload", str(-errno.EAGAIN)),
    Case("close", "close 0", "0"),
)


def try_out(session: Session) -> None:
    """All of it; the first thing that is wrong is raised."""
    _there_and_gone(session, "load")
    done = _there_and_gone(session, "second load")
    _while_open(session)
    can_fail = sum(step.kind == "+" for step in done)
    if can_fail >= MOST_STEPS:
        raise wrong(LOAD, "init", f"fewer than {MOST_STEPS} steps", f"{can_fail}")
    for number in range(1, can_fail + 1):
        # A driver can find the parameter "fail" and change it.
        if not _with_failing_step(session, number):
            where = f"init, when step {number} fails"
            raise wrong(LOAD, where, "an error", "the step did not fail")


def _there_and_gone(session: Session, where: str) -> list[call_trace.Step]:
    session.must_load()
    _, missing = session.shell(MISSING)
    if missing:
        raise wrong(LOAD, where, missing.split()[0], "no such file")
    mode = session.ask(["stat"])[0].split()[-1]
    if mode != CHARACTER_DEVICE:
        want = f"{driver_device.NODE} with mode {CHARACTER_DEVICE}, a character device"
        raise wrong(LOAD, where, want, f"mode {mode}")
    done = session.must_unload(where)
    _in_order(done, where)
    return done


def _in_order(done: list[call_trace.Step], where: str) -> None:
    odd = call_trace.out_of_order(done)
    if odd:
        raise wrong(LOAD, where, *odd)


def _while_open(session: Session) -> None:
    """A file that is open keeps the module: else its next call is one into nothing."""
    session.must_load()
    session.try_cases(WHILE_OPEN, LOAD)
    error = session.unload()
    if error:
        raise wrong(
            LOAD, "unload when it is closed", "0", system_calls.in_words("unload", str(error))
        )


def _with_failing_step(session: Session, number: int) -> bool:
    """Whether there was such a step, which failed."""
    error = session.load(f"fail={number}")
    done = session.steps()
    failed = next((step for step in done if step.kind == "!"), None)
    if failed is None:
        if error:
            raise wrong(LOAD, "load", "0", system_calls.in_words("load", str(error)))
        session.must_unload("load")
        return False
    where = f"init, when {failed.name} fails"
    if error != -failed.about:
        got = system_calls.in_words("load", str(error)) if error else "it loads"
        raise wrong(LOAD, where, system_calls.in_words("load", str(-failed.about)), got)
    _in_order(session.nothing_left(where), where)
    return True
