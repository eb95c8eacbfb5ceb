# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build stage 0's module from the learner's driver.c and the interposer."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from grader.base import paths, test_record
from grader.exercise.files import driver_device, stages
from grader.exercise.files.stages import Stage
from grader.exercise.static_contract import driver_contract, hidden_accesses
from grader.lab.module import Recipe

FILE = "driver.c"
OBJECT = "stage/driver"
INTERPOSER = "grader/exercise/driver"
SOURCES = ("interposer", "blocks", "race", "strings", "locks", "call_trace")
KIT = (*(f"{name}.c" for name in SOURCES), "call_trace.h", "may_fault.h")
# Report accesses outside an array or structure (interposer.c).
BOUNDS = "-fsanitize=bounds,object-size"
# The flags of the kernel's scripts/Makefile.kcsan, without the macro that would let the driver
# distinguish this build from the normal one, and with calls where functions begin and end.
RACED = (
    "-U__SANITIZE_THREAD__ -fsanitize=thread -fno-optimize-sibling-calls"
    " --param tsan-instrument-func-entry-exit=1 --param tsan-distinguish-volatile=1"
    # The compiler does not instrument functions that it replaces by instructions.
    " -fno-builtin"
)
# Kernels with this configuration have all functions of LOCKS, and call them for every lock.
ALL_LOCKS = "ifeq ($(CONFIG_UNINLINE_SPIN_UNLOCK)$(CONFIG_DEBUG_LOCK_ALLOC)$(CONFIG_PREEMPT_RT),y)"


def raced_beside(directory: Path) -> Path:
    """Return the folder of the build with delayed accesses, given the folder of the normal one."""
    return directory.with_name(f"{directory.name}-raced")


def recipe(stage: Stage, text: bytes, raced: bool = False) -> Recipe:
    """Return the recipe of a driver's module. With raced, race.c delays some memory accesses."""
    tag = hashlib.sha256(os.fsencode(stage.directory.resolve())).hexdigest()[:8]
    folder = Path(f"{stage.key[:80]}-{tag}")
    label, shown = stages.place(stage), paths.shown(stage.directory)
    # UBSan's reports name the file of this marker; -ffile-prefix-map does not change their paths.
    marker = f'# 1 "{label}/{FILE}"\n'.encode()
    # The linker redirects the driver's calls to the interposer.
    flags = f"LDFLAGS_{driver_device.NAME}.o"
    lock_checks = (
        ALL_LOCKS,
        f"{flags} += {_wrapped(driver_contract.LOCKS)}",
        "CFLAGS_kit/locks.o := -DFIRST_LOCKS_WRAPPED",
        "endif",
        f"always-y += {OBJECT}.i",
        f"CFLAGS_{OBJECT}.o += {hidden_accesses.FLAG}=$(obj)/{OBJECT}.ssa",
    )
    return Recipe(
        name=driver_device.NAME,
        folder=str(raced_beside(folder) if raced else folder),
        files={
            f"stage/{FILE}": marker + text,
            "kit/first.h": (paths.COMMON / "first.h").read_bytes(),
            **{
                f"kit/{name}": (test_record.INCLUDE / name).read_bytes()
                for name in test_record.HEADERS
            },
            **{f"kit/{name}": (driver_device.SOURCES / name).read_bytes() for name in KIT},
        },
        objects=(OBJECT, *(f"kit/{name}" for name in SOURCES)),
        # Do not warn of functions without callers, because an unfinished driver has some.
        flags=("-I$(src)/kit", "-Wno-unused-function", "-Wno-unused-variable"),
        settings=(
            f"{flags} := {_wrapped([*driver_contract.WATCHED, *driver_contract.STRINGS])}",
            f"CFLAGS_{OBJECT}.o := -include may_fault.h {RACED if raced else BOUNDS}",
            *(lock_checks if raced else ()),
        ),
        labels={"stage": label, "kit": INTERPOSER},
        support=(INTERPOSER,),
        shown={"stage": shown, label: shown, "kit": INTERPOSER},
        isolated=stage.isolated,
    )


def _wrapped(names: Sequence[str]) -> str:
    """Return the linker's options that redirect calls of these functions."""
    return " ".join(f"--wrap={name}" for name in names)
