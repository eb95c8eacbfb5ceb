# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find in the reports of a sanitizer or valgrind where a fault is and where memory was freed.

The fault itself is often in a function that the kit provides, such as bn_free. Then the source line
of the caller is more useful to the learner.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.base import paths, test_record
from grader.base.finding import Fault

# The first and last bytes of the address space: null pointers and error pointers.
_ERRORS = 4096
# The kit's files that a test program may contain. Their stack frames are not shown to learners.
_FOLDERS = (Path(__file__).parent, paths.COMMON, paths.COMMON / "userspace", test_record.INCLUDE)
_KITS = {path.name for folder in _FOLDERS for path in folder.glob("*.[ch]")}
_FRAME = re.compile(
    r"(?:#\d+ 0x[0-9a-f]+ in|(?:at|by) 0x[0-9A-F]+:) "
    r"([A-Za-z]\w*) "  # names that begin with _ belong to the C library
    r"\(?(?:\S*/)?([\w+-]+\.[ch]):(\d+)"
)
_FREED = re.compile(r"freed by thread|bytes inside a block of size \S+ free'd")
_ALLOCATED = re.compile(r"previously allocated|Block was alloc'd|SUMMARY:")


def _calls(stack: str, prefix: str = "") -> str:
    """Return the stage's innermost function on a stack and its caller, or "".

    Leave out the function named prefix if another function calls it.
    """
    return _shown(_FRAME.findall(stack), prefix)


def _shown(stack: Iterable[tuple[str, str, str]], prefix: str) -> str:
    """Return the first two functions of a stack like _calls, from their names, files and lines."""
    frames: list[tuple[str, str]] = []
    for function, file, line in stack:
        # A function inlined into another has two frames with the same name.
        if file not in _KITS and not (frames and frames[-1][0] == function):
            frames.append((function, f"{function} ({file}:{line})"))
    if len(frames) > 1 and frames[0][0] == prefix:
        frames = frames[1:]
    return ", called from ".join(text for _, text in frames[:2])


def allocated(words: Sequence[str]) -> str:
    """Return ", allocated in f (a.c:1), called from g (b.c:2)", or "" if it is not known."""
    shown = caller(words)
    return f", allocated in {shown}" if shown else ""


def caller(words: Sequence[str]) -> str:
    """Return "f (a.c:1), called from g (b.c:2)", or "" if it is not known.

    words are the functions and places that print_frames() in account_malloc.c prints.
    """
    places = (word.rpartition("/")[2].partition(":") for word in words[1::2])
    stack = [
        (name, file, line)
        for name, (file, _, line) in zip(words[::2], places)
        if file.endswith((".c", ".h")) and not name.startswith("_")
    ]
    return _shown(stack, prefix="bn_create")


def asked_for(said: str) -> tuple[str, str]:
    """Split the output of a program with an injected fault, see account_malloc.c.

    Return the caller at the fault, as "f (a.c:1), called from g (b.c:2)", and the later output.
    """
    stack, _, rest = said.partition("fib: and then:\n")
    return (_calls(stack, prefix="bn_create"), rest) if _ else ("", said)


def when(fault: Fault, asked: str) -> str:
    """Return the beginning of a sentence that names the injected fault and its caller."""
    of = f" of {fault.count:,}" if fault.count else ""
    where = f" in {asked}" if asked else ""
    if fault.what == "kill":
        return f"F({fault.n:,}): when yield {fault.place:,}{of}{where} found the caller killed"
    return f"F({fault.n:,}): when allocation {fault.place:,}{of} was made to fail{where}"


def command(number: int, fault: Fault) -> str:
    """Return the command by which a learner repeats a fault."""
    return paths.make(f"stage={number} sanitize n={fault.n} {fault.what}={fault.place}")


def bad_pointer(said: str) -> str:
    """Return the kind of bad pointer that ended a program; "" if none did."""
    found = re.search(
        r"AddressSanitizer: SEGV on unknown address (?:0x([0-9a-f]+))?"
        r"|runtime error: .*\b(?:null pointer|address 0x(f{13}[0-9a-f]{3}))",
        said,
    )
    if not found:
        return ""
    address = int(found[1] or found[2] or "0", 16)
    # The processor does not report such an address. So the cause may also be an index that wrapped
    # around.
    if "high value address" in said:
        return "a bad pointer is followed, or an index is far outside of its array"
    if address >= (1 << 64) - _ERRORS:
        return f"ERR_PTR({address - (1 << 64)}) is followed"
    return f"{'a null' if address < _ERRORS else 'a bad'} pointer is followed"


def place(sanitizer_output: str) -> str:
    """Return the place of the first report: the function, its caller, and where memory was freed.

    For example: " in f (a.c:1), called from g (b.c:2); freed in h (c.c:3)", or ", allocated in f
    (a.c:1)" for a leak.
    """
    reports = re.split(r"\n(?:==\d+== )?\n", sanitizer_output)
    # Memory that the kit's program still holds at its end is not the stage's mistake.
    first = next((report for report in reports if "are still reachable" not in report), "")
    maker = "bn_create" if " lost in loss record" in first else ""
    access = _calls(_FREED.split(first)[0], prefix=maker)
    freed = _FREED.split(sanitizer_output, maxsplit=1)[1:]
    gone = _calls(_ALLOCATED.split(freed[0])[0], prefix="bn_free") if freed else ""
    verb = ", allocated in" if maker else " in"
    return (f"{verb} {access}" if access else "") + (f"; freed in {gone}" if gone else "")
