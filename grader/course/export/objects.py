# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make the objects that stand for the reference's sources in a student repository.

There is one for machine uml, and one for the kernels that count instructions, so that par can be
counted where students are. That kernel is seldom the one here, so its object may use only what
every kernel has (PORTABLE_FLAGS, PORTABLE_IMPORTS), and it holds code and constants, no table that
one kernel's tools have made for themselves. It takes as many instructions as it would with them:
what they describe is patched away in a kernel without mitigations that traces nothing.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

from grader.base.errors import LabError
from grader.exercise.build import stage_module
from grader.exercise.files import stages
from grader.exercise.static_contract import elf, object_findings
from grader.lab.module import Kernel

CONTRACT = ("fib_compute", "fib_decimal", "fib_limbs", "fib_release")

PORTABLE_FLAGS = (
    # A plain return, and no retpolines: thunks and the lists of their callers differ by kernel.
    "-mfunction-return=keep",
    "-mindirect-branch=keep",
    # The instruction at a function's entry that a kernel puts in place of a call of __fentry__.
    "-mnop-mcount",
    # From Linux 6.15 on the guard is elsewhere.
    "-fno-stack-protector",
    # fortify_panic() has another name, and other parameters, from Linux 6.9 on.
    "-D__NO_FORTIFY",
)
PORTABLE_IMPORTS = re.compile(
    r"mem(cpy|set|move|cmp)|fib_(alloc|free|yield|assert_failed|fpu_begin|fpu_end|has_avx2)"
)


def write_object(stage: stages.Stage, kernel: Kernel, folder: Path) -> None:
    """Write one object of a stage for kernels of that ARCH: the contract's names and no source."""
    portable = kernel.arch != "um"  # machine uml's kernel is built on each computer alike
    if portable:
        flags = (*kernel.extra_cflags, *PORTABLE_FLAGS)
        kernel = replace(kernel, key=f"{kernel.key}-portable", extra_cflags=flags)
    built = stage_module.build(stage, kernel)
    if not built.ok:
        raise LabError(f"stage {stage.number} does not compile: {built.cause}")
    names = sorted(path.stem for path in stage_module.sources(stage, []) if path.suffix == ".c")
    objects = [str(built.module.directory / "stage" / f"{name}.o") for name in names]
    target = folder / stages.OBJECTS[kernel.arch]
    folder.mkdir(parents=True, exist_ok=True)
    _run("ld", "-r", "-o", str(target), *objects)
    _run("objcopy", *(f"--keep-global-symbol={name}" for name in CONTRACT), str(target))
    if not portable:
        _run("strip", "--strip-debug", "--discard-all", "--remove-section=.comment", str(target))
        return
    _run("objcopy", *(f"--remove-section={name}" for name in _others(target)), str(target))
    # objtool gives up on a call of a function without a symbol, for the driver beside it, too.
    _run("objcopy", *_new_names(target), str(target))
    _run("strip", "--strip-debug", str(target))
    _check_imports(target)


def _others(path: Path) -> list[str]:
    """Return the names of an object's sections that are neither code nor constants."""
    return sorted(
        {
            section.name
            for section in elf.read(path).sections
            if section.type not in ("NULL", "SYMTAB", "STRTAB", "RELA")
            and object_findings.kind_of(section) not in ("code", "constants")
        }
    )


def _new_names(path: Path) -> list[str]:
    """Return the options that rename an object's own functions and constants: f1, f2, f3."""
    own = {
        symbol.name
        for symbol in elf.read(path).symbols
        if symbol.kind in ("FUNC", "OBJECT") and symbol.section != "UNDEF"
    }
    names = sorted(own - {"", *CONTRACT})
    return [f"--redefine-sym={name}=f{i}" for i, name in enumerate(names, 1)]


def _check_imports(path: Path) -> None:
    """Raise LabError where an object uses a name that another kernel may not have."""
    for symbol in elf.read(path).symbols:
        imported = symbol.section == "UNDEF" and symbol.name
        if imported and not PORTABLE_IMPORTS.fullmatch(symbol.name):
            raise LabError(
                f"{path.parent.name}/{path.name} uses {symbol.name}, which other kernels may not"
                " have: see PORTABLE_FLAGS in grader/course/export/objects.py"
            )


def _run(*command: str) -> None:
    completed = subprocess.run(command, capture_output=True, text=True)
    if completed.returncode:
        raise LabError(f"{command[0]}: {completed.stderr.strip()}")
