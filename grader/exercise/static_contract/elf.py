# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read an object file: its sections, symbols and relocations, and source lines of addresses."""

from __future__ import annotations

import io
import re
import subprocess
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from grader.base.printable import decoded, in_a_line

WRITE, ALLOC, EXECUTE, STRINGS = 1, 2, 4, 32
# The number of bytes that a relocation replaces, by the relocation's type, for all types that
# compilers generate for a kernel or a program. A stage must have no relocation of another type.
WIDTHS = {1: 8, 2: 4, 4: 4, 9: 4, 10: 4, 11: 4, 24: 8, 41: 4, 42: 4}
# The relocation types that are relative to the address of the replaced bytes.
RELATIVE = {2, 4, 9, 24, 41, 42}
# The relocation types for a pointer in a table that the linker makes, which only programs have.
BY_TABLE = {9, 41, 42}
ADDR2LINE_SECONDS = 5
# These limits are far above what a stage needs. Without them, reading a crafted file could take
# very long.
MOST_BYTES = 16 << 20
MOST_SECTIONS = 1000
MOST_ENTRIES = 20_000  # the limit for symbols or relocations; an entry has 24 bytes


class BadObject(Exception):
    """A file is not an object as compilers generate it; the message gives the reason."""


@dataclass(frozen=True)
class Symbol:
    """A symbol. kind and bind are as in readelf; section is an index or UNDEF, ABS, COMMON."""

    name: str
    kind: str
    bind: str
    section: int | str
    value: int
    size: int


@dataclass(frozen=True)
class Relocation:
    """A relocation: the linker writes the symbol's address plus addend at offset."""

    offset: int
    type: int
    symbol: Symbol
    addend: int

    def target(self, after: int = 0) -> int:
        """Return the offset in the symbol's section that the relocation leads to.

        after is the number of bytes from the field to the end of its instruction, from where a
        relative address counts; 0 for tables.
        """
        return self.symbol.value + self.addend + (after if self.type in RELATIVE else 0)


@dataclass
class Section:
    """A section; data is empty if the section is not loaded from the file."""

    index: int
    name: str
    type: str
    flags: int
    size: int
    align: int
    data: bytes
    relocations: list[Relocation] = field(default_factory=list)

    @property
    def loaded(self) -> bool:
        """Return whether the section is loaded into memory."""
        return bool(self.flags & ALLOC)

    @property
    def code(self) -> bool:
        """Return whether the section is loaded and executable."""
        return self.loaded and bool(self.flags & EXECUTE)

    @property
    def writable(self) -> bool:
        """Return whether the section is loaded and writable."""
        return self.loaded and bool(self.flags & WRITE)

    @property
    def letters(self) -> str:
        """Return the flags that matter here, as readelf prints them."""
        return "".join(x for x, bit in zip("WAXMSL", (1, 2, 4, 16, 32, 128)) if self.flags & bit)


@dataclass
class Object:
    """One object file of a stage."""

    path: Path
    sections: list[Section]
    symbols: list[Symbol]
    lines: bool = True  # whether addr2line can read the debug information in time

    @property
    def source(self) -> str:
        """Return the name of the source file that the object was compiled from."""
        return self.path.with_suffix(".c").name

    @property
    def loaded(self) -> list[Section]:
        """Return the sections that are loaded into memory."""
        return [section for section in self.sections if section.loaded]

    def section_of(self, symbol: Symbol) -> Section | None:
        """Return the section of a symbol; None if another object defines the symbol."""
        return self.sections[symbol.section] if isinstance(symbol.section, int) else None

    def function_at(self, section: Section, offset: int) -> str:
        """Return the name of the function at an offset of a section, or ""."""
        for symbol in self.symbols:
            here = symbol.section == section.index and symbol.kind == "FUNC"
            if here and symbol.value <= offset < symbol.value + max(symbol.size, 1):
                return symbol.name
        return ""

    def place(self, section: Section, offset: int) -> str:
        """Return the source position of an offset, such as "decimal.c:41 in fib_decimal"."""
        if not section.code:
            return self.source
        line = self._line(section, offset)
        function = self.function_at(section, offset)
        if not line and not function:
            return f"{self.source}, {section.name}+0x{offset:x}"
        return f"{line or self.source} in {function}" if function else line

    def use_of(self, name: str) -> str:
        """Return where the code first uses a symbol, such as "fib_decimal (decimal.c:41)"."""
        for section in self.loaded:
            for relocation in section.relocations:
                if section.code and relocation.symbol.name == name:
                    function = self.function_at(section, relocation.offset)
                    line = self._line(section, relocation.offset) or self.source
                    return f"{function} ({line})" if function else line
        return self.source

    def _line(self, section: Section, offset: int) -> str:
        """Return file and line from the debug information, or "" if it cannot be read."""
        if not self.lines or '"' in section.name:
            return ""
        command = ["addr2line", "-e", str(self.path), "-j", section.name, f"{offset:x}"]
        try:
            completed = subprocess.run(command, capture_output=True, timeout=ADDR2LINE_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            self.lines = False
            return ""
        match = re.match(r"(?:.*/)?([^/:\n]+):([1-9]\d*)", decoded(completed.stdout))
        return f"{match[1]}:{match[2]}" if match else ""


def _symbols(table: SymbolTableSection) -> list[Symbol]:
    return [
        Symbol(
            in_a_line(entry.name),
            str(entry["st_info"]["type"]).removeprefix("STT_"),
            str(entry["st_info"]["bind"]).removeprefix("STB_"),
            entry["st_shndx"]
            if isinstance(entry["st_shndx"], int)
            else str(entry["st_shndx"]).removeprefix("SHN_"),
            int(entry["st_value"]),
            int(entry["st_size"]),
        )
        for entry in table.iter_symbols()
    ]


def read(path: Path) -> Object:
    """Read an object file. Raise BadObject if the file is no valid object."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadObject(f"an object of more than {MOST_BYTES:,} bytes")
        return Object(path, *_parsed(path.read_bytes()))
    except BadObject:
        raise
    # A crafted file can make the library raise any exception.
    except Exception as error:  # noqa: BLE001
        raise BadObject(in_a_line(f"{type(error).__name__}: {error}")) from error


@lru_cache(maxsize=128)
def _parsed(data: bytes) -> tuple[list[Section], list[Symbol]]:
    """Return the sections and symbols of an object; several checks share them."""
    elf = ELFFile(io.BytesIO(data))
    head = elf.header
    if (head["e_type"], head["e_machine"], elf.elfclass) != ("ET_REL", "EM_X86_64", 64):
        raise BadObject("no relocatable object for x86-64")
    if elf.num_sections() > MOST_SECTIONS:
        raise BadObject(f"more than {MOST_SECTIONS:,} sections")
    sections = []
    tables = []
    for index, raw in enumerate(elf.iter_sections()):
        kept = raw["sh_flags"] & ALLOC and raw["sh_type"] != "SHT_NOBITS"
        sections.append(
            Section(
                index,
                in_a_line(raw.name),
                str(raw["sh_type"]).removeprefix("SHT_"),
                int(raw["sh_flags"]),
                int(raw["sh_size"]),
                int(raw["sh_addralign"]),
                raw.data() if kept else b"",
            )
        )
        if isinstance(raw, SymbolTableSection):
            tables.append(raw)
    if len(tables) > 1:
        raise BadObject("more than one table of symbols")
    if any(table["sh_size"] > 24 * MOST_ENTRIES for table in tables):
        raise BadObject(f"more than {MOST_ENTRIES:,} symbols")
    symbols = _symbols(tables[0]) if tables else []
    for raw in elf.iter_sections():
        if not isinstance(raw, RelocationSection):
            continue
        target = sections[raw["sh_info"]]
        if not target.loaded:
            continue
        if not raw.is_RELA():
            raise BadObject(f"relocations without addends for section {target.name}")
        if sections[raw["sh_link"]].type != "SYMTAB":
            raise BadObject(f"relocations of {target.name} that name no symbols")
        if raw["sh_size"] > 24 * MOST_ENTRIES:
            raise BadObject(f"more than {MOST_ENTRIES:,} relocations of {target.name}")
        target.relocations += [
            Relocation(
                int(entry["r_offset"]),
                int(entry["r_info_type"]),
                symbols[entry["r_info_sym"]],
                int(entry["r_addend"]),
            )
            for entry in raw.iter_relocations()
        ]
    for section in sections:
        section.relocations.sort(key=lambda r: r.offset)
        _check(section)
    return sections, symbols


def _check(section: Section) -> None:
    """Raise BadObject if a relocation has an unknown type, exceeds its section or overlaps one."""
    end = 0
    for relocation in section.relocations:
        width = WIDTHS.get(relocation.type)
        if width is None:
            raise BadObject(f"a relocation of type {relocation.type} in section {section.name}")
        if relocation.offset < end or relocation.offset + width > section.size:
            raise BadObject(f"relocations of section {section.name} that overlap")
        end = relocation.offset + width
