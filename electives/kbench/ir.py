# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check and rewrite LLVM IR as text: reject code that a kernel cannot run, adapt the rest.

Attributes in the IR override the compiler's options (-mno-red-zone has no effect on IR), so the
text is rewritten. Lines keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.base.errors import LabError

# Attributes of each function. An interrupt writes below the stack pointer, so there must be no red
# zone; nothing unwinds the stack; vector registers are not used, because the kernel does not save
# them for itself. A large stack frame is touched page by page, so that an overflow hits the guard
# page and not memory beyond it.
ATTRIBUTES = (
    'nounwind "frame-pointer"="all" "probe-stack"="inline-asm"'
    ' "target-features"="-sse,-sse2,-mmx,-x87,-avx,-3dnow"'
)
NO_RED_ZONE = "noredzone"

_LINKAGE = (
    r"(?:(?:private|internal|available_externally|linkonce_odr|linkonce|weak_odr|weak|common"
    r"|appending|extern_weak|external)\s+)?"
)
_LOCAL = re.compile(r"(?:dso_local|dso_preemptable)\s+")
_NAME = r'@(?:[-\w.$]+|"[^"]*")'
_GLOBAL = re.compile(rf"^({_NAME}\s*=\s*{_LINKAGE})(.*)$", re.DOTALL)
_DEFINE = re.compile(rf"^(define\s+{_LINKAGE})(.*)$", re.DOTALL)
# The names of intrinsics, llvm.NAME, which are not functions.
_DECLARE = re.compile(rf"^(declare\s+{_LINKAGE})((?!.*@llvm\.).*)$", re.DOTALL)
_DROPPED = re.compile(r"^(?:attributes\s+#|target\s|!llvm\.module\.flags\b)")
_GROUP = re.compile(r"\s#\d+\b")
# Words after a function's parameter list that are not attributes.
_BEHIND = re.compile(r"\b(?:section|partition|comdat|gc|prefix|prologue|personality)\b|!\w+|\{")
_QUOTED = re.compile(r'"[^"]*"')
_FLOAT = re.compile(r"(?<![%@!.$\w-])(float|double|half|bfloat|fp128|x86_fp80|ppc_fp128)\b")
_VECTOR = re.compile(r"<\s*(?:vscale\s+x\s+)?\d+\s+x\s")
_OPAQUE = re.compile(r"(?<![%@!.$\w-])ptr\b")


@dataclass(frozen=True)
class Function:
    """A function that the text defines, with its first and last line, counted from 0."""

    name: str
    first: int
    last: int


def _without_comment(line: str) -> str:
    """Return a line without its comment, which begins with a semicolon outside of quotes."""
    quoted = False
    for i, char in enumerate(line):
        if char == '"':
            quoted = not quoted
        elif char == ";" and not quoted:
            return line[:i].rstrip()
    return line.rstrip()


def _unquoted(line: str) -> str:
    return _QUOTED.sub('""', line)


def _lines(text: str) -> list[str]:
    return [_without_comment(line) for line in text.splitlines()]


def functions(text: str) -> list[Function]:
    """Return the functions that the text defines."""
    return list(_functions(_lines(text)))


def _functions(lines: list[str]) -> Iterator[Function]:
    i = 0
    while i < len(lines):
        if lines[i].startswith("define"):
            head = lines[i]
            end = i
            while "{" not in _tail(head) and end + 1 < len(lines):
                end += 1
                head += " " + lines[end]
            name = re.search(_NAME, head)
            first = i
            while end < len(lines) - 1 and lines[end].strip() != "}" and not _one_line(head):
                end += 1
            yield Function(name[0][1:].strip('"') if name else "?", first, end)
            i = end
        i += 1


def _one_line(head: str) -> bool:
    """Return True if a function's body ends on the line on which it begins."""
    return head.rstrip().endswith("}")


def _tail(head: str) -> str:
    """Return the text after a function's parameter list; parentheses in the list are paired."""
    name = re.search(_NAME, head)
    if not name:
        return ""
    at = head.find("(", name.end())
    depth = 0
    for i in range(at, len(head)) if at >= 0 else ():
        depth += {"(": 1, ")": -1}.get(head[i], 0)
        if depth == 0:
            return head[i + 1 :]
    return ""


def rejection(text: str) -> LabError | None:
    """Return the reason why a kernel cannot run the text, and the function; None if it can."""
    lines = _lines(text)
    found = list(_functions(lines))
    for function in found:
        for line in lines[function.first : function.last + 1]:
            plain = _unquoted(line)
            if _VECTOR.search(plain):
                return LabError(
                    f"{function.name} uses vectors, which a kernel does not have",
                    "compile it with -fno-vectorize -fno-slp-vectorize",
                )
            if match := _FLOAT.search(plain):
                return LabError(
                    f"{function.name} uses floating point ({match[1]}), which a kernel does not"
                    " have",
                    "use whole numbers",
                )
    for line in lines:
        if line.startswith("@") and re.search(r"\bthread_local\b", _unquoted(line)):
            name = line.split(maxsplit=1)[0]
            return LabError(
                f"{name} is a variable of each thread, which a kernel does not have",
                "make it global",
            )
        if line.startswith("module asm"):
            return LabError("the program has assembly outside of its functions", "remove it")
    if not any(function.name == "main" for function in found):
        return LabError("the program has no function main", "define it")
    return None


def function_at(text: str, line: int) -> str:
    """Return the function that contains a line, counted from 1; "" if there is none."""
    return next((f.name for f in functions(text) if f.first <= line - 1 <= f.last), "")


def has_opaque_pointers(text: str) -> bool:
    """Return True if the text uses opaque pointers ("ptr"), as LLVM 15 and later do."""
    return any(_OPAQUE.search(_unquoted(line)) for line in _lines(text))


def rewritten(text: str, red_zone: bool = False, endbr: bool = False) -> str:
    """Return the text adapted to a kernel.

    red_zone: keep the red zone, to show its effect. endbr: mark functions as valid targets of
    indirect calls, for computers that check these targets.
    """
    lines = _lines(text)
    made = []
    attributes = ATTRIBUTES if red_zone else f"{NO_RED_ZONE} {ATTRIBUTES}"
    i = 0
    while i < len(lines):
        line = lines[i]
        used = 1
        if _DROPPED.match(line):
            line = ""
        elif line.startswith("define"):
            while "{" not in _tail(line) and i + used < len(lines):
                line += " " + lines[i + used]
                used += 1
            line = _head(line, attributes)
        elif match := _GLOBAL.match(line) or _DECLARE.match(line):
            line = match[1] + "dso_local " + _LOCAL.sub("", match[2], count=1)
        made += [_without_groups(line), *[""] * (used - 1)]
        i += used
    if endbr:
        made.append("!llvm.module.flags = !{!999999999}")
        made.append('!999999999 = !{i32 4, !"cf-protection-branch", i32 1}')
    return "\n".join(made) + "\n"


def _without_groups(line: str) -> str:
    """Return a line without references to attribute groups, except inside quotes."""
    parts = re.split(r'("[^"]*")', line)
    return "".join(p if p.startswith('"') else _GROUP.sub("", p) for p in parts)


def _head(line: str, attributes: str) -> str:
    match = _DEFINE.match(line)
    if match is None:  # pragma: no cover - the line begins with define
        raise LabError(f"not the head of a function: {line}", "correct the IR")
    head = match[1] + "dso_local " + _LOCAL.sub("", match[2], count=1)
    tail = _tail(head)
    behind = _BEHIND.search(tail)
    rest = tail[behind.start() :] if behind else tail
    unnamed = re.match(r"\s*(?:local_)?unnamed_addr\b", tail)
    return f"{head[: len(head) - len(tail)]}{unnamed[0] if unnamed else ''} {attributes} {rest}"
