# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Replace the kernel's memblock_add_range() in a copy of mm/memblock.c.

Two macros, MERGE() and FLAGS_DIFFER(), hide differences between kernels outside the function; their
definitions are read from the kernel's source.
"""

from __future__ import annotations

import re

from grader.base.errors import LabError

FUNCTION = "memblock_add_range"
# A definition begins in the first column, and its parameters may span several lines. It ends at a
# brace in the first column. The number of parameters has a bound, and only one end is searched for,
# so that no source makes the search quadratic.
_HEAD = r"^[a-z][\w \t*]*\n?\b{name}\([^;{{}}]{{0,999}}\)\n\{{\n"
_MERGE = "memblock_merge_regions"
# Each growth of an array by the new function is told to the harness.
TELLS = """\
void memblock_array_grows(void);
void memblock_array_moved(void);
static int told_double_array(struct memblock_type *type, phys_addr_t start, phys_addr_t size)
{
	int error;

	memblock_array_grows();
	error = memblock_double_array(type, start, size);
	memblock_array_moved();
	return error;
}
#define memblock_double_array told_double_array
"""


class NotOneError(LabError):
    """A source does not have exactly one definition of a function."""


def definition(source: str, name: str, where: str) -> re.Match[str]:
    """Return the match of a function's definition. Raise NotOneError unless exactly one exists."""
    head = _HEAD.format(name=name)
    found = list(re.finditer(head, source, re.MULTILINE))
    whole = re.compile(rf"{head}.*?^\}}\n", re.MULTILINE | re.DOTALL)
    match = whole.match(source, found[0].start()) if len(found) == 1 else None
    if match is None:
        raise NotOneError(
            f"{where}: {len(found)} definitions of {name}(), expected one", "define it once"
        )
    return match


def _macros(source: str, where: str) -> str:
    """Return the macros for merging and for comparing flags, taken from the kernel's function."""
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


def spliced(kernels: str, new: str, where: str, name: str, told: bool = False) -> str:
    """Return the kernel's mm/memblock.c with the new function; where and name are for messages.

    The compiler's messages name the file and lines of the new function.
    told: tell the harness when the function moves an array (harness/unused.c).
    """
    old = definition(kernels, FUNCTION, where)
    definition(new, FUNCTION, name)
    after = kernels.count("\n", 0, old.end()) + 1
    before, behind = (TELLS, "#undef memblock_double_array\n") if told else ("", "")
    return (
        f"{kernels[: old.start()]}{_macros(kernels, where)}{before}"
        f'#line 1 "{name}"\n{new}{behind}#line {after} "memblock.c"\n{kernels[old.end() :]}'
    )
