# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reject a file with a task that reaches beyond its task: what it names, includes and contains.

A source can hide a word behind macros, so the checks read the preprocessed text and the object.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from electives import imports, source_folder
from electives.kbench import objects
from grader.base.errors import LabError
from grader.lab import allowed_c
from grader.lab.module import LIMITS, Kernel, Module, environment
from grader.sandbox import SandboxView, kernel_build_paths, run

# The symbols of other files of the module that a file with a task may use. A heap that sees the
# input could tell the tests apart, and end the program before it allocates.
OTHERS = {
    "heap.c": r"kbench_heap|kbench_give_up",
    "input.c": r"kbench_input\w*|kbench_give_up|kb_std(in|out|err)",
    "trampoline.S": r"kbench_begin",
}
# The symbols that the kit's version of the file defines for other files. The linker would prefer
# another definition to a weak one, so a weak name is a way to use a name of another file.
DEFINED = {
    "heap.c": r"kb_([mc]|re)alloc|kb_free|kbench_heap_left",
    "input.c": r"kb_scanf|kb_f?getc|kb_getchar|kb_fgets",
    "trampoline.S": r"kbench_on_stack|kbench_leave",
}
# Functions for text and for copying memory. A heap of kmalloc would not be the heap of the task.
SYMBOLS = (
    r"mem(cpy|move|set\d*|cmp|chr|chr_inv|scan)|str\w+|_ctype|skip_spaces"
    r"|v?sn?printf|sort|fortify_panic|__(x86_|stack_chk_|ubsan_|warn_)\w+|__fentry__"
    r"|__SC[TK]__\w+|_?printk|dump_stack"
)
# The most bytes of code and data of a file. The kit's files have less than 8 KB, without the memory
# that the task hands out.
MOST_BYTES = 64 << 10
# The words with a dot that assembly may contain: directives that neither include a file nor make
# other lines, local labels, and names of sections.
_DOTTED = re.compile(
    r"text|data|bss|globa?l|local|type|size|section|pushsection|popsection|previous|hidden"
    r"|balign|align|p2align|skip|space|zero|fill|octa|quad|long|int|short|word|hword|value|byte"
    r"|ascii|asciz|string|lcomm|org|cfi_\w+|set|equ|equiv|L\w+|rodata|note|file|ident|code64"
    r"|intel_syntax|att_syntax"
)
# A line of assembly, apart from its comment: the comment begins at the first # that is not in a
# string. Without backslashes and apostrophes, each quote begins or ends a string.
_ASSEMBLY_LINE = re.compile(r"((?:[^\"'\\#]|\"[^\"\\]*\")*)(?:#.*)?")
_COMMAND = re.compile(r"^(?:saved)?cmd_\S+ :=\s*(.*?)(?: ; .*)?$", re.M)
# Instructions by which a switch may keep the flags of its caller.
_FLAGS = re.compile(r"^.*\t(?:push|pop)fq?\s*$", re.MULTILINE)
_SECTION = re.compile(r"^\s*\[\s*\d+\] \S+\s+\S+\s+\w+ \w+ (\w+) \w+\s+(\w*)A", re.M)
# Attributes whose text the compiler passes on to the assembler.
_PASSED_ON = re.compile(r"section|alias|weakref|ifunc|symver|asm")
# Words of a source that make assembly of the text behind them.
_ASSEMBLY = re.compile(r"\w*asm(?:_\w+|_*)|_*stringify\w*")
# The kernel's macros of these names do so, too. A variable may have such a name, so the words are
# refused only if the preprocessed text has the section that these macros write.
_ALTERNATIVE = re.compile(r"(?:alternative|ALTERNATIVE)\w*")
_ALTERNATIVES = ".altinstructions"
_MOST_APART = 200  # the most tokens of one statement


def refused(made: Module, source: str, shown: str, kernel: Kernel) -> str:
    """Return a message on the first thing that a compiled source may not have, or "".

    source: the name of the file; shown: its path for messages.
    """
    name = Path(source).stem
    allowed, own = re.compile(f"{SYMBOLS}|{OTHERS[source]}"), re.compile(DEFINED[source])
    return (
        text_refused(_preprocessed(made, source, kernel), made.directory, source, shown, kernel)
        or imports.refused(made, None, {name: shown}, allowed, kernel, own)
        or _object_refused(made.directory / f"{name}.o", shown)
    )


def _preprocessed(made: Module, source: str, kernel: Kernel) -> str:
    """Return the preprocessed text of a source, by kbuild's command for its object."""
    record = made.directory / f".{Path(source).stem}.o.cmd"
    match = _COMMAND.search(record.read_text())
    if match is None:
        raise LabError(
            f"this kernel's kbuild compiles {source} in an unknown way", "run make doctor"
        )
    words = [word for word in shlex.split(match[1]) if not word.startswith("-Wp,")]
    words[words.index("-o") + 1] = "-"
    words[words.index("-c")] = "-E"
    read = (*kernel_build_paths(kernel.tree), made.directory)
    view = SandboxView(read=read) if source_folder.submission() else None
    ours = None if view else environment()
    result = run(words, LIMITS, view, cwd=kernel.tree, environment=ours)
    if result.status:
        raise LabError(f"{source} cannot be preprocessed: {result.cause}", "run make doctor")
    return result.text


def text_refused(text: str, folder: Path, source: str, shown: str, kernel: Kernel) -> str:
    """Return a message on the first thing that a preprocessed source may not have, or "".

    folder: holds the source.
    """
    own = str(folder / source)
    trees = tuple(f"{tree}/" for tree in (folder, kernel.tree, *kernel_build_paths(kernel.tree)))
    for file, _ in allowed_c.markers(text):
        if file.startswith("/") and not file.startswith((own, *trees)):
            return f"{shown} includes {file}, a file of another folder; remove it"
        if Path(file).suffix in (".c", ".S") and file != own:
            return f"{shown} includes {file}, which is no header; remove it"
    if source.endswith(".S"):
        for number, line in without_comments(allowed_c.lines(text, own)):
            for word in re.findall(r"(?<![\w)\]])\.\s*([A-Za-z_]\w*)", line):
                if not _DOTTED.fullmatch(word.lower() if word[0] != "L" else word):
                    return f"{shown}:{number}: .{word} is not allowed, no task needs it; remove it"
        return ""
    plain = (folder / source).read_text(errors="replace")
    expanded = any(_ALTERNATIVES in line for _, _, line in allowed_c.lines(text, own))
    for word in sorted(allowed_c.words(plain)):
        if _ASSEMBLY.fullmatch(word) or (expanded and _ALTERNATIVE.fullmatch(word)):
            return f"{shown}: {word} is not allowed, it makes assembly; write plain C"
    # Macros of the kernel may have assembly, but the text in it must not come from the source.
    tokens = allowed_c.tokens(text, own)
    for i, token in enumerate(tokens):
        if _PASSED_ON.fullmatch(token.text.strip("_")):
            for inner in tokens[i + 1 : i + 1 + _MOST_APART]:
                if inner.text in (";", "{", "}"):
                    break
                if inner.text.startswith('"') and inner.text in plain:
                    what = f"{inner.text} becomes assembly by a macro"
                    return f"{shown}:{token.line}: {what}; write plain C"
    return ""


def without_comments(rows: Iterable[tuple[str, int, str]]) -> list[tuple[int, str]]:
    """Return the numbered lines of preprocessed assembly without their comments.

    A string may go on in the next line. If the end of a string is in doubt anywhere, return all
    lines whole.
    """
    whole = [(number, line) for _, number, line in rows]
    parts = [(number, _ASSEMBLY_LINE.fullmatch(line)) for number, line in whole]
    plain = [(number, match[1]) for number, match in parts if match]
    return plain if len(plain) == len(whole) else whole


def _object_refused(path: Path, shown: str) -> str:
    if shown.endswith(".S"):
        listing = _output(["objdump", "-dr", "--no-show-raw-insn", str(path)], path)
        if error := objects.rejection(_FLAGS.sub("", listing), set(), sysy=False):
            return f"{shown}: {error.problem}; remove it"
    sections = _SECTION.findall(_output(["readelf", "-SW", str(path)], path))
    size = sum(int(number, 16) for number, _ in sections)
    if size > MOST_BYTES:
        return (
            f"{shown} has {size:,} bytes of code and data; no task needs more than {MOST_BYTES:,}"
        )
    return ""


def _output(command: list[str], path: Path) -> str:
    view = SandboxView(read=(path.parent,)) if source_folder.submission() else None
    result = run(command, LIMITS, view, environment={"LC_ALL": "C"})
    if result.status:
        raise LabError(f"{command[0]}: {result.text.strip() or result.cause}", "run make doctor")
    return result.text
