# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The tasks of init and exit: load and unload, with a step that fails, while a file is open."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping

from grader.exercise.build import driver_recipe
from grader.exercise.driver import call_trace, system_calls
from grader.exercise.driver.session import LOAD, DriverSession, wrong
from grader.exercise.driver.system_calls import DriverCase
from grader.exercise.files import driver_device
from grader.exercise.static_contract import driver_contract

# More steps than an init has that is to be read.
MOST_STEPS = 24
MEMORY = "kmalloc"  # what the interposer calls all steps that take memory
# Bytes of static data, with the compiler's own. A notebook of numbers n alone takes twice as many.
MOST_STATIC = 16384
CHARACTER_DEVICE = "20600"  # root's alone
WHILE_OPEN = (
    DriverCase(f"open {driver_device.NODE}", "open 0 rw", "0"),
    DriverCase("unload while a file is open", "unload", str(-errno.EAGAIN)),
    DriverCase("close", "close 0", "0"),
)


def _device(session: DriverSession) -> None:
    """Load and unload twice; let each step fail that makes the device."""
    _there_and_gone(session, "load")
    trace = _there_and_gone(session, "second load")
    _each_step_fails(session, trace, MEMORY, False)


def _memory(session: DriverSession) -> None:
    """Look for the notebook's memory; let each step fail, now with something to undo."""
    trace = _there_and_gone(session, "load")
    taken = sum(call_trace.told(trace, "bytes"))
    if taken < system_calls.BYTES:
        want = f"{system_calls.BYTES} bytes of memory for the notebook, by {MEMORY}"
        raise wrong(LOAD, "init", want, f"{taken}" if taken else "none")
    static = driver_contract.static_bytes(session.module.directory / f"{driver_recipe.OBJECT}.o")
    if static > MOST_STATIC:
        raise wrong(LOAD, "the notebook", f"in the memory that {MEMORY} returns",
                    f"{static} bytes of static data")  # fmt: skip
    _each_step_fails(session, trace, "", True)


def _each_step_fails(
    session: DriverSession, trace: list[call_trace.TracedCall], but: str, memory: bool
) -> None:
    """Let each step of init fail in turn, except those of one name."""
    can_fail = [step for step in trace if step.kind == "+"]
    if len(can_fail) >= MOST_STEPS:
        raise wrong(LOAD, "init", f"fewer than {MOST_STEPS} steps", f"{len(can_fail)}")
    for number, step in enumerate(can_fail, 1):
        # A driver can find the parameter "fail" and change it.
        if step.name != but and not _with_failing_step(session, number, memory):
            where = f"init, when step {number} fails"
            raise wrong(LOAD, where, "an error", "the step did not fail")


def _there_and_gone(session: DriverSession, where: str) -> list[call_trace.TracedCall]:
    session.must_load()
    found = session.ask(["stat"])[0].split()
    if found[0] != "0":
        raise wrong(LOAD, where, driver_device.NODE, "no such file")
    mode = found[-1]
    if mode != CHARACTER_DEVICE:
        want = f"{driver_device.NODE} with mode {CHARACTER_DEVICE}, a character device"
        raise wrong(LOAD, where, want, f"mode {mode}")
    trace = session.must_unload(where)
    _in_order(trace, where)
    return trace


def _in_order(trace: list[call_trace.TracedCall], where: str) -> None:
    odd = call_trace.out_of_order(trace)
    if odd:
        raise wrong(LOAD, where, *odd)


def _owner(session: DriverSession) -> None:
    """Unload while a file is open, whose next call would be one into nothing."""
    session.must_load()
    session.try_cases(WHILE_OPEN, LOAD)
    error = session.unload()
    if error:
        raise wrong(
            LOAD, "unload when it is closed", "0", system_calls.in_words("unload", str(error))
        )
    # A module can also keep itself by hand, and is then gone too early, or never.
    if 1 not in call_trace.told(session.steps(), "owner"):
        raise wrong(LOAD, "the file operations", "owner is THIS_MODULE", "another owner, or none")


def _with_failing_step(session: DriverSession, number: int, memory: bool) -> bool:
    """Return whether there was such a step, which failed. memory: it must be freed, too."""
    error = session.load(f"fail={number}")
    trace = session.steps()
    failed = next((step for step in trace if step.kind == "!"), None)
    if failed is None:
        if error:
            raise wrong(LOAD, "load", "0", system_calls.in_words("load", str(error)))
        session.must_unload("load")
        return False
    where = f"init, when {failed.name} fails"
    if error != -failed.about:
        got = system_calls.in_words("load", str(error)) if error else "it loads"
        raise wrong(LOAD, where, system_calls.in_words("load", str(-failed.about)), got)
    _in_order(session.nothing_left(where, ignored="" if memory else MEMORY), where)
    return True


# By the task's name.
TESTS: Mapping[str, Callable[[DriverSession], None]] = {
    "device": _device,
    "memory": _memory,
    "owner": _owner,
}
