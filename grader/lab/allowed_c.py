# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reject C that behaves differently in different builds, or that hides the file it comes from.

The grader compiles one preprocessed text of a submission as kernel code, as a program and with
sanitizers. The preprocessing removes all macros, so no macro can tell these builds apart. This
module rejects the other ways to do so: attributes that turn sanitizers off, built-in functions
whose value depends on compiler options, names that refer to symbols of other files, and
conditionals of the assembler.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

# Rejected attributes, without leading and trailing underscores.
_ATTRIBUTES = re.compile(
    r"no_sanitize\w*|no_address_safety_analysis|no_instrument_function|disable_sanitizer\w*"
    r"|no_profile_instrument_function|ifunc|alias|weakref|weak|symver|target(?:_clones)?|copy"
)
# Rejected attributes whose names are also common identifiers, so they are rejected only as
# attributes.
_COMMON = ("alias", "weak", "copy", "target")
# Words that are rejected everywhere.
_WORDS = re.compile(
    r"__builtin_(alloca\w*|constant_p|(dynamic_)?object_size|has_attribute|return_address"
    r"|extract_return_addr|\w*cpu_(is|supports|init))"
    r"|__(asan|ubsan|kasan|kcsan|tsan|sanitizer)_\w+"
)
# The sections of init and exit functions and of what describes a module.
_SECTION = re.compile(r'"\.(?:init|exit|ref)\.(?:text|data|rodata)"|"\.(?:modinfo|discard\.\w+)"')
_PRAGMAS = re.compile(r"weak|redefine_extname|GCC\s+(system_header|visibility|target)|clang\b")
# Rejected assembler directives: a conditional could test for the symbols of a sanitizer, and a
# macro could expand to such a conditional.
_DIRECTIVES = re.compile(
    r"(?:^|[;\n:])\s*(\.(?:if|else|end(?:if|m)|macro|irp|include|incbin|altmacro|weak|set\b|equ"
    r"|symver|loc\b|file\b)\w*|\.?%\w*\s|\.%)|^\s*(#)",
    re.M | re.I,
)
# An instruction of an asm template that accesses memory through a register. The instruction lea
# computes an address only.
_THROUGH_REGISTER = re.compile(
    r"(?:^|[;\n])(?!\s*lea)(?:[^;\n]*\(\s*%|\s*(?:rep\w*\s+)?(?:movs|stos|lods|scas|cmps)[bwlq]\b)"
)
# An operand or clobber that tells the compiler that an asm statement accesses memory.
_MEMORY = re.compile(r'"(?:memory|[=+&]*[moV])"')
# A reference to an operand in an asm template, and the constraint of an operand with its name.
_REFERENCE = re.compile(r"%[a-zA-Z]?(?:(\d)|\[(\w+)\])")
# Instructions that write rax and rdx, and instructions that write none of their operands.
_WIDE = re.compile(r"\s*(?:i?mul|i?div)[bwlq]?\s+[^,]*$")
_ONLY_READS = re.compile(r"\s*(?:cmp|test|bt|push)[bwlq]?\b")
_ESCAPED = {"n": "\n", "t": "\t", '"': '"'}
_REGISTER = re.compile(r"%?[er]?([abcd]x|[sd]i|[sb]p|[abcd]l|[sd]il)|r\d+[dwb]?|[xw]\d+")
_TOKEN = re.compile(
    r"\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|(?:u8|[LuU])?\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|[A-Za-z_$][\w$]*|\.?\d(?:[eEpP][+-]|[\w.])*|.",
    re.S,
)
_MARKER = re.compile(r"# (\d+) \"((?:\\.|[^\"\\])*)\"((?: \d)*)")
_DIRECTIVE = re.compile(r"\s*(?:#|%:)\s*(?:line\b|\d)")
_INCLUDE = re.compile(r"\s*(?:#|%:)\s*include\b")
# The headers that a file may include: of the kernel, and of its own folder.
_HEADER = re.compile(r"<(?!/)(?!.*\.\.)[\w./-]+>|\"[\w-]+\.h\"")
_INCLUDING = {"include", "include_next", "import", "embed"}
_OF_C = {*_INCLUDING, "define", "undef", "pragma"}
_INCLUDING_ASSEMBLY = re.compile(r"\.inc(?:lude|bin)\b", re.I)
# Assembler directives that make other lines, which could include a file.
_GENERATING = re.compile(r"\.(?:macro|irpc?|rept|altmacro)\b", re.I)
_CONDITION = re.compile(r"\s*(?:#|%:)\s*((?:el)?if(?:n?def)?|elifn?def)\b\s*(.*)")
# The directives that a fragment of a kernel file may contain.
_CONDITIONALS = {"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif", ""}
_ANY_DIRECTIVE = re.compile(r"\s*(?:#|%:)\s*(\w*)")
# A condition with the same value in all builds for a kernel release.
_ON_RELEASE = re.compile(r"(?:LINUX_VERSION_CODE|KERNEL_VERSION|defined|[\d\s()<>=!&|,])+")
# Macros that differ between the kernels, or between the builds for one kernel.
_BUILDS = re.compile(
    r"CONFIG_\w+|IS_(?:ENABLED|BUILTIN|MODULE|REACHABLE)|___?is_defined|__SANITIZE_\w+|__has_\w+"
    r"|__OPTIMIZE\w*|__INCLUDE_LEVEL__|__BASE_FILE__|__COUNTER__|__KERNEL__|MODULE|NR_CPUS"
    r"|KBUILD_(?!MODNAME)\w+|UTS_\w+"
)


@dataclass(frozen=True)
class Token:
    """A word, string or punctuator of the source text, with its position."""

    text: str
    file: str
    line: int


# A comment without an end goes to the end of the text. Otherwise the search for its end would take
# time quadratic in the number of such comments.
_COMMENT_OR_STRING = re.compile(
    r"/\*.*?(?:\*/|\Z)|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S
)


# A line continuation; gcc allows blanks between the backslash and the newline.
_DIVIDED = re.compile(r"\\[ \t\v\f\r]*\n")


def _raw_string(source: str) -> int:
    """Return the line of the first raw string, which _TOKEN cannot read, or 0."""
    text, before = _DIVIDED.sub("\0", source), ""
    for match in _TOKEN.finditer(text):
        word = match[0].replace("\0", "")
        if word.startswith('"') and re.fullmatch(r"(u8|[LuU])?R", before):
            return 1 + len(re.findall("[\n\0]", text[: match.start()]))
        before = before + word if not word or re.fullmatch(r"\w+", word + before) else word
    return 0


def _rows(source: str) -> list[tuple[int, str]]:
    """Return the numbered lines of a source, without comments and with continued lines joined."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n\0]", " ", match[0]) if match[0].startswith("/") else match[0]

    plain = _COMMENT_OR_STRING.sub(blank, _DIVIDED.sub("\0", source))
    rows, number = [], 1
    for line in plain.split("\n"):
        rows.append((number, line.replace("\0", "")))
        number += 1 + line.count("\0")
    return rows


def _comment_behind_quote(source: str, quotes: str = "\"'") -> int:
    """Return the line of the first comment that begins behind an unpaired quote, or 0.

    In a part that `#if 0` leaves out, and in `#error`, gcc reads such a quote up to the end of the
    line, so no comment begins there, and the following lines are code.
    """
    text, end, unpaired = _DIVIDED.sub("\0", source), 0, False
    for match in _COMMENT_OR_STRING.finditer(text):
        _, newline, between = text[end : match.start()].rpartition("\n")
        unpaired = any(quote in between for quote in quotes) or (unpaired and not newline)
        if unpaired and match[0].startswith("/*"):
            return 1 + len(re.findall("[\n\0]", text[: match.start()]))
        end, unpaired = match.end(), unpaired and "\n" not in match[0]
    return 0


def words(source: str) -> set[str]:
    """Return the words of a source, except in comments, strings and names of included files."""
    found: set[str] = set()
    for _, line in _rows(source):
        if not _INCLUDE.match(line):
            found.update(word for word in _TOKEN.findall(line) if re.match(r"[A-Za-z_$]", word))
    return found


def refused_in_source(name: str, source: str) -> str:
    """Return an error message for a construct that must not reach the preprocessor, or ""."""
    if number := _raw_string(source):
        return _refusal(Token("", name, number), "a raw string")
    if number := _comment_behind_quote(source):
        return _refusal(Token("", name, number), "a comment behind an unpaired quote")
    for number, line in _rows(source):
        if _DIRECTIVE.match(line):
            return _refusal(Token("", name, number), "#line")
    return ""


def refused_in_fragment(name: str, source: str) -> str:
    """Return an error message for a construct that a part of a kernel file must not have, or "".

    The fragment stands in the middle of the file, so its macros and pragmas would change the code
    of the kernel after it.
    """
    if message := refused_in_source(name, source):
        return message
    for number, line in _rows(source):
        directive = _ANY_DIRECTIVE.match(line)
        if directive and directive[1] not in _CONDITIONALS:
            refused = f"#{directive[1]}"
        elif "_Pragma" in _TOKEN.findall(line):
            refused = "_Pragma"
        else:
            continue
        return f"{name}:{number}: {refused} would change the kernel's code after it; remove it"
    return ""


def included_elsewhere(name: str, source: str) -> str:
    """Return an error message for an inclusion of a file of another folder, or "".

    The kit's own solution is such a file. The source may be in C or in assembly. The directives of
    assembly may not be made by macros of C.
    """
    assembly = name.endswith(".S")
    # In assembly, an apostrophe may stand before a character, or in a comment.
    if number := _comment_behind_quote(source, '"' if assembly else "\"'"):
        return _refusal(Token("", name, number), "a comment behind an unpaired quote")
    for number, line in _rows(source):
        directive = _ANY_DIRECTIVE.match(line)
        if assembly and directive and directive[1] in _OF_C:
            return _refusal(Token("", name, number), f"#{directive[1]} in assembly")
        if directive and directive[1] in _INCLUDING:
            foreign = not _HEADER.fullmatch(line[directive.end() :].strip())
        else:
            text = re.sub(r'"\s*"', "", line)
            foreign = bool(_INCLUDING_ASSEMBLY.search(text))
            if found := assembly and _GENERATING.search(text):
                return _refusal(Token("", name, number), found[0])
        if foreign:
            what = " ".join(line.split())
            return f"{name}:{number}: {what} includes a file of another folder; remove it"
    return ""


def refused_with_kernel_headers(name: str, source: str, kits: str = "") -> str:
    """Return an error message for a construct that can tell the builds of a file apart, or "".

    The file includes kernel headers, so each build preprocesses it separately. kits: the kit's
    version of the file; the conditions in this version are allowed.
    """
    if message := refused_in_source(name, source) or included_elsewhere(name, source):
        return message
    allowed = {line.strip() for line in kits.splitlines()}
    known = {*re.findall(r"\w+", kits)}
    rows = _rows(source)
    for i, (number, line) in enumerate(rows):
        condition = _CONDITION.match(line)
        if condition and line.strip() not in allowed:
            following = rows[i + 1][1] if i + 1 < len(rows) else ""
            guard = rf"\s*#\s*define\s+{re.escape(condition[2])}\s*"
            if not re.fullmatch(guard, following) and not _ON_RELEASE.fullmatch(condition[2]):
                what = f"#{condition[1]} {condition[2].strip()}"
                return _refusal(Token("", name, number), what)
        for word in _TOKEN.findall(line):
            attribute = _ATTRIBUTES.fullmatch(word.strip("_")) and word.strip("_") not in _COMMON
            if word not in known and (_BUILDS.fullmatch(word) or attribute):
                return _refusal(Token("", name, number), word)
        for joins in ("##", "%:%:"):
            if joins in line:
                return _refusal(Token("", name, number), joins)
    return ""


def markers(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the file name and the flags of each line marker of a preprocessed text."""
    for line in text.split("\n"):
        if match := _MARKER.fullmatch(line):
            yield match[2], match[3].split()


def forged(text: str) -> bool:
    """Return whether a line marker changes the file name without entering or leaving a file."""
    open_files: list[str] = []
    for name, flags in markers(text):
        if not open_files:
            open_files = [name]
        elif "1" in flags:
            open_files.append(name)
        elif "2" in flags:
            open_files.pop()
            if not open_files or open_files[-1] != name:
                return True
        elif name != open_files[-1]:
            return True
    return False


def lines(text: str, own: str) -> Iterator[tuple[str, int, str]]:
    """Yield (file, number, line) for the preprocessed lines from files in the folder own."""
    file, number = "", 0
    for line in text.split("\n"):
        if match := _MARKER.fullmatch(line):
            file, number = match[2], int(match[1])
        else:
            if file.startswith(own):
                yield file, number, line
            number += 1


def differing(text: str, other: str, own: str) -> str:
    """Compare the lines from files in the folder own. Return an error for a difference, or ""."""
    for one, two in itertools.zip_longest(lines(text, own), lines(other, own)):
        if one != two:
            file, number, _ = min(line for line in (one, two) if line)
            return _refusal(Token("", file, number), "a macro that differs between the builds")
    return ""


def tokens(text: str, own: str) -> list[Token]:
    """Return the tokens of the lines from files in the folder own. A pragma is one token."""
    found: list[Token] = []
    for file, number, line in lines(text, own):
        if line.lstrip().startswith("#"):
            found.append(Token(line.strip(), file, number))
            continue
        for match in _TOKEN.finditer(line):
            if not match[0].isspace():
                found.append(Token(match[0], file, number))
    return found


def first_refused(text: str, own: str) -> str:
    """Return an error for the first forbidden construct of a preprocessed text, or ""."""
    found = tokens(text, own)
    for i, token in enumerate(found):
        word = token.text.strip("_")
        if token.text.startswith("#"):
            pragma = re.match(r"#\s*pragma\s+(.*)", token.text)
            if pragma and (match := _PRAGMAS.match(pragma[1])):
                return _refusal(token, f"#pragma {match[0]}")
        elif _WORDS.fullmatch(token.text):
            return _refusal(token, token.text)
        elif word == "attribute" or (token.text == "[" == _text(found, i + 1)):
            for inner in _group(found, i + 1):
                if _ATTRIBUTES.fullmatch(inner.text.strip("_")):
                    return _refusal(inner, inner.text)
        elif word == "asm" and (message := _assembly(found, i)):
            return message
    return ""


def unsanitized(text: str, own: str) -> str:
    """Return an error for an attribute in the folder own that turns a sanitizer off, or "".

    A section can do so: it can make a constant writable, whose accesses the compiler does not
    instrument. Only the sections that the kernel's own macros give are allowed.
    """
    found = tokens(text, own)
    for i, token in enumerate(found):
        if token.text.strip("_") != "attribute":
            continue
        for name, inner in itertools.pairwise([token, *_group(found, i + 1)]):
            if re.match(r"_*(no_sanitize|disable_sanitizer)", inner.text) or (
                name.text.strip("_") == "section" and not _SECTION.fullmatch(inner.text)
            ):
                return _refusal(inner, inner.text)
    return ""


def is_register(word: str) -> bool:
    """Return whether a word in assembly is the name of a register."""
    return _REGISTER.fullmatch(word) is not None


def _assembly(found: list[Token], i: int) -> str:
    """Return an error if the asm statement or asm label that begins at token i is forbidden."""
    group = list(_group(found, i + 1))
    template = ""
    for token in group:
        if not token.text.startswith('"'):
            break
        template += re.sub(r"\\([nt\"])", lambda m: _ESCAPED[m[1]], token.text[1:-1])
    template = re.sub(r"/\*.*?(?:\*/|\Z)", " ", template, flags=re.S)
    if _names(found, i) and not is_register(template):
        return _refusal(found[i], "a name that asm gives")
    if match := _DIRECTIVES.search(template):
        return _refusal(found[i], f"{(match[1] or match[2]).strip()} in assembly")
    if "\\" in template:
        return _refusal(found[i], "an escape sequence in assembly")
    if output := _written_early(template, group):
        return (
            f"{found[i].file}:{found[i].line}: assembly writes output {output} before it has read"
            " all inputs, and one of them may be in the same register; write & after the ="
        )
    if _THROUGH_REGISTER.search(template) and not any(_MEMORY.fullmatch(x.text) for x in group):
        return (
            f"{found[i].file}:{found[i].line}: assembly accesses memory, and the compiler does not"
            ' know that; add "memory" to its clobbers'
        )
    return ""


def _written_early(template: str, group: list[Token]) -> str:
    """Return the number of an output that an asm statement writes before it reads an input, or "".

    An output with & never shares its register with an input, and neither does an output that is an
    input, too.
    """
    outputs, inputs = _operands(group)
    tied = {constraint.strip("%") for _, constraint in inputs}
    names = {name: i for i, (name, _) in enumerate([*outputs, *inputs]) if name}
    shared = {
        i
        for i, (_, constraint) in enumerate(outputs)
        if constraint.startswith("=") and "&" not in constraint and str(i) not in tied
    }
    early: set[int] = set()
    for instruction in re.split(r"[;\n]", template):
        used = [
            names.get(m[2], -1) if m[2] else int(m[1]) for m in _REFERENCE.finditer(instruction)
        ]
        if early and any(place >= len(outputs) for place in used):
            return str(min(early))
        if _WIDE.match(instruction):
            early |= {i for i in shared if re.search("[ad]", outputs[i][1])}
        elif used and used[-1] in shared and not _ONLY_READS.match(instruction):
            early.add(used[-1])
    return ""


def _operands(group: list[Token]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the names and constraints of an asm statement's outputs and inputs.

    group has no brackets, so the name of an operand stands before its constraint.
    """
    sections: list[list[tuple[str, str]]] = [[]]
    for before, token in itertools.pairwise(group):
        if token.text == ":":
            sections.append([])
        elif token.text.startswith('"'):
            name = before.text if re.fullmatch(r"\w+", before.text) else ""
            sections[-1].append((name, token.text.strip('"')))
    _, outputs, inputs = [*sections, [], []][:3]
    return outputs, inputs


def _names(found: list[Token], i: int) -> bool:
    """Return whether the asm at token i is a label that names the declaration before it."""
    before = _text(found, i - 1) if i else ";"
    if before in ("]", ")"):
        depth, head = 0, i - 1
        while head > 0:
            depth += {")": 1, "]": 1, "(": -1, "[": -1}.get(found[head].text, 0)
            head -= 1
            if not depth:
                break
        return found[head].text not in ("if", "while", "for", "switch")
    return re.fullmatch(r"[A-Za-z_]\w*", before) is not None and before not in ("else", "do")


def _text(found: list[Token], i: int) -> str:
    return found[i].text if i < len(found) else ""


def _group(found: list[Token], i: int) -> Iterator[Token]:
    """Yield the tokens between the next pair of brackets."""
    depth = 0
    for token in found[i:]:
        if token.text in ("(", "["):
            depth += 1
        elif token.text in (")", "]"):
            depth -= 1
            if depth <= 0:
                return
        elif depth:
            yield token
        elif token.text not in ("volatile", "__volatile__", "goto", "inline", "__inline__"):
            return


def _refusal(token: Token, what: str) -> str:
    return f"{token.file}:{token.line}: {what} is not allowed, all builds have one text; remove it"
