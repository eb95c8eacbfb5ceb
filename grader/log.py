# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read a kernel log: is it clean, and if not, which line of which function is to blame."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Said of every module that is not part of the kernel's own tree.
HARMLESS = re.compile(
    r"fibdrv: loading out-of-tree module taints kernel"
    r"|fibdrv: module verification failed: signature and/or required key missing"
)
SUSPECT = re.compile(
    r"\bBUG\b|\bWARNING\b|\bOops\b|Kernel panic|cut here|Kernel mode fault|general protection"
    r"|KASAN|UBSAN|kmemleak|possible (?:circular|recursive) locking|inconsistent lock state"
    r"|sleeping function|soft lockup|rcu.*stall|Unable to handle|unable to handle|fibdrv: "
    r"|segfault|Out of memory|page allocation failure"
)
# function+0xoffset/0xsize [fibdrv]
PLACE = re.compile(r"\b([A-Za-z_]\w*)(?:\.\w+)*\+0x([0-9a-f]+)/0x[0-9a-f]+(?: \[fibdrv\])?")


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
    """The first place in the module that the log names, as "function, file:line"; or ""."""
    for match in PLACE.finditer(console):
        function, offset = match[1], int(match[2], 16)
        line = source_line(module, function, offset)
        if line:
            return f"in {function}, {line}"
    return ""


def source_line(module: Path, function: str, offset: int) -> str:
    """file:line of an offset into a function of the module, by its debug information; or ""."""
    listing = subprocess.run(["nm", str(module)], capture_output=True, text=True).stdout
    match = re.search(rf"^([0-9a-f]+) [tT] {re.escape(function)}$", listing, re.MULTILINE)
    if not match:
        return ""
    # A return address is behind the call: one byte back is within it.
    address = int(match[1], 16) + offset
    answer = subprocess.run(
        ["addr2line", "-j", _section(module, function), "-e", str(module), hex(address)],
        capture_output=True,
        text=True,
    ).stdout.strip()
    answer = re.sub(r" \(discriminator \d+\)", "", answer)
    return "" if answer.startswith("??") or answer.endswith(":?") else _short(answer)


def _section(module: Path, function: str) -> str:
    """The section a function is in: .text, .init.text, .text.unlikely."""
    listing = subprocess.run(["objdump", "-t", str(module)], capture_output=True, text=True).stdout
    match = re.search(rf"^\S+ .{{7}} (\S+)\s+\S+ (?:\S+ )?{re.escape(function)}$", listing, re.M)
    return match[1] if match else ".text"


def _short(place: str) -> str:
    """stages/N-name/fib.c:12 out of whatever path the debug information has."""
    match = re.search(r"((?:[\w.+-]+/)?[0-9]+-[\w.+-]+/[\w+-]+\.[ch]:\d+)$", place)
    match = match or re.search(r"((?:common|kit)/\w+\.[ch]:\d+)$", place)
    return match[1] if match else place


def excerpt(console: str, most: int = 30) -> str:
    """The log from the first suspect line on, shortened."""
    lines = [_text(line) for line in console.splitlines()]
    for i, line in enumerate(lines):
        if SUSPECT.search(line) and not HARMLESS.search(line):
            part = lines[i : i + most]
            return "\n".join(part + (["..."] if len(lines) > i + most else []))
    return "\n".join(lines[-most:])


def crash(console: str, module: Path) -> Finding:
    """Why a machine ended."""
    lines = suspects(console)
    panics = [x for x in lines if "Kernel panic" in x or "Kernel mode fault" in x]
    # The first complaint says more than the panic it leads to.
    first = next((x for x in lines if x.startswith(("BUG:", "Oops:", "kernel BUG"))), "")
    what = first or (panics or lines or ["the machine ended and said nothing"])[0]
    place = where(console, module)
    return Finding(f"{what}{' - ' + place if place else ''}", excerpt(console))


def dirt(console: str, module: Path) -> Finding | None:
    """What is wrong with the log of a machine that is still up; None if it is clean."""
    lines = [line for line in suspects(console) if "cut here" not in line]
    if not lines:
        return None
    place = where(console, module)
    return Finding(f"{lines[0]}{' - ' + place if place else ''}", excerpt(console))
