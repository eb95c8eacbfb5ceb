# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find the definitions and declarations at file scope of a C source, and the names in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from grader.course import skeleton

_COMMENT_OR_STRING = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S
)
_GUARD = re.compile(r"\s*#\s*ifndef\s+(\w+)\s*\n\s*#\s*define\s+\1\b[^\n]*\n")
_DEFINE = re.compile(r"#\s*define\s+(\w+)(?:[^\n]*\\\n)*[^\n]*\n?")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|endif)\w*[^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Definition:
    """A macro, type, variable or function at file scope, or a conditional block of these."""

    names: frozenset[str]
    begin: int  # offset of the comment directly above, or of the definition itself
    end: int
    static: bool


def names_in(text: str) -> set[str]:
    """Return the identifiers in a text, without those in comments and strings."""
    return set(re.findall(r"\b[A-Za-z_]\w*", _bare(text)))


# Functions are brought over one by one, and each time the definitions of the same texts are needed.
@lru_cache(maxsize=256)
def definitions(source: str) -> tuple[Definition, ...]:
    """Return the definitions in a source in their order, without the macro of an include guard."""
    bare = _bare(source)
    guard = _GUARD.match(bare)
    at = guard.end() if guard else 0
    found = []
    while at < len(bare):
        end, names = _next(bare, at)
        if names:
            above = skeleton.comment_above(source, skeleton.Span(at, 0, 0))
            static = re.match(r"static\b", bare[at:]) is not None
            found.append(Definition(frozenset(names), above, end, static))
        at = end
    return tuple(found)


def _bare(source: str) -> str:
    """Return the source with each character of comments and strings replaced by a blank."""
    return _COMMENT_OR_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def _next(bare: str, at: int) -> tuple[int, set[str]]:
    """Return the end of the line or definition at an offset, and the names that it defines."""
    line_end = bare.find("\n", at) + 1 or len(bare)
    line = bare[at:line_end].strip()
    if macro := _DEFINE.match(bare, at):
        return macro.end(), {macro[1]}
    if re.match(r"#\s*if", line):
        end, inner = _condition(bare, at)
        return end, {name for one in definitions(inner) for name in one.names}
    if not line or line.startswith("#"):
        return line_end, set()
    end = _declaration_end(bare, at)
    return end, _declared(bare[at:end])


def _condition(bare: str, at: int) -> tuple[int, str]:
    """Return the end of the conditional block at an offset, and the lines in it."""
    depth, first = 0, 0
    for match in _CONDITION.finditer(bare, at):
        first = first or match.end()
        depth += 1 if match[1] == "if" else -1
        if not depth:
            return match.end(), bare[first : match.start()]
    return len(bare), ""


def _declaration_end(bare: str, at: int) -> int:
    """Return the offset after the last line of the declaration or function at an offset."""
    depth = 0
    for match in re.finditer(r"[{}();]", bare[at:]):
        line_end = bare.find("\n", at + match.end()) + 1 or len(bare)
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(match[0], 0)
        last = not bare[at + match.end() : line_end].strip()
        if depth == 0 and (match[0] == ";" or (match[0] == "}" and last)):
            return line_end
    return len(bare)


def _declared(text: str) -> set[str]:
    """Return the names that a declaration or a function definition introduces."""
    names = set(re.findall(r"\b(?:struct|union|enum)\s+(\w+)\s*\{", text))
    for constants in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", text):
        names.update(re.findall(r"(?:^|,)\s*(\w+)", constants))
    flat, before = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", text, flags=re.S), ""
    while flat != before:
        before, flat = flat, re.sub(r"\{[^{}]*\}", "", flat)
    head = re.split(r"[=;]", flat)[0].strip()
    is_function = "(" in head and not head.startswith("typedef")
    name = re.search(r"(\w+)\s*\(" if is_function else r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", head)
    return names | ({name[1]} if name else set()) - {"struct", "union", "enum"}
