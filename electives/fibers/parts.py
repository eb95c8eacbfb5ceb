# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What goes into a machine: the module, built for its kernel, and the programs that use it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from electives import tasks
from grader.base import paths
from grader.base.errors import LabError
from grader.lab import guest_program, module
from grader.lab.machines import Contents, Machine, Running
from grader.lab.module import Kernel, Module, Recipe
from grader.lab.qemu import EMULATED_ARGUMENTS, Qemu

HERE = Path(__file__).parent
SOURCES = HERE / "kernel"
TRIES = HERE / "tries"
USER = HERE / "user"
DEVICE = "/dev/fibers"
KO = "/lib/fibers.ko"
# Seconds for what takes no time: emulation on a busy computer.
PATIENCE = 60.0
OBJECTS = ("table", "fiber", "storage", "list")
# Two CPUs with wide registers, which QEMU emulates from 7.2 on.
WIDE = Qemu("qemu-smp with AVX", "", ("-accel", "tcg"), 2, EMULATED_ARGUMENTS, "Haswell-noTSX")
# Where a kernel has a thread's user registers, by the ARCH of kbuild.
CONTEXTS = {"x86": "context_x86", "um": "context_um"}


def recipe(arch: str, changed: Mapping[str, bytes] | None = None) -> Recipe:
    """The module of the learner's copy if there is one, or of files that stand in for the kit's."""
    folder = tasks.sources("fibers", SOURCES)
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    place = "fibers" if folder == SOURCES else "fibers-work"
    if changed is not None:
        files = {path.name: path.read_bytes() for path in sorted(SOURCES.iterdir())} | {**changed}
        digest = hashlib.sha256(repr(sorted(changed.items())).encode()).hexdigest()
        place = f"fibers-{digest[:8]}"
    context = CONTEXTS[arch]
    others = {f"{name}.c" for name in CONTEXTS.values()} - {f"{context}.c"}
    return Recipe(
        name="fibers",
        folder=place,
        files={name: text for name, text in files.items() if name not in others},
        objects=(*OBJECTS, context),
        labels={"": paths.shown(folder)},
    )


def built(kernel: Kernel, changed: Mapping[str, bytes] | None = None) -> Module:
    """The module, or why there is none, in one line."""
    if kernel.arch not in CONTEXTS:
        raise LabError(
            f"fibers know the registers of x86 and of user-mode Linux, not {kernel.arch}"
        )
    made = module.build(recipe(kernel.arch, changed), kernel)
    if not made.ok:
        raise LabError(f"the module of fibers does not build: {made.cause}")
    return made


def program(name: str) -> Path:
    """A static program of tries/, or of a file there that takes one from elsewhere."""
    sources = [TRIES / f"{name}.c"]
    include = [SOURCES, USER]
    if "failing.h" in sources[0].read_text():
        sources.append(guest_program.GUEST / "failing.c")
        include.append(guest_program.GUEST)
    return guest_program.compiled(f"fibers-{name}", sources, include)


@contextmanager
def machine_with(machine: Machine, made: Module, programs: Iterable[str]) -> Iterator[Running]:
    """A machine that is up, with the module loaded and programs in /bin; down at the end."""
    files = {f"/bin/fibers-{name}": program(name) for name in programs}
    guest = machine.boot(Contents({KO: made.stripped, **files}, "fibers", (DEVICE,)))
    try:
        guest.wire.check(f"insmod {KO}", PATIENCE)
        yield guest
    finally:
        guest.stop()
