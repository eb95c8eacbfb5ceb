# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Explain an error report of the kernel log in one sentence, for learners."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# A function that takes a symbol of the module, an offset into the symbol and the symbol's size. It
# returns the function and file:line there, or empty strings if they are not known.
Place = Callable[[str, int, int], tuple[str, str]]


@dataclass(frozen=True)
class LogPatterns:
    """The log patterns that are specific to a module; its builder provides them."""

    # The module's own functions that allocate and free; reports name the callers of these
    # functions.
    allocate: str = "kmalloc"
    free: str = "kfree"
    header_bytes: int = 0  # Bytes of the allocator's header in front of each block.
    # The module's own messages: a pattern, and an explanation that may refer to the groups of the
    # pattern.
    meanings: tuple[tuple[str, str], ...] = ()
    leak: str = r"(?!)"  # A pattern for the module's own message about a leak.


@dataclass(frozen=True)
class LogContext:
    """The module under test, with its log patterns and a function that finds source lines."""

    module: str  # Name of the module.
    dialect: LogPatterns
    place: Place


_NULL_PAGE = 4096
# In user-mode Linux a stack overflow first overwrites data of the current task, so the log shows a
# task without mm or with a negative pid. Other kernels detect the overflow and report it.
OVERFLOW = (
    r"Segfault with no mm|\bPid: -\d+, comm"
    r"|stack guard page was hit|[Kk]ernel stack overflow|corrupted stack end|stack is corrupted"
)
STACK = (
    "a kernel's has 16 KB in all; look for a large array on it, a function that calls itself, an"
    " array that is written past its end"
)


# A leak in Linux 6.1 itself: when the registration of a class fails because memory is short, the
# kernel does not free the name of the class.
_KERNELS_OWN = re.compile(r"\bkobject_set_name\+\S+\n.*\b__class_register\+")


def sentence(console: str, about: LogContext) -> str:
    """Return the explanation of the first known report in a kernel log, or ""."""
    found: list[tuple[int, str]] = []
    own = [(pattern, _fixed(text)) for pattern, text in about.dialect.meanings]
    for pattern, explain in [*_KNOWN, *own]:
        match = re.search(pattern, console)
        if match:
            found.append((match.start(), explain(match, console[match.start() :], about)))
    return min(found)[1] if found else ""


def leaks(report: str, about: LogContext) -> str:
    """Return the leaks of a kmemleak report by the source line of the allocation, or ""."""
    blocks: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for part in _leaked(report):
        match = re.match(r"unreferenced object \S+ \(size (\d+)\)", part)
        if match:
            where = _user_of(part, about) or "outside the module"
            blocks[where] += 1
            total[where] += int(match[1])
    return "; ".join(
        f"{_count(count, 'block')} of memory ({total[where]:,} bytes), allocated {where},"
        f" {'is' if count == 1 else 'are'} never freed and nothing points there any more"
        for where, count in blocks.most_common(3)
    )


def leaked(report: str) -> int:
    """Return the number of leaked blocks, without known leaks of the kernel itself."""
    return len(_leaked(report))


def _leaked(report: str) -> list[str]:
    parts = re.split(r"^(?=unreferenced object)", report, flags=re.MULTILINE)
    return [
        part
        for part in parts
        if part.startswith("unreferenced object") and not _KERNELS_OWN.search(part)
    ]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def frames(log: str, module: str) -> Iterator[tuple[str, int, int]]:
    """Yield the symbol, the offset and the symbol's size of each address of the module in a log.

    The instruction pointer comes first, because it is more precise than the stack. The name of a
    function that the compiler has split may end in .part.0, .cold or the like.
    """
    address = re.compile(
        rf"\b([A-Za-z_][\w.]*)\+0x([0-9a-f]+)/0x([0-9a-f]+) \[{re.escape(module)}\b"
    )
    for line in sorted(log.splitlines(), key=lambda line: "RIP:" not in line):
        for symbol, offset, size in address.findall(line):
            # A return address is the address after the call, so subtract 1 to get into the call.
            # The begin of a function is no return address, but a pointer that lies on the stack.
            back = 0 if "RIP:" in line else 1
            if int(offset, 16) >= back:
                yield symbol, int(offset, 16) - back, int(size, 16)


def _user_of(stack: str, about: LogContext, max_frames: int = 1) -> str:
    """Return the functions of the module nearest to the top of a stack.

    The form is "in function (file:line)". With max_frames 2 the caller is included, because the
    fault may be in an argument that the caller passed.
    """
    found: list[str] = []
    last = ""
    for symbol, offset, size in frames(stack, about.module):
        function, line = about.place(symbol, offset, size)
        function = function or symbol
        if (
            function in (about.dialect.allocate, about.dialect.free, last)
            or len(found) == max_frames
        ):
            continue
        found.append(f"{function} ({line})" if line else function)
        last = function
    return f"in {', called from '.join(found)}" if found else ""


def _part(report: str, begin: str) -> str:
    """Return the stack below a heading such as "Allocated by task", or ""."""
    match = re.search(rf"{begin} by task \d+:\n((?:.*\+0x.*\n)+)", report)
    return match[1] if match else ""


def _kasan(match: re.Match[str], report: str, about: LogContext) -> str:
    kind = match[1]
    access = re.search(r"(Read|Write) of size (\d+) at addr ([0-9a-f]+)", report)
    what = (
        f"{access[1].lower()} of {_count(int(access[2]), 'byte')}" if access else "a memory access"
    )
    allocated, freed = _part(report, "Allocated"), _part(report, "Freed")
    by = _user_of(allocated, about)
    allocated_in = f" allocated {by}" if by else ""
    if kind in ("double-free", "invalid-free", "double-free or invalid-free"):
        again = f"; the first time {_user_of(freed, about, 2)}" if freed else ""
        return f"a block{allocated_in} is freed twice, or is none{again}"
    if "use-after-free" in kind:
        gone = _user_of(freed, about, 2)
        stack = report.split("Call Trace:", 1)[-1].split("Allocated by task", maxsplit=1)[0]
        used = _user_of(stack, about, 2)
        return (
            f"{what} in a block{allocated_in} that had been freed{' ' * bool(gone)}{gone}"
            f"{'; used ' * bool(used)}{used}"
        )
    if "null-ptr" in kind:
        return f"{what} by a null pointer: was the result of the allocation checked?"
    if "out-of-bounds" in kind and access:
        place = _where_to(report, int(access[3], 16), allocated, about.dialect)
        return f"{what} {place}{allocated_in}"
    return f"{what} at an unmapped address: a pointer was never set, or was overwritten"


def _where_to(report: str, address: int, allocated: str, dialect: LogPatterns) -> str:
    """Describe the position of an access outside its block: "just past a 40-byte block"."""
    region = re.search(r"(\d+)-byte region\s+\[([0-9a-f]+), ([0-9a-f]+)\)", report)
    if not region:
        return "past the end of an array or block"
    begin = int(region[2], 16)
    size = _asked_for(report, begin) or int(region[1])
    header = dialect.header_bytes
    if f"{dialect.allocate}+" not in allocated or size <= header:
        header = 0
    begin, size = begin + header, size - header
    past, block = address - (begin + size), f"a {size}-byte block"
    if address < begin:
        return f"{_count(begin - address, 'byte')} ahead of {block}"
    if past < 0:
        return f"across the end of {block}"
    return f"{past} bytes past the end of {block}" if past >= 8 else f"just past {block}"


def _asked_for(report: str, begin: int) -> int:
    """Return the requested size of the block at begin, or 0 if the report does not show the size.

    A shadow byte of KASAN stands for 8 bytes of memory. It is 0 if all of them belong to a block.
    """
    shadow: dict[int, int] = {}
    rows = re.findall(r"^.*?[ >]([0-9a-f]{16}): ((?:[0-9a-f]{2} ?){16})", report, re.MULTILINE)
    for row, states in rows:
        for i, state in enumerate(states.split()):
            shadow[int(row, 16) + 8 * i] = int(state, 16)
    size = 0
    while shadow.get(begin + size) == 0:
        size += 8
    state = shadow.get(begin + size)
    if state is None:
        return 0
    return size + state if state < 8 else size


def _recursive(_match: re.Match[str], report: str, about: LogContext) -> str:
    name = re.search(r"\((?:&)?([\w.>-]+)\)?\)?\{", report)
    lock = f"the lock {name[1]}" if name else "a lock"
    taken = _user_of(report.split("but task is already holding", 1)[0], about)
    held = _user_of(report.split("but task is already holding", 1)[-1], about)
    return f"{lock} is taken {taken} by a task that took it already {held}: it waits for itself"


def _fault(match: re.Match[str], _report: str, about: LogContext) -> str:
    address = int(match[1], 16)
    if address >= _NULL_PAGE:
        return f"the pointer {match[1]} is invalid: it was never set, or was overwritten"
    # User-mode Linux prints the registers before the line that matches, so search the whole log.
    user = _user_of(match.string, about)
    # The lab kernel also prints address 0 for a non-canonical address.
    index = "" if address else ", or an index is far outside of its array"
    return (
        f"a null pointer is used{' ' * bool(user)}{user}{index}; if the pointer came from"
        f" {about.dialect.allocate}, its result was not checked"
    )


def _fixed(text: str) -> Callable[[re.Match[str], str, LogContext], str]:
    return lambda match, _report, _about: match.expand(text)


# The first line of lockdep's reports on recursive, circular or interrupt-unsafe locking.
LOCKDEP = re.compile(r"possible (?:recursive|circular) locking|inconsistent lock state")

_KNOWN: list[tuple[str, Callable[[re.Match[str], str, LogContext], str]]] = [
    (r"BUG: KASAN: ([\w -]+?) in ", _kasan),
    (OVERFLOW, _fixed(f"the stack has probably overflowed: {STACK}")),
    (r"possible recursive locking detected", _recursive),
    (r"possible circular locking dependency",
     _fixed("two locks are taken in one order here and in the other order there: two tasks can"
            " wait for each other for ever")),
    (r"inconsistent lock state",
     _fixed("a lock is taken both in an interrupt and where that interrupt can come: use"
            " spin_lock_irqsave")),
    (r"BUG: sleeping function called",
     _fixed("something that may wait is called where waiting is forbidden: under a spinlock, say,"
            " where memory must be asked for with GFP_ATOMIC or beforehand")),
    (r"shift exponent (-?\d+) is (?:too large|negative)(?: for (\d+)-bit type)?",
     _fixed(r"a shift by \1 is undefined in C; shift by less than the width")),
    (r"index (-?\d+) is out of range for type '([^']+)'",
     _fixed(r"index \1 is outside of an array of type \2")),
    (r"Kernel mode fault at addr (0x[0-9a-f]+)", _fault),
    (r"NULL pointer dereference, address: (?:0x)?([0-9a-f]+)", _fault),
    (r"tried to access user memory at addr|#PF: supervisor \w+ access in kernel mode\n"
     r"#PF: error_code\(0x[0-9a-f]+\) - permissions violation",
     _fixed("an address in a user's memory is used as if it were the kernel's: only copy_to_user,"
            " copy_from_user and the like may follow it")),
    (r"general protection fault", _fixed("a pointer is corrupted: it is no valid address")),
    (r"divide error", _fixed("a division by zero, or a quotient that is too large")),
    (r"WARNING: CPU",
     _fixed("an assertion failed: the condition in this line is false")),
]  # fmt: skip
