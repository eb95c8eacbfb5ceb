# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Preprocess a stage's files once, for all its builds.

The modules for all kernels and the programs with sanitizers are compiled from the same preprocessed
texts, so macros cannot make one build differ from another.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from grader import sandbox
from grader.base import paths, scratch
from grader.exercise.build import c_flags, diagnostics
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.lab import allowed_c, module
from grader.sandbox import SandboxView

# The kit's headers that a stage may include.
HEADERS = ("stage.h", "freestanding.h", "fibdrv.h")
# Further headers of the kit that a stage with vector files may include.
VECTOR_HEADERS = ("vector.h",)
# The folder name of the kit's headers in the preprocessed texts.
KIT = "common"
FLAGS = ("-E", "-dD")
# The compiler flag for a preprocessed text.
PREPROCESSED = "-fpreprocessed"
# The definitions for builds that must not use inline assembly: where the user asks for that, and on
# other processors. The names are those in messages.
NO_ASM = ("-DFIB_NO_ASM",)
WITHOUT_ASSEMBLY = {NO_ASM: "with FIB_NO_ASM", ("-U__x86_64__",): "on another processor"}
# The words that fib_assert_failed prints before the name of a file with assembly.
WITH = b"assembly in"
# The beginning of an asm statement, up to the end of its template.
ASSEMBLY = re.compile(rb'\b((?:__)?asm(?:__)?(?:\s+\w+)*\s*\(\s*)((?:"(?:[^"\\]|\\.)*"\s*)+)')
# A built-in function for an instruction of this processor.
_INSTRUCTION = re.compile(r"__builtin_ia32_\w+")
# A macro, and the names that the unit tests reserve.
_MACRO = re.compile(r"#(?:define|undef) (\w+)")
_TESTED = re.compile(r"STAGE_|TESTED_|tested_")
_NO_HEADER = re.compile(r"fatal error: [^\n]*: No such file or directory")
OFFERED = "stage.h offers all that a stage may use; include it and the stage's own headers only"


@dataclass(frozen=True)
class Texts:
    """The preprocessed texts of C files by name, or the reason why preprocessing failed."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    defining: Mapping[str, bytes] = field(default_factory=dict)  # the texts with #define lines
    cause: str = ""
    warnings: tuple[str, ...] = ()


def texts(
    stage: Stage, sources: Sequence[Path], trace: bool = False, macros: tuple[str, ...] = ()
) -> Texts:
    """Preprocess a stage's files. With trace, fib_trace prints its arguments in the build.

    macros: further macro definitions; only those of WITHOUT_ASSEMBLY are used.
    """
    files = _contents(sources)
    names = tuple(name for name, _ in files if name.endswith(".c"))
    return _texts(stage, files, names, (*(("-DFIB_TRACE",) if trace else ()), *macros))


def trapped(stage: Stage, made: Texts) -> Texts:
    """Return texts in which each asm statement of the stage, unless it is empty, ends the program.

    cause is set if a text calls a built-in function for an instruction, or has an asm statement
    that ASSEMBLY does not match. Vector files, which only some processors run, stay as they are.
    """
    if made.cause:
        return made
    place, shown = f"{stages.place(stage)}/", f"{paths.shown(stage.directory)}/"
    files = dict(made.files)
    for name, content in made.files.items():
        if name in stage.traits.vector:
            continue
        files[name], left = _trapped(content, place)
        for token in allowed_c.tokens(content.decode(errors="surrogateescape"), place):
            left -= token.text.strip("_") == "asm"
            where = f"{token.file.replace(place, shown, 1)}:{token.line}"
            if _INSTRUCTION.fullmatch(token.text):
                return Texts(cause=f"{where}: {token.text} does not exist; use plain C")
            if left < 0:
                return Texts(cause=f"{where}: write asm, its bracket and its text without a gap")
    return replace(made, files=files)


def _trapped(text: bytes, place: str) -> tuple[bytes, int]:
    """Return a text with traps, and the number of its asm statements from the folder place."""
    parts = re.split(rb'(?m)^# (\d+) "((?:\\.|[^"\\\n])*)"([^\n]*\n)', text)
    made, count = [parts[0]], 0
    for number, file, flags, lines in zip(*(parts[i::4] for i in range(1, 5))):
        made += [b'# %s "%s"%s' % (number, file, flags)]
        own = file.startswith(place.encode())
        count += len(ASSEMBLY.findall(lines)) if own else 0
        made += [_without_assembly(lines, file.rsplit(b"/")[-1], int(number)) if own else lines]
    return b"".join(made), count


def _without_assembly(lines: bytes, file: bytes, first: int) -> bytes:
    """Return lines in which each asm statement ends the program; first: the number of the first."""

    def trap(found: re.Match[bytes]) -> bytes:
        template = found[2].translate(None, b'" \t\n')
        if not template or allowed_c.is_register(template.decode(errors="replace")):
            return found[0]
        line = first + lines.count(b"\n", 0, found.start())
        return b'if (1) fib_assert_failed("%s %s", %d); else %s' % (WITH, file, line, found[0])

    return ASSEMBLY.sub(trap, lines)


def own_lines(stage: Stage, made: Texts) -> dict[str, list[tuple[str, int, str]]]:
    """Return the lines of each text that come from the stage's own files."""
    place = f"{stages.place(stage)}/"
    return {
        name: [line for line in allowed_c.lines(text.decode(errors="replace"), place) if line[2]]
        for name, text in made.files.items()
    }


def adapted(
    stage: Stage, sources: Sequence[Path], adapter: Path, macros: tuple[str, ...] = ()
) -> Texts:
    """Preprocess a C file of the kit that includes bignum.h, for the unit tests.

    The header must have the same text as in the stage's own files. Otherwise cause is set in
    the result.
    """
    own = texts(stage, sources, macros=macros)
    if own.cause:
        return own
    beside = [path for path in sources if path.suffix == ".h" and path.name != f"{adapter.stem}.h"]
    files = _contents([*beside, adapter, adapter.with_suffix(".h")])
    made = _texts(stage, files, (adapter.name,), (*stage.traits.macros(), *macros))
    cause = made.cause or _renaming(own, adapter, stage) or _differing(made, own, stage)
    return Texts(cause=cause) if cause else made


def _contents(files: Sequence[Path]) -> tuple[tuple[str, bytes], ...]:
    return tuple((path.name, path.read_bytes()) for path in files)


def _texts(
    stage: Stage,
    files: tuple[tuple[str, bytes], ...],
    names: tuple[str, ...],
    options: tuple[str, ...],
) -> Texts:
    offered = (*HEADERS, *(VECTOR_HEADERS if stage.traits.vector else ()))
    headers = _contents([paths.COMMON / name for name in offered])
    call = (*_options(stage, KIT, vector_file=False), *options)
    place, shown = stages.place(stage), paths.shown(stage.directory)
    return _made(files, headers, names, call, place, shown, stage.isolated)


def options(stage: Stage, name: str) -> tuple[str, ...]:
    """Return the flags for an editor that parses a stage's file."""
    return _options(stage, str(paths.COMMON), name in stage.traits.vector)


def _options(stage: Stage, headers: str, vector_file: bool) -> tuple[str, ...]:
    limit = f"-DFIBDRV_MAX_N={stage.manifest.max_n}"
    return ("-nostdinc", *c_flags.of_file(vector_file), limit, f"-I{headers}")


def _renaming(own: Texts, adapter: Path, stage: Stage) -> str:
    """Return a message if a header of the stage defines a macro with a name of the adapter."""
    place = f"{stages.place(stage)}/"
    # Macros of the kit's headers are used there. No other name may be a macro.
    kits = {
        name
        for header in stages.kit(stage.number).directory.glob("*.h")
        for name in re.findall(r"^#\s*define (\w+)", header.read_text(), re.MULTILINE)
    }
    used = allowed_c.words(adapter.read_text(encoding="utf-8")) - kits
    for text in own.defining.values():
        for file, number, line in allowed_c.lines(text.decode(errors="surrogateescape"), place):
            macro = _MACRO.match(line)
            if macro and (macro[1] in used or _TESTED.match(macro[1])):
                shown = f"{paths.shown(stage.directory)}/{file.removeprefix(place)}"
                return f"{shown}:{number}: {macro[1]} is a name of the kit's tests; rename it"
    return ""


def _differing(adapter: Texts, own: Texts, stage: Stage) -> str:
    """Return a message if a line of a header differs between an adapter and the stage's files."""
    place = f"{stages.place(stage)}/"

    def by_file(text: bytes) -> dict[str, set[tuple[int, str]]]:
        found: dict[str, set[tuple[int, str]]] = {}
        for file, number, line in allowed_c.lines(text.decode(errors="surrogateescape"), place):
            if file.endswith(".h") and line.strip():
                found.setdefault(file, set()).add((number, line.strip()))
        return found

    whole = [by_file(text) for text in own.defining.values()]
    (text,) = adapter.defining.values()
    for file, wanted in by_file(text).items():
        others = [found[file] for found in whole if file in found]
        if others and wanted not in others:
            number = min(wanted ^ others[0])[0]
            shown = f"{paths.shown(stage.directory)}/{file.removeprefix(place)}"
            return (
                f"{shown}:{number}: this line differs between the stage's files and the tests that"
                " include the header; remove the condition that it depends on"
            )
    return ""


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return one digest of all given texts."""
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()


@cache
def _made(
    files: tuple[tuple[str, bytes], ...],
    headers: tuple[tuple[str, bytes], ...],
    names: tuple[str, ...],
    options: tuple[str, ...],
    place: str,
    shown: str,
    isolated: bool,
) -> Texts:
    for name, content in files:
        if message := allowed_c.refused_in_source(
            f"{shown}/{name}", content.decode(errors="replace")
        ):
            return Texts(cause=message)
    folder = scratch.folder()
    try:
        for part, contents in ((folder / place, files), (folder / KIT, headers)):
            part.mkdir(parents=True)
            for name, content in contents:
                (part / name).write_bytes(content)
        return _preprocessed(folder, names, options, place, shown, isolated)
    finally:
        scratch.remove(folder)


def _preprocessed(
    folder: Path,
    names: tuple[str, ...],
    options: tuple[str, ...],
    place: str,
    shown: str,
    isolated: bool,
) -> Texts:
    """Run the preprocessor in a folder, once for each C file."""
    call = [
        os.environ.get("CC", "gcc") if not isolated else "gcc",
        *FLAGS, *options,
    ]  # fmt: skip
    script = (
        'cd "$1" && shift && count=$1 && shift && i=0 && for file in "${@:1:count}"; do'
        ' "${@:count+1}" "$file" -o "$i.i" || exit; i=$((i + 1)); done'
    )
    command = ["bash", "-c", script, "bash", str(folder), str(len(names))]
    command += [*(f"{place}/{name}" for name in names), *call]
    room = SandboxView(write=(folder,)) if isolated else None
    ours = None if room else module.environment()
    result = sandbox.run(command, module.LIMITS, room, environment=ours, together=True)
    output = re.sub(rf"(?m)^((?:In file included| +) from |){re.escape(place)}/",
                  lambda match: f"{match[1]}{shown}/", result.text)  # fmt: skip
    if result.ended_by:
        return Texts(cause=f"the compiler was stopped: {result.cause}")
    if result.status:
        result.check_host(folder)
        line = diagnostics.error_line(output)
        return Texts(cause=f"{line}; {OFFERED}" if _NO_HEADER.search(line) else line)
    found: dict[str, bytes] = {}
    defining: dict[str, bytes] = {}
    for i, name in enumerate(names):
        # Skip the compiler's own definitions, which end at the file's first line marker.
        whole, begin = (folder / f"{i}.i").read_bytes(), f'# 1 "{place}/{name}"\n'.encode()
        defining[name] = whole[whole.index(begin) :]
        content = re.sub(rb"(?m)^#(define|undef) .*$", b"", defining[name])
        if cause := _wrong(content.decode(errors="surrogateescape"), name, place):
            return Texts(cause=cause.replace(f"{place}/", f"{shown}/"))
        found[name] = content
    warnings = [line for line in output.splitlines() if re.match(r"\S+:\d+:\d+: warning: ", line)]
    return Texts(found, defining, "", tuple(warnings))


def _wrong(text: str, name: str, place: str) -> str:
    """Return why a preprocessed text is not allowed; "" if it is."""
    for file, _ in allowed_c.markers(text):
        inside = re.match(rf"({re.escape(place)}|{KIT})/[^/]+$", file)
        if not inside:
            return f"{name} includes {file}; {OFFERED}"
    if allowed_c.forged(text):
        return f"{name}: #line is not allowed, all builds have one text; remove it"
    return allowed_c.first_refused(text, f"{place}/")
