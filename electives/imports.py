# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reject a module that uses parts of the kernel which no task needs.

The tests see only a module's behaviour. A module that chose the processor of a thread, or hid its
memory from the leak scan, or took memory from the kernel's allocator instead of its own, would pass
without solving the task. So it may use only the symbols that the kit's module uses in the same
kernel, and those that another solution may need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from electives import source_folder
from grader.base.errors import LabError
from grader.lab.module import Kernel, Module, exported
from grader.sandbox import ResourceLimits, SandboxView, run

LIMITS = ResourceLimits(wall_seconds=60, cpu_seconds=30)
# The kinds of nm for a symbol that the linker takes in any case: code, data, and an absolute value.
_STRONG = "TDBRSGA"


def refused(
    made: Module,
    kits: Module | None,
    sources: dict[str, str],
    also: re.Pattern[str],
    kernel: Kernel,
    own: re.Pattern[str] | None = None,
) -> str:
    """Return a message on the first symbol that a module may not use or define, or "".

    Neither may it define a weak or common symbol: the linker takes another definition instead, so
    this symbol would be a way to use a name of another file.

    sources: the name of each object's source for the message, by the object's name.
    also: matches the symbols that it may use, besides those that the kit's module uses.
    own: matches the symbols that it may define for other files; None for all.
    """
    for name, source in sources.items():
        defined = _defined(made, name)
        for symbol in sorted(defined.keys() & exported(kernel.tree)):
            return f"{source}: {symbol} is a name of the kernel; rename it"
        for symbol, kind in sorted(defined.items()):
            if kind not in _STRONG:
                return f"{source}: {symbol} is a weak or common name; define it as static"
            if own and not own.fullmatch(symbol.removeprefix("__pfx_")):
                return f"{source}: {symbol} is a name for other files; define it as static"
    allowed = {symbol for _, symbol in _used(kits, sources)} if kits else set()
    for name, symbol in _used(made, sources):
        if symbol not in allowed and not also.fullmatch(symbol):
            return f"{sources[name]}: {symbol} is not allowed, no task needs it; remove it"
    return ""


def _defined(made: Module, name: str) -> dict[str, str]:
    """Return the symbols that an object of a module defines for the whole module, with nm's kind.

    Kinds u and i are unique names and names that a function finds at run time.
    """
    lines = [line.split()[:2] for line in _listed(made, name).splitlines()]
    return {
        symbol: kind for symbol, kind in lines if (kind.isupper() or kind in "ui") and kind != "U"
    }


def _used(made: Module, names: Iterable[str]) -> list[tuple[str, str]]:
    """Return (object, symbol) pairs: the symbols that a module's objects use but do not define."""
    symbols = [
        (name, *line.split()[:2]) for name in names for line in _listed(made, name).splitlines()
    ]
    defined = {symbol for _, symbol, kind in symbols if kind not in "Uvw"}
    return [(name, symbol) for name, symbol, kind in symbols if symbol not in defined]


def _listed(made: Module, name: str) -> str:
    command = ["nm", "--format=posix", str(made.directory / f"{name}.o")]
    view = SandboxView(read=(made.directory,)) if source_folder.submission() else None
    result = run(command, LIMITS, view, environment={"LC_ALL": "C"})
    if result.status:
        raise LabError(f"nm: {result.text.strip() or result.cause}", "run make doctor")
    return result.text
