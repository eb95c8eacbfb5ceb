# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a sanitizer or valgrind says of a stage's memory: where, called from where, freed where.

The place itself is often in a function that is given, bn_free, say: then the caller is what helps.
"""

from __future__ import annotations

import re

from grader.base import paths
from grader.base.finding import Fault

# As many addresses at either end are no place of memory: null pointers, errors as pointers.
_ERRORS = 4096
# What a stage is linked with in a program; those frames are not the learner's.
_KITS = re.compile(r"(account_malloc|main|unit_tests\w*)\.[ch]")
_FRAME = re.compile(
    r"(?:#\d+ 0x[0-9a-f]+ in|(?:at|by) 0x[0-9A-F]+:) "
    r"([A-Za-z]\w*) "  # what begins with _ is the C library's
    r"\(?(?:\S*/)?([\w+-]+\.[ch]):(\d+)"
)
_FREED = re.compile(r"freed by thread|bytes inside a block of size \S+ free'd")
_ALLOCATED = re.compile(r"previously allocated|Block was alloc'd|SUMMARY:")


def _calls(stack: str, prefix: str = "") -> str:
    """The innermost of the stage's own functions on a stack, and its caller; or "".

    A function that is given is left out where it is called by another.
    """
    frames: list[tuple[str, str]] = []
    for function, file, line in _FRAME.findall(stack):
        # What is compiled into another has a frame for each of the two.
        if not _KITS.fullmatch(file) and not (frames and frames[-1][0] == function):
            frames.append((function, f"{function} ({file}:{line})"))
    if len(frames) > 1 and frames[0][0] == prefix:
        frames = frames[1:]
    return ", called from ".join(text for _, text in frames[:2])


def asked_for(said: str) -> tuple[str, str]:
    """Split what a program says that makes a call fail at one place, see account_malloc.c.

    Return who asked for that, as "f (a.c:1), called from g (b.c:2)", and all that is said behind.
    """
    stack, _, rest = said.partition("fib: and then:\n")
    return (_calls(stack, prefix="bn_create"), rest) if _ else ("", said)


def when(fault: Fault, asked: str) -> str:
    """Say what was made to go wrong, and where that was asked for, as a sentence begins."""
    of = f" of {fault.count:,}" if fault.count else ""
    where = f" in {asked}" if asked else ""
    if fault.what == "kill":
        return f"F({fault.n:,}): when yield {fault.place:,}{of}{where} found the caller killed"
    return f"F({fault.n:,}): when allocation {fault.place:,}{of} was made to fail{where}"


def command(number: int, fault: Fault) -> str:
    """Return the command by which a learner repeats it."""
    return paths.make(f"stage={number} sanitize n={fault.n} {fault.what}={fault.place}")


def bad_pointer(said: str) -> str:
    """Return what is wrong with a pointer that a program ended by following; "" if it did not."""
    found = re.search(
        r"AddressSanitizer: SEGV on unknown address (?:0x([0-9a-f]+))?"
        r"|runtime error: .*\b(?:null pointer|address 0x([0-9a-f]+))",
        said,
    )
    if not found:
        return ""
    address = int(found[1] or found[2] or "0", 16)
    if "high value address" in said:
        return "a bad pointer is followed"
    if address >= (1 << 64) - _ERRORS:
        return f"ERR_PTR({address - (1 << 64)}) is followed"
    return f"{'a null' if address < _ERRORS else 'a bad'} pointer is followed"


def place(sanitizer_output: str) -> str:
    """Where the first report has it: " in f (a.c:1), called from g (b.c:2); given back ..."."""
    reports = re.split(r"\n(?:==\d+== )?\n", sanitizer_output)
    # What the kit's program still holds when it stops is no mistake of the stage's.
    first = next((report for report in reports if "are still reachable" not in report), "")
    maker = "bn_create" if " lost in loss record" in first else ""
    access = _calls(_FREED.split(first)[0], prefix=maker)
    freed = _FREED.split(sanitizer_output, maxsplit=1)[1:]
    gone = _calls(_ALLOCATED.split(freed[0])[0], prefix="bn_free") if freed else ""
    return (f" in {access}" if access else "") + (f"; given back in {gone}" if gone else "")
