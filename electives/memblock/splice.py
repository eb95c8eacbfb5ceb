# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Put another memblock_add_range() in the place of the kernel's, in a copy of mm/memblock.c.

What differs from kernel to kernel and is not the function's own is read from the kernel's source
and given to the new one as two macros, MERGE() and FLAGS_DIFFER().
"""

from __future__ import annotations

import re

from grader.base.errors import LabError

FUNCTION = "memblock_add_range"
# A definition begins in the first column; its arguments take more lines. It ends at a brace there.
_DEFINITION = r"^[a-z][\w \t*]*\n?\b{name}\([^;{{}}]*\)\n\{{\n.*?^\}}\n"
_MERGE = "memblock_merge_regions"


class NotOneError(LabError):
    """A source has not one definition of a function."""


def definition(source: str, name: str, where: str) -> re.Match[str]:
    """Where a function is defined, which must be once."""
    pattern = re.compile(_DEFINITION.format(name=name), re.MULTILINE | re.DOTALL)
    found = list(pattern.finditer(source))
    if len(found) != 1:
        raise NotOneError(f"{where}: {len(found)} definitions of {name}(), expected one")
    return found[0]


def _macros(source: str, where: str) -> str:
    """What the kernel's own function says of merging, and of flags that should be equal."""
    merge = definition(source, _MERGE, where)[0]
    ranges = "start_rgn" in merge[: merge.index("{")]
    to_merge = "type, start, end" if ranges else "type"
    warning = re.search(
        r"WARN_ON\((flags [^;]*)\);", definition(source, FUNCTION, where)[0], re.DOTALL
    )
    differ = " ".join(warning[1].split()) if warning else "false"
    return (
        f"#define MERGE(type, start, end) ((void)(start), (void)(end), {_MERGE}({to_merge}))\n"
        f"#define FLAGS_DIFFER(flags, rgn) ({differ})\n"
    )


def spliced(kernels: str, new: str, where: str, name: str) -> str:
    """The kernel's mm/memblock.c with the new function; where and name are for messages.

    The compiler's messages name the new function's file and lines.
    """
    old = definition(kernels, FUNCTION, where)
    definition(new, FUNCTION, name)
    after = kernels.count("\n", 0, old.end()) + 1
    return (
        f"{kernels[: old.start()]}{_macros(kernels, where)}"
        f'#line 1 "{name}"\n{new}#line {after} "memblock.c"\n{kernels[old.end() :]}'
    )
