# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What the objects of a stage may hold, use, define and be made from: the limits of stage.h.

They keep a stage from remembering between two calls, from answering out of a table, from standing
in for a function of the kernel, and from taking other people's sources. They are no security
boundary: a module owns the kernel it is loaded into.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# What a stage may use of the kernel. The compiler calls the first three on its own; the
# others are what WARN_ON and the compiler's instrumentation come to.
ALLOWED_IMPORTS = re.compile(
    r"mem(cpy|set|move|cmp)|fib_(alloc|free|look_up)"
    r"|__warn_printk|warn_slowpath_fmt|__x86_return_thunk|__x86_indirect_thunk_\w+|__fentry__"
    r"|__stack_chk_fail|fortify_panic"
    r"|__(asan|ubsan|kasan|sanitizer)_\w+|__cond_resched"
)
CONTRACT = {"fib_compute", "fib_decimal", "fib_limbs", "fib_release"}
# Sections that the kernel's macros and build tools make, beside code and constants.
KERNEL_SECTIONS = re.compile(
    r"__bug_table|__jump_table|__ex_table|__mcount_loc|__patchable_function_entries"
    r"|\.alt(instructions|instr_\w+)|\.(return|call|retpoline|static_call)_sites|\.ibt_endbr_seal"
    r"|\.orc_\w+|\.smp_locks|\.parainstructions|\.eh_frame|\.note\..*"
)
# Constants in bytes: two digits each for 0 to 99 take 200, twenty powers of ten 160. A table of
# F(0) to F(93) takes 752.
TABLE_BYTES = 512


@dataclass(frozen=True)
class Breach:
    """Something in the stage's objects that the contract does not allow."""

    expected: str
    got: str


@dataclass(frozen=True)
class Section:
    """A section of an object that comes into memory: its size in bytes, and readelf's flags."""

    name: str
    size: int
    flags: str


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(path: Path) -> list[tuple[str, str]]:
    """The names in an object, each with nm's letter for it."""
    lines = (line.split() for line in _said("nm", str(path)).splitlines())
    return [(words[-2], words[-1]) for words in lines]


def _sections(path: Path) -> list[Section]:
    row = re.compile(r"^ *\[ *\d+\] (\S+) +\S+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +(\w*) ")
    found = (row.match(line) for line in _said("readelf", "-SW", str(path)).splitlines())
    every = (Section(m[1], int(m[2], 16), m[3]) for m in found if m)
    return [section for section in every if "A" in section.flags and section.size]


def breaches(objects: list[Path], kit: list[Path], tree: Path, instrumented: bool) -> list[Breach]:
    """What the stage's objects have against the contract.

    kit are the objects they are linked with, tree the kernel's headers. Where the compiler
    instruments the code, its sections hold what is not the stage's.
    """
    found = [breach for path in objects for breach in _variables(path)]
    if not instrumented:
        found += [breach for path in objects for breach in _odd_sections(path, bool(found))]
        size = sum(
            s.size
            for path in objects
            for s in _sections(path)
            if s.name.startswith(".rodata") and ".str" not in s.name
        )
        if size > TABLE_BYTES:
            found.append(
                Breach(f"at most {TABLE_BYTES} bytes of constants", f"{size:,} bytes of them")
            )
    found += _names(objects, kit)
    for path in objects:
        found += _includes(path, tree)
    return found


def _variables(path: Path) -> list[Breach]:
    return [
        Breach(
            "no writable static data: nothing is kept between two calls",
            f"the variable {name} in {_source(path)}",
        )
        for kind, name in symbols(path)
        if kind in "bBdDC" and not name.startswith("__UNIQUE_ID")
    ]


def _odd_sections(path: Path, named: bool) -> list[Breach]:
    """Sections that hold neither code nor constants; those of variables that are named already."""
    found = []
    for section in _sections(path):
        if KERNEL_SECTIONS.fullmatch(section.name):
            continue
        writable = "W" in section.flags
        if writable and not named:
            found.append(
                Breach(
                    "no writable static data: nothing is kept between two calls",
                    f"{section.size:,} bytes of it in {_source(path)}, section {section.name}",
                )
            )
        elif not writable and not re.match(r"\.text|\.rodata", section.name):
            found.append(
                Breach("code and constants only", f"a section {section.name} in {_source(path)}")
            )
    return found


def _names(objects: list[Path], kit: list[Path]) -> list[Breach]:
    defined: dict[str, str] = {}
    undefined: dict[str, str] = {}
    for path in objects:
        for kind, name in symbols(path):
            (undefined if kind in "Uvw" else defined).setdefault(name, _source(path))
    wanted = {name for path in kit for kind, name in symbols(path) if kind == "U"} - CONTRACT
    return [
        Breach(
            "only what it offers, memcpy, memmove, memset and memcmp",
            f"a use of {name} in {source}",
        )
        for name, source in sorted(undefined.items())
        if name not in defined and not ALLOWED_IMPORTS.fullmatch(name)
    ] + [
        Breach("names that are not the kernel's", f"a {name} of its own in {defined[name]}")
        for name in sorted(wanted & defined.keys())
    ]


def _includes(path: Path, tree: Path) -> list[Breach]:
    """Files that went into an object and are neither the kernel's nor the stage's nor the kit's."""
    try:
        text = (path.parent / f".{path.name}.cmd").read_text(errors="replace")
    except OSError:
        return []
    command, _, rest = text.partition("\ndeps_")
    roots = [tree.resolve(), path.parent.parent.resolve()]
    roots += [Path(folder).resolve() for folder in re.findall(r" -I(/\S+)", command)]
    names = re.findall(r"^  ([^\s$]+) \\?$", rest, re.MULTILINE)
    files = ((tree / name).resolve() for name in names)
    return [
        Breach(f"its own files, {', '.join(('stage.h', 'fibdrv.h'))} and the kernel's headers",
               f"{file} in {_source(path)}")
        for file in files
        if not any(file.is_relative_to(root) for root in roots)
    ]  # fmt: skip


def _source(path: Path) -> str:
    return path.with_suffix(".c").name
