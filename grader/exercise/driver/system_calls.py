# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""List the calls for stage 0, task by task, with the expected answers.

An answer to a failed call is minus errno. See common/first.h for the ABI, client/firstctl.h for the
language. The list of each task begins after a load, without open files. The list uses only open,
read and the calls of the task, so that a task can be tested before the others are done. notebook.py
generates random calls; this file lists the cases that a random sequence may not contain.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.exercise.driver import texts
from grader.exercise.files import expected_values

BYTES = 65536
MAX_N, INPUT = 93, 16
MANY = 3000  # The number of files that are open at the same time in one case.
FLAGS = 200  # The number of random sets of flags for open.
OFTEN = (1 << 16) + 100  # more calls than 16 bits can count
# The counters by the name of the task: the name, the largest number, and the largest number if the
# counter is not found in the driver's memory.
COUNTERS = {
    "sysfs": ("lines", BYTES // 2, BYTES // 2),
    "counter": ("calls", (1 << 31) - 1, OFTEN),
    "ioctl": ("mine", (1 << 31) - 1, OFTEN),
}
LONG_TEXT = 1000  # Messages state the size of texts from this number of bytes on.
BEGINNING = "".join(f"{expected_values.digits(n)}\n" for n in range(10))
EBADF, ENOMEM, EACCES, EFAULT = -errno.EBADF, -errno.ENOMEM, -errno.EACCES, -errno.EFAULT
EINVAL, ENOTTY, ENOSPC = -errno.EINVAL, -errno.ENOTTY, -errno.ENOSPC
SET, CUR, END = 0, 1, 2
IOC_INFO, IOC_CLEAR = 0x80106610, 0x6611
TCGETS = 0x5401  # an ioctl of terminals


@dataclass(frozen=True)
class DriverCase:
    """A call and its expected answer."""

    title: str
    request: str
    expected: str

    def holds(self, answer: str) -> bool:
        """Return whether the answer is right."""
        return answer.rstrip("\n") == self.expected

    def named(self) -> str:
        """Return the title and the request of the case, for a message."""
        return f"{self.title} ({self.request})"


def in_words(request: str, answer: str) -> str:
    """Return a readable form of an answer: the name of an error, text in quotes."""
    words = answer.split()
    verb = request.split(maxsplit=1)[0]
    try:
        returned = int(words[0])
        if verb in ("read", "pread"):
            stray = words[1] != str(max(returned, 0))
            if returned < 0:
                return _error(returned) + (f", and {words[1]} bytes were written" if stray else "")
            if stray:
                return f"{returned}, and {words[1]} bytes were written"
            size = f"{returned} bytes, " if returned >= LONG_TEXT else ""
            return f'{size}"{words[2]}"' if returned else "nothing"
        if verb == "show":
            return _error(returned) if returned < 0 else f'"{words[1]}"'
        if verb == "fill":
            return f"{words[0]} writes, then {_error(int(words[1]))}"
        if verb == "many":
            wrong = f"{words[1]} of them wrong" if words[1] != "0" else "all of them right"
            return f"{words[0]} files, {wrong}"
        if verb == "count":
            return f'"{words[1]}" where {words[0]} is right'
        if verb == "info" and not returned and words[1:]:
            names = zip(("lines", "bytes", "room", "mine"), words[1:])
            return ", ".join(f"{name} {value}" for name, value in names)
        if verb == "stat" and not returned:
            return f"mode {words[1]}"
        return _error(returned)
    except (ValueError, IndexError):
        return answer.strip()


def _error(returned: int) -> str:
    return errno.errorcode.get(-returned, str(returned)) if returned < 0 else str(returned)


def case(title: str, request: str, expected: str | int) -> DriverCase:
    """Return the case of a call. The expected answer is a text or a return value."""
    return DriverCase(title, request, str(expected))


def text_answer(text: str) -> str:
    """Return the answer to a read of that text."""
    shown = text.replace("\n", "\\n") or "-"
    return f"{len(text)} {len(text)} {shown}"


def _seeking() -> list[DriverCase]:
    """Return the cases of the task "position"."""
    end = len(BEGINNING)
    most = (1 << 63) - 1
    return [
        case("open", "open 0 rw", 0),
        case("the position begins at 0", f"seek 0 0 {CUR}", 0),
        case("lseek to the second line", f"seek 0 2 {SET}", 2),
        case("the lseek before has moved the position (file->f_pos)", f"seek 0 0 {CUR}", 2),
        case("lseek into a line goes to its beginning", f"seek 0 3 {SET}", 2),
        case("lseek to the end", f"seek 0 {end} {SET}", end),
        case("lseek behind the end", f"seek 0 {end + 1} {SET}", EINVAL),
        case("lseek by 4 GB, which needs all bits", f"seek 0 {1 << 32} {SET}", EINVAL),
        case("lseek before the beginning", f"seek 0 -1 {SET}", EINVAL),
        case("SEEK_CUR by the largest offset", f"seek 0 {most} {CUR}", EINVAL),
        case("close", "close 0", 0),
    ]


def _opening() -> list[DriverCase]:
    """Return the cases of the task "open"."""
    written = f"{BEGINNING}13\n13\n6765\n" + MANY * "0\n"
    fit = (BYTES - len(written)) // len(f"{expected_values.digits(MAX_N)}\n")
    largest = MAX_N
    return [
        case("open", "open 0 rw", 0),
        case("open a second time", "open 1 r", 0),
        case("no more memory", "fail 1", 1),
        case("open without memory", "open 2 rw", ENOMEM),
        case("no memory for a second block", "fail 2", 1),
        WithoutMemoryCase("open without a second block", "open 3 rw", "0"),
        case("memory again", "fail 0", 1),
        case("open when there is memory again", "open 2 rw", 0),
        # A driver may link its open files, so only the write is between the two looks.
        case("look at the memory of the first file", "opened 0", 1),
        case("look at the memory of the second file", "opened 1", 1),
        case("write to the first file", "write 0 7", 1),
        case("look at the memory of the first file again", "opened 0", 1),
        case("look at the memory of the second file again", "opened 1", 1),
        case("write to the last file", "write 2 7", 1),
        case("write to the first file again", "write 0 20", 2),
        case("look at the memory of the first file once more", "opened 0", 1),
        case("no more memory", "fail 1", 1),
        case("close without memory", "close 2", 0),
        case("memory again", "fail 0", 1),
        case("close", "close 1", 0),
        case("close", "close 0", 0),
        # This file is not open if open has failed.
        ClosedCase("close", "close 3", "0"),
        case("count the blocks of memory while no file is open", "blocks", 1),
        case(f"open {MANY} files and write to each", f"many {MANY}", f"{MANY} 0"),
        case(f"count the blocks of memory when the {MANY} files are closed", "blocks", 1),
        case("open with any flags", f"flags {FLAGS} 1", FLAGS),
        case("open", "open 0 rw", 0),
        case("write until no line fits", f"fill 0 {largest}", f"{fit} {ENOSPC}"),
        case("look at the memory of the file", "opened 0", 1),
        case("write a line that does not fit", f"write 0 {largest}", ENOSPC),
        case("look at the memory of the file again", "opened 0", 1),
        case("close", "close 0", 0),
    ]


def _reading() -> list[DriverCase]:
    """Return the cases of the task "read"."""
    text = BEGINNING
    return [
        case("open", "open 0 rw", 0),
        case("read a byte", "read 0 1", text_answer(text[:1])),
        case("the position has moved", "read 0 1", text_answer(text[1:2])),
        case("read nothing", "read 0 0", text_answer("")),
        case("pread uses its own position", "pread 0 5 20", text_answer(text[20:])),
        case("pread far behind the end", f"pread 0 5 {1 << 40}", text_answer("")),
        case("open a second time", "open 1 r", 0),
        case("read into no memory", "read 1 10 null", f"{EFAULT} 0 -"),
        PartialReadCase("read into memory that ends half-way", "read 1 20 half", "EFAULT"),
        case("read into memory that is not there yet", "read 1 8 fresh", text_answer(text[:8])),
        case("read into much memory", "read 1 1000000", text_answer(text[8:])),
        case("open to write only", "open 2 w", 0),
        case("read from a file opened for writing", "read 2 10", f"{EBADF} 0 -"),
        case("close", "close 2", 0),
        case("close", "close 1", 0),
        case("close", "close 0", 0),
    ]


@dataclass(frozen=True)
class PartialReadCase(DriverCase):
    """A read into partly mapped memory: it must fail, even if some bytes were copied."""

    def holds(self, answer: str) -> bool:
        """Return whether the answer is right."""
        return answer.split()[:1] == [str(EFAULT)]


@dataclass(frozen=True)
class WithoutMemoryCase(DriverCase):
    """A call whose allocation fails, if it makes one: it may fail with ENOMEM."""

    def holds(self, answer: str) -> bool:
        """Return whether the answer is right."""
        return super().holds(answer) or answer.split()[:1] == [str(ENOMEM)]


@dataclass(frozen=True)
class ClosedCase(DriverCase):
    """A call of close for a file that need not be open."""

    def holds(self, answer: str) -> bool:
        """Return whether the answer is right."""
        return super().holds(answer) or answer.split()[:1] == [str(EBADF)]


def _writing() -> list[DriverCase]:
    """Return the cases of the task "write"."""
    end = len(BEGINNING)
    more = "55\n0\n12200160415121876738\n0\n13\n2\n"
    used = end + len(more)
    last = f"{expected_values.digits(93)}\n"
    fit = (BYTES - used) // len(last)
    filled = used + fit * len(last)
    assert BYTES - filled == len("1\n")  # exactly one short line fits
    return [
        case("open", "open 0 rw", 0),
        case("write a number", "write 0 10", 2),
        case("the line is at the end of the text", f"pread 0 100 {end}", text_answer("55\n")),
        case("with a newline", r"write 0 0\n", 2),
        case("the largest", r"write 0 93\n", 3),
        case("one too large", "write 0 94", EINVAL),
        case("far too large", "write 0 99999999999", EINVAL),
        case("two numbers", r"write 0 1\_2", EINVAL),
        case("two newlines", r"write 0 1\n\n", EINVAL),
        case("no bytes at all", "write 0", EINVAL),
        case("a newline alone", r"write 0 \n", EINVAL),
        case("16 bytes", "write 0 0000000000000000", 16),
        case("17 bytes", "write 0 00000000000000007", EINVAL),
        case("one byte, with others behind it in memory", "write 0 7", 1),
        case("open a second time, to write", "open 1 w", 0),
        case("write to the second file", "write 1 3", 1),
        case("the whole text, in order", f"pread 0 100 {end}", text_answer(more)),
        case("open to read only", "open 2 r", 0),
        case("write to a file opened for reading", "write 2 1", EBADF),
        case("write until it is full", "fill 1 93", f"{fit} {ENOSPC}"),
        case("a line one byte too long", "write 0 10", ENOSPC),
        case("a line that just fits", "write 0 1", 1),
        case("another line, when the notebook is full", "write 0 0", ENOSPC),
        case("the whole text, when the notebook is full", f"pread 0 {BYTES} 0",
             text_answer(f"{BEGINNING}{more}{fit * last}1\n")),
        case("close", "close 2", 0),
        case("close", "close 1", 0),
        case("close", "close 0", 0),
    ]  # fmt: skip


def _notations() -> list[DriverCase]:
    """Return cases of the task "write" with many notations of numbers; only decimal is valid."""
    cases, end = [case("open", "open 0 rw", 0)], len(BEGINNING)
    for text in texts.drawn(MAX_N, INPUT):
        n = texts.value(text)
        taken = n is not None and n <= MAX_N
        title = "a number in decimal" if taken else "no number from 0 to 93 in decimal"
        cases.append(case(title, f"write 0 {texts.word(text)}", len(text) if taken else EINVAL))
        if taken and n is not None:
            line = f"{expected_values.digits(n)}\n"
            cases.append(case(f"F({n}) is in the text", f"pread 0 100 {end}", text_answer(line)))
            end += len(line)
    return [*cases, case("close", "close 0", 0)]


def _attributes() -> list[DriverCase]:
    """Return the cases of the task "sysfs"."""
    return [
        case("lines at first", "show lines", r"0 10\n"),
        case("lines is read-only", "store lines 1", EACCES),
        case("all may read lines", "stat lines", "0 100444"),
    ]


def _counting() -> list[DriverCase]:
    """Return the cases of the task "counter"."""
    bad_zeros = ["0x0", "0X0", "0b0", "+-0", "0 0"]  # not the decimal number 0
    drawn = [text for text in texts.drawn(15, INPUT) if text]
    stored = bad_zeros + [text for text in drawn if texts.value(text) != 0]
    zeros = ["+0", "00", "+00\n", "0\0x"]
    zeros += [text for text in drawn if texts.value(text) == 0]
    return [
        case("calls at first", "show calls", r"0 0\n"),
        case("all may read calls, and root may write it", "stat calls", "0 100644"),
        case("open", "open 0 rw", 0),
        case("a read is a call", "read 0 1", text_answer("0")),
        case("calls counts it", "show calls", r"0 1\n"),
        case("a read that fails", "read 0 5 null", f"{EFAULT} 0 -"),
        case("a write that fails", "write 0 x", EINVAL),
        case("calls counts the read and the write that failed", "show calls", r"0 3\n"),
        case("a read of 0 bytes", "read 0 0", text_answer("")),
        case("calls counts a read of 0 bytes", "show calls", r"0 4\n"),
        case("a write of 0 bytes", "write 0", EINVAL),
        case("calls counts a write of 0 bytes", "show calls", r"0 5\n"),
        case("calls takes no number below 0", "store calls -1", EINVAL),
        case("calls takes no words", "store calls off", EINVAL),
        *(case("calls takes 0 only", f"store calls {texts.word(text)}", EINVAL) for text in stored),
        case("calls takes 0", "store calls 0", 1),
        case("calls counts from 0 again", "show calls", r"0 0\n"),
        case("with a newline, as echo writes it", r"store calls 0\n", 2),
        *(
            case("calls takes 0 as write does", f"store calls {texts.word(text)}", len(text))
            for text in zeros
        ),
        case("a read is a call", "read 0 1", text_answer("\n")),
        case("calls takes 0 with a plus sign", "store calls +0", 2),
        case("calls counts from 0 again", "show calls", r"0 0\n"),
        case("close", "close 0", 0),
    ]


def _requests() -> list[DriverCase]:
    """Return the cases of the task "ioctl"."""
    end = len(BEGINNING)
    return [
        case("open", "open 0 rw", 0),
        case("INFO at first", "info 0", f"0 10 {end} {BYTES - end} 0"),
        case("an ioctl of another device", f"ioctl 0 {TCGETS:#x}", ENOTTY),
        case("ioctl 0", "ioctl 0 0", ENOTTY),
        case(f"mine of {MANY} open files that have written a line each", f"many {MANY} info",
             f"{MANY} 0"),
        case("close", "close 0", 0),
    ]  # fmt: skip


def counting(task: str, seed: int) -> list[DriverCase]:
    """Return the cases that test the counter of a task, for a driver that was just loaded."""
    name, most, often = COUNTERS[task]
    return [
        case("open", "open 0 rw", 0),
        case(f"{name} up to {most}", f"count 0 {name} {seed} {most} {often}", "right"),
        case("close", "close 0", 0),
    ]


# Lists of cases by the name of the task, each list for a driver that was just loaded. The tests of
# init and exit are in init_and_exit.py, the tests with two callers in concurrency.py.
CASES: Mapping[str, Sequence[Sequence[DriverCase]]] = {
    "read": [_reading()],
    "write": [_writing(), _notations()],
    "position": [_seeking()],
    "sysfs": [_attributes()],
    "counter": [_counting()],
    "open": [_opening()],
    "ioctl": [_requests()],
}
