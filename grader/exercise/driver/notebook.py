# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Generate random sequences of calls for stage 0; a model of the notebook gives the answers.

A sequence makes each kind of call while the notebook has free space, while it is full and after
CLEAR. INFO follows each call, because a call that is refused must not change the notebook.
"""

from __future__ import annotations

import functools
import itertools
import os
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from grader.exercise.driver import texts
from grader.exercise.driver.system_calls import (
    BEGINNING,
    BYTES,
    CUR,
    EFAULT,
    EINVAL,
    END,
    ENOSPC,
    ENOTTY,
    INPUT,
    IOC_CLEAR,
    IOC_INFO,
    MAX_N,
    SET,
    DriverCase,
    PartialReadCase,
    WithoutMemoryCase,
    case,
    text_answer,
)
from grader.exercise.files import expected_values

# How each file is opened. O_APPEND, O_NONBLOCK, O_SYNC and O_TRUNC change nothing. All but one of
# FLAGS are used.
MODES = {0: "rw", 1: "rw", 2: "w", 3: "r"}
FLAGS = ("a", "n", "s", "t", "ants")
FILES = tuple(MODES)
BOTH = tuple(file for file, mode in MODES.items() if mode == "rw")
# Which allocations of a call fail, one after the other. A call that allocates memory may then fail
# with ENOMEM, other calls may not. So the calls for this test change nothing in either case.
FAILS = range(1, 7)
LONGEST_WRITE = 250  # The client's texts have less than 256 bytes.
PAGE = 4096  # bytes
# Types of the requests that fs/ioctl.c answers for all files, and those with the type of first.h.
TYPES_OF_KERNEL = (0x00, 0x15, ord("T"), ord("X"), 0x94)
REQUESTS_OF_FILES = (0x80086601, 0x40086602, 0xC020660B)  # FS_IOC_GETFLAGS, SETFLAGS, FIEMAP
LONGEST_STORE = 4095  # The kernel passes at most one page to an attribute.
LARGEST_CALL = (1 << 31) - 4096  # bytes, Linux's MAX_RW_COUNT
ROUNDS = 2  # The number of calls of each kind in one state of the notebook.
LARGEST = texts.word(str(MAX_N))
LINE = len(f"{expected_values.digits(MAX_N)}\n")
INFO_BYTES = 16  # The size of struct first_info.


@dataclass(frozen=True)
class _Gap:
    """The bytes of a buffer that are not mapped, because some pages are missing."""

    size: int  # of the buffer
    begin: int  # where the missing pages begin in the buffer, or before it if it is negative
    pages: int

    @property
    def first(self) -> int:
        """Return the first byte that is missing."""
        return max(self.begin, 0)

    def title(self, call: str) -> str:
        """Return the title of a call with this buffer."""
        end = self.begin + self.pages * PAGE
        if end >= self.size:
            return f"{call} memory that ends after {self.first} bytes"
        return f"{call} memory without its bytes {self.first} to {end - 1}"

    def word(self) -> str:
        """Return the gap as a word of a request."""
        return f"gap:{self.begin}:{self.pages}"


@dataclass
class Notebook:
    """The state of the notebook. Each method returns the expected answer to a call."""

    text: str = BEGINNING
    calls: int = 0
    position: dict[int, int] = field(default_factory=lambda: dict.fromkeys(FILES, 0))
    mine: dict[int, int] = field(default_factory=lambda: dict.fromkeys(FILES, 0))

    def read(self, file: int, size: int) -> str:
        """Read text that begins at the position."""
        self.calls += 1
        found = self.text[self.position[file] :][:size]
        self.position[file] += len(found)
        return text_answer(found)

    def write(self, file: int, text: str) -> int:
        """Append the digits of F(n) as a line, if the text is a valid n and the line fits."""
        self.calls += 1
        n = texts.value(text)
        if len(text) > INPUT or n is None or n > MAX_N:
            return EINVAL
        line = f"{expected_values.digits(n)}\n"
        if len(line) > BYTES - len(self.text):
            return ENOSPC
        self.text += line
        self.mine[file] += 1
        return len(text)

    def fill(self, file: int, text: str) -> int:
        """Write until a line no longer fits. Return the number of lines that fit."""
        line = f"{expected_values.digits(int(text))}\n"
        count = (BYTES - len(self.text)) // len(line)
        self.text += count * line
        self.mine[file] += count
        self.calls += count + 1
        return count

    def seek(self, file: int, offset: int, whence: int) -> int:
        """Move the position to the beginning of a line."""
        offset += {SET: 0, CUR: self.position[file], END: len(self.text)}[whence]
        if not 0 <= offset <= len(self.text):
            return EINVAL
        if offset < len(self.text):
            offset = self.text.rfind("\n", 0, offset) + 1
        self.position[file] = offset
        return offset

    def clear(self) -> int:
        """Empty the notebook."""
        lines = self.text.count("\n")
        self.text = ""
        return lines

    def info(self, file: int) -> str:
        """Return the answer to INFO."""
        size = len(self.text)
        return f"0 {self.text.count(chr(10))} {size} {BYTES - size} {self.mine[file]}"


class _Drawing:
    """A generator of one random sequence. Each method that is listed in KINDS adds one call."""

    def __init__(self, tasks: Sequence[str], seed: int) -> None:
        self.tasks = tasks
        self.random = random.Random(seed)
        self.model = Notebook()
        self.cases: list[DriverCase] = []
        self.file = 0  # the number of the file that the current call uses
        self.texts = [t for t in texts.drawn(MAX_N, INPUT, self.random) if t]

    def open(self) -> None:
        for (file, mode), flags in zip(MODES.items(), self.random.sample(FLAGS, len(MODES))):
            self.cases.append(
                case(f"open with flags {mode}{flags}", f"open {file} {mode}{flags}", 0)
            )

    def add(self, title: str, request: str, expected: str | int) -> None:
        """Add a call, and a call of INFO after it."""
        self.cases.append(case(title, request, expected))
        if "ioctl" in self.tasks:
            info = self.model.info(self.file)
            self.cases.append(case(f"{title} ({request}), then INFO", f"info {self.file}", info))

    def _size(self, bits: int = 13) -> int:
        return self.random.randrange(1, 1 << self.random.randint(1, bits))

    def _place(self, size: int) -> str:
        """Draw the byte of a page at which the buffer begins. Half of the buffers cross its end."""
        crossing = PAGE - self.random.randint(1, max(1, min(size, PAGE) - 1))
        return f"@{self.random.choice((crossing, self.random.randrange(PAGE)))}"

    def _gap(self, size: int) -> _Gap:
        """Draw the missing part of a buffer: its beginning, its end, or a part between them."""
        pages = self.random.randint(1, size // PAGE + 1)
        begin = self.random.randrange(size)
        before = self.random.randint(1, size) - pages * PAGE
        return _Gap(size, self.random.choice((begin, before)), pages)

    def read(self) -> None:
        size = self._size()
        request = f"read {self.file} {size} {self._place(size)}"
        self.add("read", request, self.model.read(self.file, size))

    def pread(self) -> None:
        self._pread(self._size(), self.random.randint(0, len(self.model.text) + 2))

    def pread_far(self) -> None:
        """Read at offsets of all magnitudes.

        Without its upper bits, such an offset is in the text.
        """
        for bits in range(17, 63):
            times = self.random.choice((1, self.random.randrange(1, 1 << 63 - bits)))
            self._pread(9, self.random.randint(0, len(self.model.text)) + (times << bits))

    def _pread(self, size: int, at: int) -> None:
        self.model.calls += 1
        answer = text_answer(self.model.text[at : at + size])
        self.add("pread", f"pread {self.file} {size} {at} {self._place(size)}", answer)

    def read_much(self) -> None:
        """Read in each quarter of the text, with sizes of each power of two from 4,096 on.

        A part of the memory of a second read of each size is missing, so it must fail.
        """
        quarter = len(self.model.text) // 4
        for part, bits in itertools.product(range(4), range(12, BYTES.bit_length() - 1)):
            at = self.random.randrange(part * quarter, (part + 1) * quarter)
            size = self.random.randrange(1 << bits, 2 << bits)
            self._pread(size, at)
            self._refused_pread(size, at)

    def read_into_parts(self) -> None:
        """Read each number of bytes that the text has at first. A part of the memory is missing."""
        for size in range(1, len(BEGINNING) + 1):
            self._refused_pread(size, self.random.randint(0, len(self.model.text) - size))

    def _refused_pread(self, size: int, at: int) -> None:
        gap = self._gap(min(size, len(self.model.text) - at))
        self.model.calls += 1
        request = f"pread {self.file} {size} {at} {gap.word()}"
        self.cases.append(PartialReadCase(gap.title("read into"), request, "EFAULT"))

    def read_long(self) -> None:
        """Read into a buffer of up to 2 GB. A driver must not allocate as much."""
        size = min(self.random.randrange(1 << 20, 2 << self.random.randint(20, 30)), LARGEST_CALL)
        at = self.random.randint(0, len(self.model.text))
        self.model.calls += 1
        text = self.model.text[at:]
        answer = f"{len(text)} {text_answer(text).split(' ', 2)[2]}"
        self.add("read into much memory", f"longread {self.file} {size} {at}", answer)

    def read_into_none(self) -> None:
        self._refused_read("null")

    def read_into_part(self) -> None:
        self._refused_read()

    def _refused_read(self, where: str = "") -> None:
        left = len(self.model.text) - self.model.position[self.file]
        if left < 2:  # too few bytes are left to test a read that must fail
            self.read()
            return
        size = min(self._size(BYTES.bit_length()) + 1, left)
        gap = self._gap(size)
        self.model.calls += 1
        title = "read into no memory" if where else gap.title("read into")
        request = f"read {self.file} {size} {where or gap.word()}"
        self.cases.append(PartialReadCase(title, request, "EFAULT"))
        self.add("read after a failed read", f"read {self.file} 2",
                 self.model.read(self.file, 2))  # fmt: skip

    def change(self) -> None:
        """Change a digit in the memory from kmalloc. The driver must read its text from there."""
        text = self.model.text
        digits = [i for i, character in enumerate(text) if character != "\n"]
        if digits:
            at = self.random.choice(digits)
            digit = chr(ord(text[at]) ^ 1)
            self.model.text = f"{text[:at]}{digit}{text[at + 1 :]}"
            self.cases.append(case("change a digit in the memory", f"change {at}", len(str(at))))
            self.model.calls += 1
            title = "read a digit that was changed in the memory that kmalloc returned"
            self.add(title, f"pread {self.file} 1 {at}", text_answer(digit))

    def write(self) -> None:
        self._write(str(self.random.randint(0, MAX_N)))

    def pwrite(self) -> None:
        """Write a number at an offset, which has no meaning here."""
        n = str(self.random.randint(0, MAX_N))
        self._write(n, f" {self.random.choice((0, self._size(17), self._size(62)))}")

    def write_each(self) -> None:
        """Write each number, and read its line."""
        for n in self.random.sample(range(MAX_N + 1), MAX_N + 1):
            at = len(self.model.text)
            self._write(str(n))
            self._pread(LINE, at)

    def write_text(self) -> None:
        self._write(self.random.choice(self.texts))

    def write_no_number(self) -> None:
        self._write(self.random.choice(("94", "x", "-1", "4294967297", "00000000000000001")))

    def write_much(self) -> None:
        """Write more bytes than a number may have, which begin with one."""
        zeros = "0" * self.random.randrange(INPUT, LONGEST_WRITE)
        self._write(self.random.choice((f"1{zeros}", f"{zeros}1")))

    def write_long(self) -> None:
        """Write a number and zero bytes: more bytes than a number may have, of all magnitudes.

        The size differs from the number's size by a multiple of a power of two. The largest is the
        largest write that Linux passes to a driver.
        """
        for bits in range(4, 31):
            text = f"{self.random.randint(0, MAX_N)}{self.random.choice(('', chr(10)))}"
            times = self.random.randrange(1, 1 << 31 - bits)
            size = min(len(text) + (times << bits), LARGEST_CALL)
            self.model.calls += 1
            title = "write more bytes than a number may have"
            request = f"longwrite {self.file} {texts.word(text)} {size}"
            self.cases.append(case(title, request, EINVAL))

    def write_line_too_long(self) -> None:
        """Write the longest line, which fails when the notebook is full."""
        self._write(str(MAX_N))

    def _write(self, text: str, offset: str = "") -> None:
        expected = self.model.write(self.file, text)
        refused = {EINVAL: ", no number from 0 to 93", ENOSPC: ", a line that does not fit"}
        title = f"write{refused.get(expected, '')}"
        verb = "pwrite" if offset else "write"
        self.add(title, f"{verb} {self.file} {texts.word(text)}{offset}", expected)

    def write_from_none(self) -> None:
        self.model.calls += 1
        self.add("write from no memory", f"badwrite {self.file} 2 null", EFAULT)

    def write_from_part(self) -> None:
        self._write_from_part(self.random.randint(1, INPUT))

    def _write_from_part(self, size: int) -> None:
        self.model.calls += 1
        gap = self._gap(size)
        # The text may end before the missing memory.
        end = self.random.choice(("", " end")) if gap.first > 1 else ""
        request = f"badwrite {self.file} {size} {gap.word()}{end}"
        self.add(gap.title("write from"), request, EFAULT)

    def write_from_parts(self) -> None:
        """Write zeros of each valid size, from memory of which a part is missing."""
        for size in ROUNDS * [*range(1, INPUT + 1)]:
            self._write_from_part(size)

    def _without_memory(
        self, title: str, request: str, expected: str | int, fails: Sequence[int] = FAILS
    ) -> None:
        """Make a call again and again. Each time another one of its allocations fails, if any."""
        title = f"{title}, without memory"
        for which in fails:
            self.cases.append(case("let an allocation fail", f"fail {which}", 1))
            self.cases.append(WithoutMemoryCase(title, request, str(expected)))
        self.cases.append(case("memory again", "fail 0", 1))

    def pread_without_memory(self) -> None:
        size, at = self._size(), self.random.randint(0, len(self.model.text))
        self.model.calls += len(FAILS)
        answer = text_answer(self.model.text[at : at + size])
        self._without_memory("pread", f"pread {self.file} {size} {at}", answer)

    def write_without_memory(self) -> None:
        """Write a line that does not fit, or no number if it fits."""
        fits = len(self.model.text) + LINE <= BYTES
        text, error = ("94", EINVAL) if fits else (LARGEST, ENOSPC)
        self.model.calls += len(FAILS)
        self._without_memory("write", f"write {self.file} {text}", error)

    def last_write_without_memory(self) -> None:
        """Write a number. It is not known whether the line is there afterwards."""
        expected = self.model.write(self.file, "3")
        self._without_memory("write", f"write {self.file} 3", expected, FAILS[:1])

    def seek_without_memory(self) -> None:
        """Seek to where the position is."""
        end = self.model.seek(self.file, 0, END)
        self.add("lseek", f"seek {self.file} 0 {END}", end)
        self._without_memory("lseek", f"seek {self.file} 0 {CUR}", end)

    def lines_without_memory(self) -> None:
        self._without_memory("lines", "show lines", rf"0 {self.model.text.count(chr(10))}\n")

    def calls_without_memory(self) -> None:
        self._without_memory("calls", "show calls", rf"0 {self.model.calls}\n")

    def reset_without_memory(self) -> None:
        """Set the number of calls to 0, which it is."""
        self.reset()
        self._without_memory("calls takes 0", "store calls 0", 1)

    def clear_without_memory(self) -> None:
        """Make a CLEAR while the notebook is empty."""
        self._without_memory("CLEAR", f"clear {self.file}", 0)

    def info_without_memory(self) -> None:
        self._without_memory("INFO", f"info {self.file}", self.model.info(self.file))

    def seek(self, whence: int, place: str) -> None:
        """Move the position relative to the start, the current position or the end (whence)."""
        end, distance = len(self.model.text), self.random.choice((1, self._size()))
        origin = {SET: 0, CUR: self.model.position[self.file], END: end}[whence]
        target = {"before": -distance, "here": origin, "inside": self.random.randint(0, end),
                  "end": end, "behind": end + distance}[place]  # fmt: skip
        offset = target - origin
        expected = self.model.seek(self.file, offset, whence)
        self.add("lseek", f"seek {self.file} {offset} {whence}", expected)

    def seek_unknown(self) -> None:
        """Seek by the two values of whence that Linux passes on, but first.h does not name."""
        end = len(self.model.text)
        for whence, offset in itertools.product((os.SEEK_DATA, os.SEEK_HOLE), (0, 1, end)):
            self.add("lseek by another whence", f"seek {self.file} {offset} {whence}", EINVAL)
            text = self.model.read(self.file, 1)
            self.add("read after an lseek that failed", f"read {self.file} 1", text)

    def seek_far(self) -> None:
        """Move the position by offsets of all magnitudes.

        An offset differs from a valid one by a multiple of a power of two. So a driver that loses
        the upper bits of the offset takes it for the valid one.
        """
        end = len(self.model.text)
        for whence, bits, sign in itertools.product((SET, CUR, END), range(17, 63), (-1, 1)):
            origin = {SET: 0, CUR: self.model.position[self.file], END: end}[whence]
            times = self.random.choice((1, self.random.randrange(1, 1 << 63 - bits)))
            offset = self.random.randint(0, end) - origin + sign * (times << bits)
            offset = max(-1 << 63, min(offset, (1 << 63) - 1))
            expected = self.model.seek(self.file, offset, whence)
            title = "lseek by an offset that needs more than 17 bits"
            self.cases.append(case(title, f"seek {self.file} {offset} {whence}", expected))

    def lines(self) -> None:
        self.add("lines", "show lines", rf"0 {self.model.text.count(chr(10))}\n")

    def calls(self) -> None:
        self.add("calls", "show calls", rf"0 {self.model.calls}\n")

    def reset(self) -> None:
        self.model.calls = 0
        self.add("calls takes 0", "store calls 0", 1)

    def refused_reset(self) -> None:
        # Some have only zeros in their lower bits. The last ones exceed 64 bits.
        drawn = [str(self._size(64)) for _ in range(4)]
        for text in (*drawn, "256", f"{1 << 32}", f"{1 << 63}", f"{1 << 64}", f"-{1 << 64}"):
            self.add("calls takes 0 only", f"store calls {text}", EINVAL)
        # Long texts that are 0 except for one digit or another character.
        for bits in range(4, LONGEST_STORE.bit_length()):
            size = self.random.randrange(1 << bits, min(2 << bits, LONGEST_STORE + 1))
            text = self.random.choice(("1", "x", "-", "9"))
            place = self.random.choice((0, size - 1, self.random.randrange(size)))
            request = f"longstore calls {text} {size} {place}"
            self.add("calls takes 0 only", request, EINVAL)

    def info_into_none(self) -> None:
        """Call INFO with a null pointer, and with addresses that no program may use."""
        self.add("INFO into no memory", f"info {self.file} null", EFAULT)
        for end in (1 << self.random.randint(5, 62), INFO_BYTES):
            address = (1 << 64) - self.random.randint(1, end)
            self.add("INFO into memory of the kernel", f"info {self.file} at:{address:x}", EFAULT)

    def info_into_part(self) -> None:
        self._info_into_part(self._gap(INFO_BYTES))

    def _info_into_part(self, gap: _Gap) -> None:
        self.add(gap.title("INFO into"), f"info {self.file} {gap.word()}", EFAULT)

    def info_into_parts(self) -> None:
        """Call INFO with memory that ends or begins at each byte of the structure."""
        for there in range(INFO_BYTES):
            self._info_into_part(_Gap(INFO_BYTES, there, 1))
            self._info_into_part(_Gap(INFO_BYTES, there + 1 - PAGE, 1))

    def unknown_requests(self) -> None:
        """Make requests that differ from a known one in a bit, in one or two fields, or in all.

        The fields are those of <asm/ioctl.h>. Requests that the kernel may answer itself, such as
        FIONBIO, are left out.
        """
        changes = [1 << bit for bit in range(32)]
        fields = ((0, 8), (8, 8), (16, 14), (30, 2))
        for one, two in itertools.product(fields, fields):
            for shift, bits in 4 * (one, two):
                changes.append(self.random.randrange(1, 1 << bits) << shift)
            changes += [x ^ y for x, y in itertools.pairwise(changes[-8:]) if x != y]
        changes += [self.random.randrange(1, 1 << 32) for _ in range(64)]
        known = (IOC_INFO, IOC_CLEAR)
        for number in {one ^ change for one, change in itertools.product(known, changes)} - {
            *known
        }:
            if (number >> 8 & 0xFF) in TYPES_OF_KERNEL or number in REQUESTS_OF_FILES:
                continue
            memory = self.random.choice(("", " memory"))
            request = f"ioctl {self.random.choice(FILES)} {number:#x}{memory}"
            self.cases.append(case("an unknown request", request, ENOTTY))
        self.add("INFO", f"info {self.file}", self.model.info(self.file))

    def calls_of_each_kind(self) -> None:
        """Add each kind of call of the given tasks ROUNDS times, in random order."""
        kinds = [(task, kind) for task in KINDS if task in self.tasks for kind in KINDS[task]]
        kinds *= ROUNDS
        self.random.shuffle(kinds)
        for task, kind in kinds:
            self.choose_file(task)
            kind(self)

    def once(self) -> None:
        """Add the calls of ONCE for the task that is tested."""
        counts = self.tasks[-1] == "counter"
        for task in self.tasks:
            if counts or task == self.tasks[-1]:
                for kind in ONCE.get(task, ()):
                    self.file = self.random.choice(BOTH)
                    kind(self)
        if counts:
            self.calls()

    def choose_file(self, task: str = "") -> None:
        """Draw the file for the next call, which is a call of this task."""
        letter = {"read": "r", "write": "w"}.get(task, "")
        self.file = self.random.choice([file for file in FILES if letter in MODES[file]])

    def fill(self, text: str = LARGEST) -> None:
        """Write a line until it no longer fits, by default the longest one."""
        self.file = self.random.choice(BOTH)
        count = self.model.fill(self.file, text)
        self.add("write until it is full", f"fill {self.file} {text}", f"{count} {ENOSPC}")

    def fill_up(self) -> None:
        """Write the longest line that fits, until the notebook is full or one byte is left."""
        self.file = self.random.choice(BOTH)
        for n in range(MAX_N, -1, -1):
            if len(f"{expected_values.digits(n)}\n") <= BYTES - len(self.model.text):
                self.fill(str(n))
        if "read" in self.tasks:
            self._pread(BYTES, 0)

    def read_behind(self) -> None:
        """Read in each file where its position is, which is behind the end, and after a fill."""
        readable = [file for file in FILES if "r" in MODES[file]]
        for fills in (False, True):
            if fills:
                self.fill()
            for self.file in readable:
                self.add("read where the position was before CLEAR", f"read {self.file} 9",
                         self.model.read(self.file, 9))  # fmt: skip

    def info(self) -> None:
        request = f"info {self.file} {self._place(INFO_BYTES)}"
        self.cases.append(case("INFO", request, self.model.info(self.file)))

    def clear(self) -> None:
        self.choose_file()
        expected = self.model.clear()
        self.add("CLEAR returns the number of lines", f"clear {self.file}", expected)


Kind = Callable[[_Drawing], None]
# The kinds of calls, by the name of the task in which the learner implements them.
KINDS: dict[str, tuple[Kind, ...]] = {
    "read": (_Drawing.read, _Drawing.pread, _Drawing.read_into_none, _Drawing.read_into_part,
             _Drawing.change, _Drawing.pread_without_memory, _Drawing.read_long),
    "write": (_Drawing.write, _Drawing.pwrite, _Drawing.write_text, _Drawing.write_no_number,
              _Drawing.write_much, _Drawing.write_line_too_long, _Drawing.write_from_none,
              _Drawing.write_from_part, _Drawing.write_without_memory),
    "position": (
        *(
            functools.partial(_Drawing.seek, whence=whence, place=place)
            for whence in (SET, CUR, END)
            for place in ("before", "here", "inside", "end", "behind")
        ),
        _Drawing.seek_without_memory,
    ),
    "sysfs": (_Drawing.lines, _Drawing.lines_without_memory),
    "counter": (_Drawing.calls, _Drawing.reset, _Drawing.refused_reset,
                _Drawing.calls_without_memory, _Drawing.reset_without_memory),
    "ioctl": (_Drawing.info, _Drawing.info_into_none, _Drawing.info_into_part,
              _Drawing.info_without_memory),
}  # fmt: skip

# Calls by the name of a task. They are slow, so they are made for this task only, and for the task
# "counter", which counts them. Each begins with a notebook that contains text.
ONCE: dict[str, tuple[Kind, ...]] = {
    "read": (_Drawing.read_into_parts, _Drawing.pread_far),
    "write": (_Drawing.read_much, _Drawing.write_long, _Drawing.write_from_parts),
    "position": (_Drawing.seek_far, _Drawing.seek_unknown),
    "ioctl": (_Drawing.unknown_requests, _Drawing.info_into_parts),
}


def drawn(tasks: Sequence[str], seed: int) -> list[DriverCase]:
    """Return a random sequence of the calls of some tasks, for a driver that was just loaded.

    The last of the tasks is the one that is tested.
    """
    drawing = _Drawing(tasks, seed)
    # Memory that is kept after close is a fault of "open" until this task is right.
    blocks = [case("count the blocks of memory while no file is open", "blocks", 1)]
    blocks *= {"open", "ioctl"}.issubset(tasks)
    drawing.cases += blocks
    drawing.open()
    drawing.calls_of_each_kind()
    drawing.file = drawing.random.choice(BOTH)
    if tasks[-1] == "write":
        drawing.write_each()
    if "write" in tasks:
        drawing.fill()
        drawing.calls_of_each_kind()
        drawing.fill_up()
    drawing.once()
    if "ioctl" in tasks:
        drawing.clear()
        drawing.clear()
        for drawing.file in FILES:  # Each position is behind the end, unless it is 0.
            drawing.seek(CUR, "here")
        drawing.clear_without_memory()
        if {"read", "write"}.issubset(tasks):
            drawing.read_behind()
            drawing.clear()
        drawing.calls_of_each_kind()
    if {"write", "ioctl"}.issubset(tasks):
        drawing.clear()
        drawing.fill_up()
        drawing.calls_of_each_kind()
        drawing.clear()
        drawing.fill("0")
        drawing.clear()
    if "write" in tasks:
        drawing.file = drawing.random.choice(BOTH)
        drawing.last_write_without_memory()
    drawing.cases += [case("close", f"close {file}", 0) for file in FILES]
    return drawing.cases + blocks


def in_turns(task: str, tasks: Collection[str], seed: int) -> list[DriverCase]:
    """Return a random sequence of calls for two threads that make them in turn.

    Each access to what the threads share needs a lock (locks.c), whatever the arguments of a call.
    tasks: the tasks that are done. The numbers of task "counter" need less strict locks.
    """
    kinds = [one for one in tasks if one in KINDS and (one != "counter" or task == one)]
    drawing = _Drawing(kinds, seed)
    drawing.cases.append(case("two threads make the calls in turn", f"turns {1 + seed}", 0))
    drawing.open()
    drawing.calls_of_each_kind()
    if "ioctl" in kinds:
        drawing.clear()
        drawing.calls_of_each_kind()
    if "write" in kinds:  # The positions and the length are as large as possible.
        drawing.fill()
        drawing.calls_of_each_kind()
    # No other caller can use a file that is released, so a release without a lock is right.
    drawing.cases.append(case("one thread makes the calls", "turns 0", 0))
    return drawing.cases + [case("close", f"close {file}", 0) for file in FILES]
