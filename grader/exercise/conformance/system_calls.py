# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""List the ABI conformance cases: requests for system calls in the language of fibctl batch.

An answer to a failed call is minus errno: -9 EBADF, -13 EACCES, -14 EFAULT, -22 EINVAL, -25 ENOTTY,
-34 ERANGE. See common/fibdrv.h for the ABI, common/fibctl.h for the language.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass

from grader.exercise.files import expected_values
from grader.exercise.files.stages import Manifest

MAX_REPEAT = 1 << 20


@dataclass(frozen=True)
class AbiCase:
    """A request and its expected answer."""

    title: str
    request: str
    expected: str  # the exact answer, or a description of the answers that `accepts` accepts
    accepts: Callable[[str], bool] | None = None

    def holds(self, answer: str) -> bool:
        """Return whether the answer is right."""
        return self.accepts(answer) if self.accepts else answer.rstrip() == self.expected

    def expected_in_words(self) -> str:
        """Return a readable form of the expected answer."""
        return self.expected if self.accepts else in_words(self.request, self.expected)

    def answer_in_words(self, answer: str) -> str:
        """Return a readable form of an actual answer."""
        return in_words(self.request, answer)


def error_name(returned: int) -> str:
    """Return the name of an error, for example EINVAL for -22."""
    return errno.errorcode.get(-returned, f"error {returned}")


def in_words(request: str, answer: str) -> str:
    """Return a readable form of an answer of fibctl batch.

    For a read, this is the digits, and the number of bytes written if this number is wrong.
    """
    verb, words = request.split(maxsplit=1)[0], answer.split()
    try:
        returned = int(words[0])
        if verb in ("read", "pread"):
            _, touched, data = words
            if returned < 0:
                stray = f", and {touched} bytes were written" if touched != "0" else ""
                return error_name(returned) + stray
            text = data if returned else "nothing"
            stray = f", and {touched} bytes were written" if touched != words[0] else ""
            return text + stray
        if returned < 0 and verb != "measure":
            return error_name(returned)
        if verb == "measure":
            got = fields(answer)
            what = f"digest {got['digest']:016x}, digits {got['digits']}, limbs {got['limbs']}"
            if returned:
                wrote = f", and wrote {what}" if got["digest"] or got["digits"] else ""
                return error_name(returned) + wrote
            return what
    except (ValueError, IndexError, KeyError):
        pass
    return " ".join(words[1:]) if verb == "show" and words[:1] == ["0"] else answer.strip()


def fields(answer: str) -> dict[str, int]:
    """Return the fields of a measure answer, and its return value as "returned"."""
    returned, *pairs = answer.split()
    values = {"returned": int(returned)}
    for pair in pairs:
        name, value = pair.split("=")
        values[name] = int(value)
    return values


def _got(n: int) -> str:
    """Return the right answer to a read of F(n): its length, the bytes written, the digits."""
    text = expected_values.digits(n)
    return f"{len(text)} {len(text)} {text}"


def _positive(answer: str) -> bool:
    return answer.strip().isdigit() and int(answer) >= 1


def _measurement(n: int, spread: int, repeat: int, nonce: int) -> str:
    """Return a readable form of the expected answer to a measurement."""
    least = max(1, -(-expected_values.bits(n) // 64))
    return (
        f"digest {expected_values.digest(n, spread, repeat, nonce):016x},"
        f" digits {expected_values.digit_total(n, spread, repeat)},"
        f" limbs {least} or more (decimal must not change the number)"
    )


def _measured(n: int, spread: int, repeat: int, nonce: int) -> Callable[[str], bool]:
    def accepts(answer: str) -> bool:
        got = fields(answer)
        return (
            got["returned"] == 0
            and got["digest"] == expected_values.digest(n, spread, repeat, nonce)
            and got["digits"] == expected_values.digit_total(n, spread, repeat)
            # A limb has at most 64 bits. The driver counts limbs after the conversion to decimal,
            # so if the conversion has overwritten the number, the count is too small.
            and got["limbs"] * 64 >= expected_values.bits(n)
            and got["limbs"] >= 1
        )

    return accepts


def _refused(code: int) -> Callable[[str], bool]:
    def accepts(answer: str) -> bool:
        got = fields(answer)
        return got["returned"] == code and got["digest"] == 0

    return accepts


def cases(manifest: Manifest) -> list[AbiCase]:
    """Return all cases for a stage. Their order matters, because they share open files."""
    top = manifest.max_n
    last = expected_values.digit_count(top)
    some = min(top, 10_000)  # many digits, but quick in each stage
    some_last = expected_values.digit_count(some)
    bad_read, too_small = "-22 0 -", "-34 0 -"

    def case(title: str, request: str, expected: str | int) -> AbiCase:
        return AbiCase(title, request, str(expected))

    def measure(title: str, request: str, code: int) -> AbiCase:
        wanted = f"{error_name(code)}, nothing written"
        return AbiCase(title, f"measure 0 {request}", wanted, _refused(code))

    def measured(title: str, n: int, spread: int, repeat: int, nonce: int) -> AbiCase:
        request = f"measure 0 n={n} spread={spread} repeat={repeat} nonce={nonce}"
        wanted = _measurement(n, spread, repeat, nonce)
        return AbiCase(title, request, wanted, _measured(n, spread, repeat, nonce))

    return [
        case("sysfs stage", "show stage", f"0 {manifest.number}"),
        case("sysfs max_n", "show max_n", f"0 {top}"),
        case("sysfs ktime_measure is on", "show ktime_measure", "0 1"),
        case("stage is read-only", "store stage 1", -13),
        case("max_n is read-only", "store max_n 1", -13),
        case("a character device that only root may open", "stat", "0 20600 0 0"),
        case("open", "open 0 rw", 0),
        case("the position begins at 0", "seek 0 0 1", 0),
        case("read F(0)", "read 0 64", _got(0)),
        case("lseek selects", "seek 0 10 0", 10),
        case("read F(10)", "read 0 64", _got(10)),
        case("read leaves the position unchanged", "seek 0 0 1", 10),
        case("read F(10) again", "read 0 64", _got(10)),
        case("a buffer that just fits", "read 0 2", _got(10)),
        case("a buffer one byte too small", "read 0 1", too_small),
        case("no buffer at all", "read 0 0", too_small),
        case("the position after ERANGE", "seek 0 0 1", 10),
        case("pread uses its own n", "pread 0 64 7", _got(7)),
        case("pread leaves the position unchanged", "seek 0 0 1", 10),
        case("pread F(max_n)", f"pread 0 {last} {top}", _got(top)),
        case("pread of many digits, too small", f"pread 0 {some_last - 1} {some}", too_small),
        case("pread above max_n", f"pread 0 {last + 64} {top + 1}", bad_read),
        case("pread far above max_n", f"pread 0 64 {1 << 62}", bad_read),
        case("pread below 0", "pread 0 64 -1", bad_read),
        case("lseek to max_n", f"seek 0 {top} 0", top),
        case("lseek above max_n", f"seek 0 {top + 1} 0", -22),
        case("lseek beyond by SEEK_CUR", "seek 0 1 1", -22),
        case("lseek below 0", "seek 0 -1 0", -22),
        case("a refused lseek leaves the position unchanged", "seek 0 0 1", top),
        case("SEEK_CUR backwards", "seek 0 -3 1", top - 3),
        case("SEEK_END is max_n", "seek 0 0 2", top),
        case("SEEK_END counts back", f"seek 0 {-top} 2", 0),
        case("SEEK_END beyond", "seek 0 1 2", -22),
        case("SEEK_END below 0", f"seek 0 {-top - 1} 2", -22),
        case("SEEK_DATA is not supported", "seek 0 0 3", -22),
        case("an unknown whence", "seek 0 0 99", -22),
        case("a far lseek", f"seek 0 {(1 << 63) - 1} 0", -22),
        case("the position is still 0", "seek 0 0 1", 0),
        case("open a second time", "open 1 rw", 0),
        case("the second file's position is its own", "seek 1 5 0", 5),
        case("the first file's position is unchanged", "seek 0 0 1", 0),
        case("read from the second file", "read 1 64", _got(5)),
        case("read from the first file", "read 0 64", _got(0)),
        case("read into no memory", "pread 0 64 20 null", "-14 0 -"),
        AbiCase("read into memory that ends half-way", "pread 0 20 93 half", "EFAULT",
             lambda answer: answer.split()[0] == "-14"),
        AbiCase("write returns nanoseconds", "write 0 0", "a number of 1 or more", _positive),
        case("lseek for write", f"seek 0 {min(top, 90)} 0", min(top, 90)),
        AbiCase("write ignores the data", "write 0 100", "a number of 1 or more", _positive),
        case("write leaves the position unchanged", "seek 0 0 1", min(top, 90)),
        AbiCase("pwrite uses its own n", "pwrite 0 1 3", "a number of 1 or more", _positive),
        case("pwrite above max_n", f"pwrite 0 1 {top + 1}", -22),
        case("the clock off", "store ktime_measure 0", 1),
        case("ktime_measure shows this", "show ktime_measure", "0 0"),
        case("write accepts the data", "write 0 7", 7),
        case("write accepts no data", "write 0 0", 0),
        case("pwrite above max_n, clock off", f"pwrite 0 1 {top + 1}", -22),
        case("ktime_measure refuses 2", "store ktime_measure 2", -22),
        case("ktime_measure refuses 256", "store ktime_measure 256", -22),
        case("ktime_measure refuses -1", "store ktime_measure -1", -22),
        case("ktime_measure refuses words", "store ktime_measure on", -22),
        case("ktime_measure is unchanged", "show ktime_measure", "0 0"),
        case("the clock on", "store ktime_measure 1", 1),
        AbiCase("write measures again", "write 0 7", "a number of 1 or more", _positive),
        case("ioctl 0", "ioctl 0 0", -25),
        case("an ioctl of another device", "ioctl 0 0x5401", -25),
        case("our ioctl with another size", "ioctl 0 0xc0084601", -25),
        measured("measure F(10) once", 10, 0, 1, 0),
        measured("measure F(90) seven times", 90, 0, 7, 12345678901234567),
        measured("measure F(93) down to F(89), in turn", 93, 4, 12, 1),
        measured("measure F(max_n)", top, 0, 1, 3),
        measure("measure above max_n", f"n={top + 1}", -22),
        measure("measure no repetition", "n=10 repeat=0", -22),
        measure("measure too many", f"n=10 repeat={MAX_REPEAT + 1}", -22),
        measure("measure a spread below 0", "n=10 spread=11", -22),
        measure("measure with a flag", "n=10 flags=1", -22),
        measure("measure with another size", "n=10 size=64", -22),
        measure("measure with a reserved field", "n=10 reserved=1", -22),
        measure("measure into no memory", "n=10 address=0", -14),
        case("open to read", "open 2 r", 0),
        case("write to a file opened for reading", "write 2 1", -9),
        case("open to write", "open 3 w", 0),
        case("read from a file opened for writing", "read 3 64", "-9 0 -"),
        case("close", "close 3", 0),
        case("close", "close 2", 0),
        case("close", "close 1", 0),
        case("the first file still answers", "pread 0 64 50", _got(50)),
        case("close", "close 0", 0),
    ]  # fmt: skip
