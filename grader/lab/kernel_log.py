# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read a kernel log: is it clean, and if not, which line of which function is to blame."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from grader.lab import log_meaning

# Said of every module that is not part of the kernel's own tree.
HARMLESS = re.compile(
    r"fibdrv: loading out-of-tree module taints kernel"
    r"|fibdrv: module verification failed: signature and/or required key missing"
)
SUSPECT = re.compile(
    r"\bBUG\b|\bWARNING\b|\bOops\b|Kernel panic|cut here|Kernel mode fault|general protection"
    r"|KASAN|UBSAN|kmemleak|possible (?:circular|recursive) locking|inconsistent lock state"
    r"|sleeping function|soft lockup|rcu.*stall|Unable to handle|unable to handle|fibdrv: "
    r"|segfault|Out of memory|page allocation failure|cannot create duplicate"
)
# function+0xoffset/0xsize [fibdrv], where a function that the compiler has split is named
# function.part.0, function.cold or the like
PLACE = re.compile(r"\b([A-Za-z_][\w.]*)\+0x([0-9a-f]+)/0x([0-9a-f]+) \[fibdrv\b")
# A warning names its place: file:line function+...; the order depends on the kernel's age.
WARNED = re.compile(r"WARNING: (?:CPU.* at )?(\S+:\d+)(?: at)? ([A-Za-z_]\w*)[\w.]*\+0x")
# What a user-mode kernel says of an access to memory that is not there
FAULT = re.compile(r"Kernel panic - not syncing: Kernel mode fault at addr (0x[0-9a-f]+), ip .*")


@dataclass(frozen=True)
class Finding:
    """What a log says: one line, and the lines it stands in."""

    cause: str
    excerpt: str


def _text(line: str) -> str:
    """A line without its time stamp."""
    return re.sub(r"^\s*(?:<\d+>)?\[\s*\d+\.\d+\]\s?", "", line).rstrip()


def suspects(console: str) -> list[str]:
    """The lines of a log that should not be there."""
    lines = [_text(line) for line in console.splitlines()]
    return [line for line in lines if SUSPECT.search(line) and not HARMLESS.search(line)]


def where(console: str, module: Path) -> str:
    """The first place in the module that the log names, as "in function, file:line"; or ""."""
    lines = console.splitlines()
    # What the processor was at, before what the stack holds.
    lines = [x for x in lines if "RIP:" in x] + [x for x in lines if "RIP:" not in x]
    first = ""
    for line in lines:
        for symbol, offset, size in PLACE.findall(line):
            # A return address is behind the call: one byte back is within it.
            back = 0 if "RIP:" in line else 1
            function, source = source_line(module, symbol, int(offset, 16) - back, int(size, 16))
            if not source:
                continue
            if not source.startswith("common/"):
                return (
                    f"{first}, called from {function}, {source}"
                    if first
                    else (f"in {function}, {source}")
                )
            first = first or f"in {function}, {source}"
    return first


def source_line(module: Path, symbol: str, offset: int, size: int) -> tuple[str, str]:
    """Function and file:line of an offset into a symbol of the module; "" if not known.

    size is the symbol's as the kernel prints it: two files may have a function of one name.
    """
    listing = subprocess.run(["objdump", "-t", str(module)], capture_output=True, text=True).stdout
    pattern = rf"^([0-9a-f]+) .{{5}} F (\S+)\t([0-9a-f]+) (?:\.\w+ )?{re.escape(symbol)}$"
    found = re.findall(pattern, listing, re.MULTILINE)
    if not found:
        return "", ""
    value, section, _ = min(found, key=lambda symbol: abs(int(symbol[2], 16) - size))
    address = hex(int(value, 16) + offset)
    answer = subprocess.run(
        ["addr2line", "-f", "-i", "-j", section, "-e", str(module), address],
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    # The innermost of the functions that the compiler has merged here comes first.
    for function, place in zip(answer[::2], answer[1::2]):
        short = _short(re.sub(r" \(discriminator \d+\)", "", place))
        if short:
            return function.split(".")[0], short
    return "", ""


def _short(place: str) -> str:
    """stages/N-name/fib.c:12 out of the path in the debug information; "" if not a stage's."""
    match = re.search(r"((?:tests/)?[\w.+-]+/[0-9]+-[\w.+-]+/[\w+-]+\.[ch]:\d+)$", place)
    match = match or re.search(r"(common/\w+\.[ch]:\d+)$", place)
    return match[1] if match else ""


def excerpt(console: str, most: int = 30) -> str:
    """The log from the first suspect line on, shortened."""
    lines = [_text(line) for line in console.splitlines()]
    for i, line in enumerate(lines):
        if SUSPECT.search(line) and not HARMLESS.search(line):
            part = lines[i : i + most]
            return "\n".join(part + (["..."] if len(lines) > i + most else []))
    return "\n".join(lines[-most:])


def _cause(line: str, console: str, module: Path) -> str:
    """A line of the log, and where in the sources it points to."""
    warned = WARNED.search(line)
    if warned:
        return f"WARNING in {warned[2]}, {warned[1]}"
    fault = FAULT.fullmatch(line)
    if fault:
        null = "a null pointer" if int(fault[1], 16) < 4096 else "a bad pointer"
        line = f"{null} is followed (address {fault[1]})"
    line = line.replace("Kernel panic - not syncing: ", "kernel panic: ")
    # What a user-mode kernel says of a processor's complaint: SIGFPE, SIGILL
    line = line.replace("Kernel mode signal 8", "an arithmetic fault, such as division by zero")
    line = line.replace("Kernel mode signal 4", "an instruction that there is none of")
    line = line.replace(
        "Kernel mode signal 7",
        "there is no room left for the machine's memory: free some in /dev/shm, or set TMPDIR",
    )
    if line.startswith("fibdrv: "):
        return line  # the driver says it of the stage, whose code is not on the stack
    place = where(console, module)
    known = place.rsplit(", ", 1)[-1] in line
    return f"{line} {place}" if place and not known else line


def _finding(line: str, console: str, module: Path) -> Finding:
    """A line of the log, the lines around it, and what they mean."""
    meaning = log_meaning.sentence(
        console, lambda symbol, offset, size: source_line(module, symbol, offset, size)
    )
    text = excerpt(console)
    if meaning:
        text = f"What it means: {meaning}.\n{text}"
    return Finding(_cause(line, console, module), text)


def crash(console: str, module: Path) -> Finding:
    """Why a machine ended."""
    lines = suspects(console)
    # The first complaint says more than the panic it leads to.
    first = [x for x in lines if x.startswith(("BUG:", "Oops:", "kernel BUG", "WARNING:"))]
    panics = [x for x in lines if "Kernel panic" in x or "Kernel mode fault" in x]
    if not lines:
        texts = [_text(line) for line in console.splitlines()]
        last = [text for text in texts if text and not HARMLESS.search(text)][-1:]
        said = f"; its last words: {last[0]}" if last else " and said nothing"
        return Finding(f"the machine ended{said}", excerpt(console))
    return _finding((first or panics or lines)[0], console, module)


def dirt(console: str, module: Path) -> Finding | None:
    """What is wrong with the log of a machine that is still up; None if it is clean."""
    lines = [line for line in suspects(console) if "cut here" not in line]
    if not lines:
        return None
    return _finding(lines[0], console, module)
