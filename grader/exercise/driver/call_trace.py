# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read the interposer's trace of the steps that a driver does and undoes, or that are made to fail.

The trace is in a separate file (client/firstctl.h), because the driver writes to the kernel log.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.base import test_record
from grader.exercise.files import driver_device

REPORT = f"/sys/module/{driver_device.NAME}/parameters/report"
# The parameter exists while the module is loaded. Reading it flushes all steps to the file.
STEPS = "text /first.steps"  # A request for the steps of a driver that was unloaded.
REQUESTS = (f"text {REPORT}", STEPS)  # For the steps of a loaded driver; the last answer has them.
_LINE = re.compile(r"^([-+!=]) (\w+) ([0-9a-f]+)(?: (\S+)(?: \[\w+\])?)?$", re.MULTILINE)
MEMORY = "kmalloc"  # The interposer's name for all steps that allocate memory.
# The function that does a step, keyed by the function that undoes this step.
UNDOES = {
    "unregister_chrdev_region": "alloc_chrdev_region",
    "cdev_del": "cdev_add",
    "class_unregister": "class_register",
    "device_destroy": "device_create",
    "misc_deregister": "misc_register",
    "kfree": MEMORY,
}
UNDONE_BY = {does: undoes for undoes, does in UNDOES.items()}
# What the interposer's tables hold, by the property that says that a table was full.
FULL = {
    "full_steps": "allocations and other calls that the interposer records",
    "full_blocks": "blocks of memory at a time",
    "full_variables": "words of memory that two callers share",
    "full_locks": "locks that are held at a time",
    "full_races": "words of memory with a data race",
    "full_orders": "pairs of locks that one caller holds",
}
IN_USE = "a file that is open may still use that memory"
NOT_READY = "a program can open the device before its memory is there"
# Pairs of steps, with a reason. The first step of a pair must be done after the second step, and be
# undone before the second step is undone.
BEFORE = {
    ("device_create", "class_register"): "the device belongs to that class",
    ("cdev_add", "alloc_chrdev_region"): "another driver could already have the number",
    ("misc_register", MEMORY): IN_USE,
    ("cdev_add", MEMORY): IN_USE,
}


@dataclass(frozen=True)
class TracedCall:
    """One line of the interposer's trace."""

    kind: str  # "+", "-", "!" or "="
    name: str
    about: int
    caller: str = ""  # for an allocation, the caller as symbol+0xoffset/0xsize


def steps(answer: str) -> str:
    """Return the text in an answer to STEPS, without its first line, the nonce."""
    return driver_device.text(answer).partition("\n")[2]


def read(text: str) -> list[TracedCall]:
    """Return the steps in a trace."""
    found = _LINE.findall(text)
    return [TracedCall(kind, name, int(about, 16), caller) for kind, name, about, caller in found]


def told(steps: Sequence[TracedCall], name: str) -> list[int]:
    """Return the values of a property in the trace, from its lines that begin with "="."""
    return [step.about for step in steps if step.kind == "=" and step.name == name]


def fault(text: str, nonce: int) -> str:
    """Return the fault in the record of an unloaded module; "" if the record is correct."""
    lines, record = test_record.split(text)
    return test_record.fault(record, nonce, test_record.texts(lines.splitlines()))


def remaining(steps: Sequence[TracedCall]) -> list[TracedCall]:
    """Return the steps that were done and not undone, in their order."""
    there: list[TracedCall] = []
    for step in steps:
        if step.kind == "+":
            there.append(step)
        elif step.kind == "-":
            does = UNDOES.get(step.name, "")
            found = [s for s in there if s.name == does and s.about == step.about]
            if found:
                there.remove(found[-1])
    return there


def in_init(steps: Sequence[TracedCall]) -> list[TracedCall]:
    """Return the steps before the client recorded that the module is loaded."""
    return list(itertools.takewhile(lambda step: step.name != "loaded", steps))


def never_done(steps: Sequence[TracedCall]) -> TracedCall | None:
    """Return the first step that undoes something that was not done, or None."""
    there: list[tuple[str, int]] = []
    for step in steps:
        if step.kind == "+":
            there.append((step.name, step.about))
        elif step.kind == "-":
            done = (UNDOES.get(step.name, ""), step.about)
            if done not in there:
                return step
            there.remove(done)
    return None


def out_of_order(steps: Sequence[TracedCall]) -> tuple[str, str] | None:
    """Return the expected and the actual order of the first step in the wrong order."""
    there: list[str] = []
    for step in steps:
        if step.kind == "+":
            for (user, needed), why in BEFORE.items():
                if step.name == needed and user in there:
                    because = NOT_READY if why == IN_USE else why
                    return f"{needed} before {user}", f"{user} first: {because}"
            there.append(step.name)
        elif step.kind == "-" and UNDOES.get(step.name) in there:
            gone = UNDOES[step.name]
            for (user, needed), why in BEFORE.items():
                if gone == needed and user in there:
                    return f"{UNDONE_BY[user]} before {step.name}", f"{step.name} first: {why}"
            there.remove(gone)
    return None


def in_words(found: Sequence[TracedCall], place: Callable[[str], str] = lambda _caller: "") -> str:
    """Return the missing call for each remaining step, as "no class_unregister for class_register".

    place returns " in function (file:line)" for a caller, or "".
    """
    done = dict.fromkeys((step.name, place(step.caller)) for step in found)
    shown = {MEMORY: "the memory allocated"}
    return ", ".join(
        f"no {UNDONE_BY[name]} for {shown.get(name, name)}{where}" for name, where in done
    )
