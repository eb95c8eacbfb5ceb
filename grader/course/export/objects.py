# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make the objects that replace the reference's sources in a student repository.

There is one object for machine uml, and one for the kernels that count instructions, so that
students can count par. A student's kernel is rarely the one used here, so the second object may use
only features that every kernel has (PORTABLE_FLAGS, PORTABLE_IMPORTS). It holds code and constants,
but not the tables that the tools of one kernel generate. With or without these tables it executes
the same number of instructions: they describe code for mitigations and tracing, which a kernel
replaces at boot if both are off.
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
    # Generate plain returns and no retpolines, because the thunks and the lists of their callers
    # differ between kernels.
    "-mfunction-return=keep",
    "-mindirect-branch=keep",
    # Emit a nop at a function's entry, as the kernel does in place of a call of __fentry__.
    "-mnop-mcount",
    # Do not use the stack guard, because Linux 6.15 has moved it.
    "-fno-stack-protector",
    # Do not call fortify_panic(), because Linux 6.9 has changed its name and parameters.
    "-D__NO_FORTIFY",
)
PORTABLE_IMPORTS = re.compile(
    r"mem(cpy|set|move|cmp)|fib_(alloc|free|yield|assert_failed|fpu_begin|fpu_end|has_avx2)"
)


def write_object(stage: stages.Stage, kernel: Kernel, folder: Path) -> None:
    """Write a stage's object for kernels of this ARCH; it exports only the contract's names."""
    portable = kernel.arch != "um"  # every computer builds the same kernel for machine uml
    if portable:
        flags = (*kernel.extra_cflags, *PORTABLE_FLAGS)
        kernel = replace(kernel, key=f"{kernel.key}-portable", extra_cflags=flags)
    built = stage_module.build(stage, kernel)
    if not built.ok:
        raise LabError(
            f"stage {stage.number} does not compile: {built.cause}", "correct the source"
        )
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
    # Rename the symbols and do not remove them: objtool rejects a call of a function without a
    # symbol, and then the build of the module with the driver fails.
    _run("objcopy", *_new_names(target), str(target))
    _run("strip", "--strip-debug", str(target))
    _check_imports(target)


def _others(path: Path) -> list[str]:
    """Return the names of the sections of an object that hold neither code nor constants."""
    return sorted(
        {
            section.name
            for section in elf.read(path).sections
            if section.type not in ("NULL", "SYMTAB", "STRTAB", "RELA")
            and object_findings.kind_of(section) not in ("code", "constants")
        }
    )


def _new_names(path: Path) -> list[str]:
    """Return the options that rename an object's own functions and constants to f1, f2, f3."""
    own = {
        symbol.name
        for symbol in elf.read(path).symbols
        if symbol.kind in ("FUNC", "OBJECT") and symbol.section != "UNDEF"
    }
    names = sorted(own - {"", *CONTRACT})
    return [f"--redefine-sym={name}=f{i}" for i, name in enumerate(names, 1)]


def _check_imports(path: Path) -> None:
    """Raise LabError if an object uses a symbol that another kernel may not have."""
    for symbol in elf.read(path).symbols:
        imported = symbol.section == "UNDEF" and symbol.name
        if imported and not PORTABLE_IMPORTS.fullmatch(symbol.name):
            raise LabError(
                f"{path.parent.name}/{path.name} uses {symbol.name}, which other kernels may not"
                " have",
                "change PORTABLE_FLAGS in grader/course/export/objects.py",
            )


def _run(*command: str) -> None:
    completed = subprocess.run(command, capture_output=True, text=True)
    if completed.returncode:
        raise LabError(f"{command[0]}: {completed.stderr.strip()}", "run make doctor")
