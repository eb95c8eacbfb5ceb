# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions with one fault each, which the tests of Linux 6.1 let pass: the traps of memblock.

Each is made of one of the kit's variants by replacing text. What the random test says of it is a
part of its line.
"""

from __future__ import annotations

from dataclasses import dataclass

from electives.memblock import trial


@dataclass(frozen=True)
class Mutant:
    """A fault: of which variant, what is replaced, and what the random test must say."""

    name: str
    why: str
    variant: str  # delayed or look
    replaced: tuple[tuple[str, str], ...]
    says: str
    mode: str = trial.ALL
    # Whether it is one on 6.1, which merges the whole array, and on later kernels, which merge part
    # of it, and whose tests know more.
    on_early: bool = True
    on_later: bool = True


GO_ON = "base = obase;\n"
MUTANTS = (
    Mutant(
        "index",
        "the index from before the growth: the new array's place has shifted it",
        "look",
        (("\t\tgoto repeat;\n", ""), ("\nrepeat:\n", "\n")),
        "",
        on_later=False,
    ),
    Mutant(
        "no rewinding",
        "base stays where the counting has ended",
        "delayed",
        (("\t\t" + GO_ON, ""),),
        "",
        trial.GIVEN_UP,
    ),
    Mutant(
        "hole",
        "going on where the array was full: what growing has freed below it is a hole",
        "delayed",
        (
            ("\tint idx, nr_left,", "\tphys_addr_t full_at = 0;\n\tint idx, nr_left,"),
            ("nr_left++;", "if (!nr_left++)\n\t\t\t\tfull_at = base;"),
            (GO_ON, "base = full_at;\n"),
        ),
        "expected",
        trial.GIVEN_UP,
    ),
    Mutant(
        "half",
        "the idea of delayed allocation as it is: -ENOMEM with a half of the range in",
        "delayed",
        (),
        "returns -ENOMEM: ",
    ),
    Mutant(
        "inside",
        "the same: the new array of memory regions is put into the range being added",
        "delayed",
        (),
        "which were not there before",
        "ogbx",
    ),
    Mutant(
        "stale start",
        "the first region to merge, from before the growth",
        "delayed",
        (("\t\tstart_rgn = 0;\n", ""),),
        "",
        trial.GIVEN_UP,
        on_early=False,
    ),
    Mutant(
        "in the range",
        "the array may be put into the range that is to be reserved",
        "look",
        (("memblock_double_array(type, base, size)", "memblock_double_array(type, 0, 0)"),),
        "lies in the range",
        on_later=False,
    ),
    Mutant(
        "flags",
        "regions with different flags are merged",
        "look",
        (("rgn->flags == next->flags &&", ""),),
        "",
    ),
    Mutant(
        "grows early",
        "the array grows though there is room for one more",
        "look",
        (("\tif (type->cnt + missing > type->max) {", "\tif (type->cnt + missing >= type->max) {"),
         ("while (type->cnt + missing > type->max)", "while (type->cnt + missing >= type->max)")),
        "though there is room",
        on_later=False,
    ),
)  # fmt: skip
