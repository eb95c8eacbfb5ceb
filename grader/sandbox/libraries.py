# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The loader and the shared libraries that a program needs, as files of this computer."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_LINE = re.compile(r"^\t(\S+) \(.*\) => (/\S+)$", re.MULTILINE)


@cache
def _installed() -> dict[str, Path]:
    """Return the libraries in the loader's cache by name; the first of a name is the native one."""
    said = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    return {name: Path(path) for name, path in reversed(_LINE.findall(said))}


def _asked_for(program: Path) -> Iterator[Path]:
    """Yield what a program or library asks for and the loader's cache lists.

    A file that is malformed asks for nothing; one that names another file does not get it.
    """
    # Here: the rest of the sandbox needs nothing but Python itself.
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile
    from elftools.elf.segments import InterpSegment

    with program.open("rb") as file:
        elf = ELFFile(file)
        for segment in elf.iter_segments():
            if isinstance(segment, InterpSegment):
                loader = Path(segment.get_interp_name())
                known = _installed().get(loader.name)
                if known and known.resolve() == loader.resolve():
                    yield loader
        for section in elf.iter_sections():
            if isinstance(section, DynamicSection):
                for tag in section.iter_tags("DT_NEEDED"):
                    name = getattr(tag, "needed", "")
                    if name in _installed():
                        yield _installed()[name]


def needed(program: Path) -> tuple[Path, ...]:
    """Return the loader and the libraries of a program, those of its libraries among them."""
    from elftools.common.exceptions import ELFError

    found: dict[Path, None] = {}
    todo = [program]
    while todo:
        try:
            more = [path for path in _asked_for(todo.pop()) if path not in found]
        except (ELFError, OSError, ValueError):
            continue
        found |= dict.fromkeys(more)
        todo += more
    return tuple(path.parent.resolve() / path.name for path in found)
