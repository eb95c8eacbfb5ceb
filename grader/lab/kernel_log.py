# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find problems in a kernel log, and the function and source line that caused them."""

from __future__ import annotations

import re
import subprocess

from grader.base.finding import Code, Finding
from grader.base.printable import decoded
from grader.lab import log_diagnostics
from grader.lab.module import Module, large_frame

# The kernel prints these messages for every module that is not part of its source tree.
HARMLESS = re.compile(
    r": loading out-of-tree module taints kernel"
    r"|: module verification failed: signature and/or required key missing"
)
SUSPECT = re.compile(
    r"\bBUG\b|\bWARNING\b|\bOops\b|Kernel panic|cut here|Kernel mode fault|general protection"
    r"|KASAN|UBSAN|kmemleak|possible (?:circular|recursive) locking|inconsistent lock state"
    r"|sleeping function|soft lockup|rcu.*stall|Unable to handle|unable to handle"
    r"|segfault|Out of memory|page allocation failure|cannot create duplicate"
)
# A warning contains file:line and function+...; the order of these parts depends on the kernel's
# version.
WARNED = re.compile(r"WARNING: (?:CPU.* at )?(\S+:\d+)(?: at)? ([A-Za-z_]\w*)[\w.]*\+0x")
# The message of user-mode Linux for an access to unmapped memory.
FAULT = re.compile(r"Kernel panic - not syncing: Kernel mode fault at addr (0x[0-9a-f]+), ip .*")


def _text(line: str) -> str:
    """Return a line without its time stamp."""
    return re.sub(r"^\s*(?:<\d+>)?\[\s*\d+\.\d+\]\s?", "", line).rstrip()


def _is_suspect(line: str, module: Module) -> bool:
    """Return whether a line is an error report of the kernel or a message of the module."""
    if line.startswith(module.name) and HARMLESS.match(line, len(module.name)):
        return False
    return bool(SUSPECT.search(line)) or f"{module.name}: " in line


def suspects(console: str, module: Module) -> list[str]:
    """Return the suspect lines of a log: error reports and messages of the module."""
    lines = [_text(line) for line in console.splitlines()]
    return [line for line in lines if _is_suspect(line, module)]


def first_place(console: str, module: Module) -> str:
    """Return the first source line of the module in the log: "in function, file:line" or "".

    If this line is in a file of the kit, also return the two calls that lead there from other
    files, because the first of them may be in a function that the learner did not write.
    """
    kits = tuple(f"{label}/" for label in module.support)
    first, callers = "", list[str]()
    for symbol, offset, size in log_diagnostics.frames(console, module.name):
        function, source = source_line(module, symbol, offset, size)
        frame = f"{function}, {source}"
        if not source:
            continue
        if source.startswith(kits):
            first = first or frame
        elif frame not in callers:
            callers.append(frame)
        if len(callers) == (2 if first else 1):
            break
    shown = ", called from ".join([first, *callers] if first else callers)
    return f"in {shown}" if shown else ""


def source_line(module: Module, symbol: str, offset: int, size: int) -> tuple[str, str]:
    """Return the function and file:line of an offset into a symbol; "" if not known.

    size: the symbol's size as the kernel prints it. It selects the right symbol if two files have
    functions with the same name.
    """
    listing = decoded(
        subprocess.run(["objdump", "-t", str(module.path)], capture_output=True).stdout
    )
    pattern = rf"^([0-9a-f]+) .{{5}} F (\S+)\t([0-9a-f]+) (?:\.\w+ )?{re.escape(symbol)}$"
    found = re.findall(pattern, listing, re.MULTILINE)
    if not found:
        return "", ""
    value, section, _ = min(found, key=lambda symbol: abs(int(symbol[2], 16) - size))
    address = hex(int(value, 16) + offset)
    answer = subprocess.run(
        ["addr2line", "-f", "-i", "-j", section, "-e", str(module.path), address],
        capture_output=True,
    )
    lines = decoded(answer.stdout).splitlines()
    # addr2line prints the innermost inlined function first.
    for function, place in zip(lines[::2], lines[1::2]):
        short = _short(re.sub(r" \(discriminator \d+\)", "", place), module)
        if short:
            return function.split(".")[0], short
    return "", ""


def _short(place: str, module: Module) -> str:
    """Shorten a path of the debug information to the module's label; "" if it has no label."""
    for label in (*module.own, *module.support):
        match = re.search(rf"(?:^|/)({re.escape(label)}/[\w+-]+\.[ch]:\d+)$", place)
        if match:
            return match[1]
    return ""


def excerpt(console: str, module: Module, max_lines: int = 30) -> str:
    """Return at most max_lines lines from the first suspect line on, or else from the end."""
    lines = [_text(line) for line in console.splitlines()]
    for i, line in enumerate(lines):
        if _is_suspect(line, module):
            part = lines[i : i + max_lines]
            return "\n".join(part + (["..."] if len(lines) > i + max_lines else []))
    return "\n".join(lines[-max_lines:])


def _cause(line: str, console: str, module: Module) -> str:
    """Return a readable form of a line of the log, with the source line that it refers to."""
    warned = WARNED.search(line)
    if warned:
        return f"WARNING in {warned[2]}, {warned[1]}"
    fault = FAULT.fullmatch(line)
    if fault:
        address = int(fault[1], 16)
        line = f"{'a null' if address < 4096 else 'a bad'} pointer is followed"
        if not address:
            # UML also prints 0 for a non-canonical address, because the processor does not report
            # that address.
            line += ", or an index is far outside of its array"
        line += f" (address {fault[1]})"
    line = line.replace("Kernel panic - not syncing: ", "kernel panic: ")
    # User-mode Linux reports a processor exception as a signal: 8 is SIGFPE, 4 SIGILL, 7 SIGBUS.
    line = line.replace("Kernel mode signal 8", "an arithmetic fault, such as division by zero")
    line = line.replace("Kernel mode signal 4", "an invalid instruction")
    line = line.replace(
        "Kernel mode signal 7",
        "no space is left for the machine's memory: free some in /dev/shm, or set TMPDIR",
    )
    if line.startswith(f"{module.name}: "):
        return line  # Omit the stack, because it is unrelated to a message of the module itself.
    place = first_place(console, module)
    known = place.rsplit(", ", 1)[-1] in line
    return f"{line} {place}" if place and not known else line


def log_context(module: Module) -> log_diagnostics.LogContext:
    """Return the context that log_diagnostics needs to read a log for a module."""
    return log_diagnostics.LogContext(
        module.name,
        module.log_patterns,
        lambda symbol, offset, size: source_line(module, symbol, offset, size),
    )


def _finding(status: str, line: str, console: str, module: Module) -> Finding:
    """Return the finding for a line of the log, with an excerpt and its explanation."""
    meaning = log_diagnostics.sentence(console, log_context(module))
    text = excerpt(console, module)
    if meaning:
        text = f"What it means: {meaning}.\n{text}"
    leak = Code.LEAK if re.search(module.log_patterns.leak, line) else None
    return Finding(status, _cause(line, console, module), text, kind=leak)


def stack(console: str, module: Module) -> str:
    """Return a hint about the stack if the machine probably ended by its overflow, or ""."""
    frame = large_frame(module)
    if re.search(log_diagnostics.OVERFLOW, console) or (frame and not first_place(console, module)):
        return frame or log_diagnostics.STACK
    return ""


def crash(console: str, module: Module) -> Finding:
    """Return the finding for a machine that has ended."""
    lines = suspects(console, module)
    # Prefer the first report, because it is more precise than the panic that follows it.
    first = [x for x in lines if x.startswith(("BUG:", "Oops:", "kernel BUG", "WARNING:"))]
    panics = [x for x in lines if "Kernel panic" in x or "Kernel mode fault" in x]
    large = stack(console, module)
    if large:
        message = f"the stack has probably overflowed: {large}"
        return Finding("crashed", message, excerpt(console, module))
    if not lines:
        texts = [_text(line) for line in console.splitlines()]
        last = [text for text in texts if text and not HARMLESS.search(text)][-1:]
        message = f"; the last line of its log: {last[0]}" if last else " and printed nothing"
        return Finding("crashed", f"the machine ended{message}", excerpt(console, module))
    return _finding("crashed", (first or panics or lines)[0], console, module)


def first_problem(console: str, module: Module) -> Finding | None:
    """Return the first problem in the log of a machine that is still up; None if it is clean."""
    lines = [line for line in suspects(console, module) if "cut here" not in line]
    if not lines:
        return None
    return _finding("dirty-log", lines[0], console, module)
