# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test init and exit: load and unload, with a step that fails, and while a file is open."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Mapping

from grader.exercise.driver import call_trace, system_calls
from grader.exercise.driver.call_trace import MEMORY
from grader.exercise.driver.session import LOAD, DriverSession, wrong
from grader.exercise.driver.system_calls import DriverCase
from grader.exercise.files import driver_device

# An init function must make fewer steps than this. A step is a call that can fail.
MOST_STEPS = 24
# Each step except an allocation fails with these errors, which the kernel's functions often return,
# and with one of each length in bits, so that init can neither return a fixed error nor leave one
# out, nor lose bits of it.
USUAL_ERRORS = (errno.ENOMEM, errno.EBUSY, errno.EEXIST, errno.EINVAL, errno.ENODEV)
MAX_ERRNO = 4095
RESTARTS = range(512, 517)  # After a signal, the kernel may make a call again for these errors.
CHARACTER_DEVICE = "20600"  # The mode of a character device for root only.
WHILE_OPEN = (
    DriverCase(f"open {driver_device.NODE}", "open 0 rw", "0"),
    DriverCase("look at the file operations of the open file", "opened 0", "1"),
    DriverCase("unload while a file is open", "unload", str(-errno.EAGAIN)),
    DriverCase("close", "close 0", "0"),
)


def _device(session: DriverSession) -> None:
    """Load and unload twice; let each step that creates the device fail."""
    _there_and_gone(session, "load")
    trace = _there_and_gone(session, "second load")
    _in_order(_without_memory(trace), "load")
    _each_step_fails(session, trace, MEMORY, False)


def _memory(session: DriverSession) -> None:
    """Check that init allocates the notebook, and frees it if any of its steps fails."""
    trace = _there_and_gone(session, "load")
    _in_order(trace, "load")
    taken = sum(call_trace.told(trace, "bytes"))
    if taken < system_calls.BYTES:
        want = f"{system_calls.BYTES} bytes of memory for the notebook, by {MEMORY}"
        raise wrong(LOAD, "init", want, f"{taken}" if taken else "none")
    if 1 not in call_trace.told(trace, "beginning"):
        want = "the first 10 lines in the notebook before the device is there, by first_begin()"
        raise wrong(LOAD, "init", want, "other bytes")
    _each_step_fails(session, trace, "", True)


def _each_step_fails(
    session: DriverSession, trace: list[call_trace.TracedCall], but: str, memory: bool
) -> None:
    """Let each step of init fail in turn, except the steps with the name `but`."""
    can_fail = [step for step in trace if step.kind == "+"]
    if len(can_fail) >= MOST_STEPS:
        raise wrong(LOAD, "init", f"fewer than {MOST_STEPS} steps", f"{len(can_fail)}")
    for number, step in enumerate(can_fail, 1):
        # A driver could change the parameter "fail", so a step that does not fail is a fault.
        errors = USUAL_ERRORS[:1] if step.name == MEMORY else [*USUAL_ERRORS, *_other_errors()]
        if step.name != but and not all(
            _with_failing_step(session, number, step.name, memory, error) for error in errors
        ):
            where = f"init, when {_in_words(step.name)} fails"
            raise wrong(LOAD, where, "the failure that check caused", "no call that failed")


def _other_errors() -> list[int]:
    """Draw an error of each length in bits."""
    lengths = range(MAX_ERRNO.bit_length())
    drawn = [random.randrange(1 << bits, 2 << bits) for bits in lengths]
    return [error for error in drawn if error not in RESTARTS and error <= MAX_ERRNO]


def _in_words(name: str) -> str:
    """Return what a step that can fail is called in messages."""
    return "an allocation" if name == MEMORY else name


def _there_and_gone(session: DriverSession, where: str) -> list[call_trace.TracedCall]:
    session.must_load()
    found = session.ask(["stat"])[0].split()
    if found[0] != "0":
        raise wrong(LOAD, where, driver_device.NODE, "no such file")
    mode = found[-1]
    if mode != CHARACTER_DEVICE:
        want = f"{driver_device.NODE} with mode {CHARACTER_DEVICE}, a character device"
        raise wrong(LOAD, where, want, f"mode {mode}")
    return session.must_unload(where)


def _without_memory(trace: list[call_trace.TracedCall]) -> list[call_trace.TracedCall]:
    """Return the steps that make and remove the device, without those of the task "memory"."""
    return [step for step in trace if step.name not in (MEMORY, call_trace.UNDONE_BY[MEMORY])]


def _in_order(trace: list[call_trace.TracedCall], where: str) -> None:
    odd = call_trace.out_of_order(trace)
    if odd:
        # The trace contains a load and an unload. After a successful init, only the exit function
        # undoes steps, so an undoing function belongs to the unload.
        undone = where == "load" and odd[0].split()[0] in call_trace.UNDOES
        raise wrong(LOAD, "unload" if undone else where, *odd)


def _owner(session: DriverSession) -> None:
    """Check that unloading fails while a file is open, because its operations are in the module."""
    session.must_load()
    session.try_cases(WHILE_OPEN, LOAD)
    error = session.unload()
    if error:
        raise wrong(
            LOAD, "unload when it is closed", "0", system_calls.in_words("unload", str(error))
        )
    # A module that counts its users itself may be unloaded too early, or never. Therefore its file
    # operations must set owner.
    if not all(call_trace.told(session.steps(), "owner") or [0]):
        raise wrong(LOAD, "the file operations", "owner is THIS_MODULE", "another owner, or none")


def _with_failing_step(
    session: DriverSession, number: int, name: str, memory: bool, wanted: int
) -> bool:
    """Return whether the step existed and failed. memory: init must also free the notebook.

    number counts the steps that can fail, from 1; name is this step's name; wanted is its error.
    """
    error = session.load(
        f"fail={number} error={wanted}", title=f"init, when {_in_words(name)} fails"
    )
    trace = session.steps()
    failed = next((step for step in trace if step.kind == "!"), None)
    if failed is None:
        if error:
            raise wrong(LOAD, "load", "0", system_calls.in_words("load", str(error)))
        session.must_unload("load")
        return False
    where = f"init, when {_in_words(failed.name)} fails"
    if error != -failed.about:
        got = system_calls.in_words("load", str(error)) if error else "it loads"
        made = system_calls.in_words("load", str(-failed.about))
        raise wrong(LOAD, where, f"{made}, which check made it return", got)
    trace = session.nothing_left(where, ignored="" if memory else MEMORY)
    _in_order(trace if memory else _without_memory(trace), where)
    return True


# The tests, by the name of their task.
TESTS: Mapping[str, Callable[[DriverSession], None]] = {
    "device": _device,
    "memory": _memory,
    "owner": _owner,
}
