# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find the dynamic loader and the shared libraries that a program needs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_LINE = re.compile(r"^\t(\S+) \(.*\) => (/\S+)$", re.MULTILINE)


@cache
def _installed() -> dict[str, Path]:
    """Return the libraries in the loader's cache by name; of equal names, the first, native one."""
    output = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    return {name: Path(path) for name, path in reversed(_LINE.findall(output))}


def _asked_for(program: Path) -> Iterator[Path]:
    """Yield the loader and the libraries that an ELF file names.

    Names that the loader's cache does not contain are ignored, so a program cannot request other
    files. A malformed file may raise ELFError, OSError or ValueError.
    """
    # Import the package here, because the rest of the sandbox needs only the standard library.
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
    """Return the loader and all direct and indirect libraries of a program."""
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
