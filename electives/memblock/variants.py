# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The functions to compare: the kernel's own, and those that replace it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from electives import source_folder
from electives.memblock import kernels, splice
from electives.memblock.kernels import BuiltTests
from grader.base import paths, scratch
from grader.base.errors import LabError
from grader.lab import allowed_c

SOLUTION = "add_range.c"
DELAYED = kernels.HERE / "variants" / "delayed.c"
UNDONE = "TODO: task"


@dataclass(frozen=True)
class Variant:
    """A memblock_add_range(); text is empty for the kernel's own."""

    name: str
    says: str
    text: str = ""
    where: str = ""  # path of the file, for messages


KERNEL = Variant("kernel", "the kernel's own")


def of_file(path: Path, name: str, says: str) -> Variant:
    """Return the variant in a file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return Variant(name, says, text, paths.shown(path))


def solution() -> Variant:
    """Return the learner's function if it exists, else the kit's; it may have unsolved tasks."""
    folder = source_folder.folder("memblock", kernels.HERE / "solution")
    own = folder.parent == source_folder.WORK or source_folder.submission() is not None
    return of_file(folder / SOLUTION, "yours" if own else "look", "look first, then insert")


def known() -> list[Variant]:
    """Return all available variants; students do not get the solutions."""
    found = [KERNEL]
    if DELAYED.is_file():
        found.append(
            of_file(DELAYED, "delayed", "insert while there is room, grow when it is full")
        )
    last = solution()
    if UNDONE not in last.text:
        found.append(last)
    return found


def named(name: str) -> Variant:
    """Return the variant with this name. Raise LabError with the known names if there is none."""
    every = {variant.name: variant for variant in known()}
    if name not in every:
        raise LabError(f"there is no function {name}", f"choose one of {', '.join(every)}")
    return every[name]


def memblock_c(kernel: Path, variant: Variant, told: bool = False) -> str:
    """Return the kernel's mm/memblock.c with a variant in it; told: see splice.spliced()."""
    source = (kernel / "mm/memblock.c").read_text(encoding="utf-8")
    if not variant.text and not told:
        return source
    text = variant.text or splice.definition(source, splice.FUNCTION, "mm/memblock.c")[0]
    return splice.spliced(source, text, "mm/memblock.c", variant.where or "memblock.c", told)


def build(kernel: Path, tests: BuiltTests, variant: Variant) -> Path:
    """Build the tests' main and the kit's program with a variant. Return their folder.

    The folder is removed at the end of this run.
    """
    out = scratch.folder()
    out.chmod(0o755)  # readable for the sandbox's user; the folder above it is private
    if output := allowed_c.refused_in_fragment(variant.where, variant.text):
        raise kernels.VariantNotBuiltError(output)
    name = variant.where or variant.name
    try:
        text = memblock_c(kernel, variant, tests.way.told)
    except splice.NotOneError as error:
        raise kernels.VariantNotBuiltError(error.problem) from None
    tests.variant(text, name, out, variant.where)
    return out
