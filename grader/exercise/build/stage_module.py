# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build a stage as a module for one kernel: the stage's C files, the kit's everything else."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from grader.base import paths
from grader.base.errors import LabError
from grader.exercise.build import c_flags, diagnostics, driver_recipe, preprocess
from grader.exercise.files import device, stages
from grader.exercise.files.stages import Manifest, Stage
from grader.exercise.static_contract import driver_contract, stage_contract
from grader.lab import allowed_c, module
from grader.lab.module import Kernel, Module, Recipe

# What of the kit goes into the module; never taken from a stage's directory.
KIT_FILES = (
    "driver.c", "account.c", "account.h", "stage_checks.c", "stage_checks.h", "notices.c",
    "fibdrv.h", "stage.h", "freestanding.h"
)  # fmt: skip
KIT_OBJECTS = ("kit/driver", "kit/account", "kit/stage_checks", "kit/notices")
# And into that of a stage with vector files.
VECTOR_FILES = ("vector.c", "vector.h")
VECTOR_OBJECTS = ("kit/vector",)
SOURCE_BYTES = 1 << 20
BUILD_FILES = ("Makefile", "Kbuild", "Makefile.include")


@dataclass(frozen=True)
class BuiltStage:
    """The result of a build: a module, or a cause; and what its objects hold against the rules."""

    stage: Stage
    module: Module
    violations: tuple[stage_contract.ContractViolation, ...] = ()
    left_out: tuple[str, ...] = ()  # of the stage's files, and why
    rules: str = "stage.h"  # where it is said what its objects may hold
    # Where the files are edited that kbuild compiles, by their folder in the module.
    homes: Mapping[str, Path] = field(default_factory=lambda: {"kit": paths.COMMON})

    @property
    def ok(self) -> bool:
        """Whether there is a module."""
        return self.module.ok

    @property
    def rejection(self) -> str:
        """Why it is not to be measured: there is no module, or what the contract has against it."""
        broken = self.violations[0] if self.violations else None
        return self.cause or (
            f"{broken.got}; {self.rules} allows {broken.expected}" if broken else ""
        )

    @property
    def cause(self) -> str:
        """Why there is none, in one line."""
        return self.module.cause


def sources(stage: Stage, left_out: list[str]) -> Iterator[Path]:
    """The C files of a stage that are used; says in left_out what is not."""
    for path in sorted(stage.directory.iterdir()):
        if path.suffix not in (".c", ".h"):
            if path.name in BUILD_FILES:
                left_out.append(f"{path.name} is left out: the kit's own build files count")
        elif not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_+-]*\.[ch]", path.name):
            left_out.append(f"{path.name!r} is left out: a file name of letters and digits, please")
        elif not path.is_file() or not paths.inside(path, stage.directory):
            left_out.append(f"{path.name} is left out: not a file of this directory")
        elif path.stat().st_size > SOURCE_BYTES:
            left_out.append(f"{path.name} is left out: larger than {SOURCE_BYTES:,} bytes")
        elif path.name in KIT_FILES + VECTOR_FILES:
            if not (path.name == "driver.c" and stage.own_driver):
                left_out.append(f"{path.name} is left out: the kit's own counts")
        else:
            yield path


# For a debugger: at -O2 a variable often has no place in memory or in a register.
LOOK = "-O0"


def build(
    stage: Stage, kernel: Kernel, jobs: int = 2, trace: bool = False, look: bool = False
) -> BuiltStage:
    """Build a stage for a kernel, or find that nothing has changed since the last time.

    With trace what fib_trace is given is printed; with look the stage's own files are compiled for
    a debugger. Neither is ever graded.
    """
    if not stage.fits(kernel.arch):
        raise LabError(
            f"the kit's stage {stage.number} is here without its source, and has no object for"
            f" kernels of {kernel.arch}: choose another machine, or a copy of yours"
        )
    if stage.manifest.driver:
        return build_driver(stage, kernel, jobs, look=look)
    left_out: list[str] = []
    text = _texts(stage, left_out, trace)
    recipe = _recipe(stage, kernel, text)
    if look:
        own = [name for name in recipe.objects if name.startswith("stage/")]
        recipe = _for_a_debugger(recipe, own)
    if text.cause:
        made = Module(device.NAME, module.folder_of(recipe, kernel), text.cause)
        return BuiltStage(stage, made, (), tuple(left_out))
    objects = [path for path in recipe.objects if path.startswith("stage/")]
    if not objects:
        cause = f"{paths.shown(stage.directory)} holds no C file: write fib.c and decimal.c"
        made = Module(device.NAME, module.folder_of(recipe, kernel), cause)
        return BuiltStage(stage, made, (), tuple(left_out))
    made = _compiled(recipe, kernel, jobs)
    made = replace(made, warnings=(*text.warnings, *made.warnings))
    files = [made.directory / f"{path}.o" for path in objects]
    if not made.ok:
        missing = re.match(r'ERROR: modpost: "(\w+)" .* undefined!', made.cause)
        if missing:
            made = replace(made, cause=_undefined(missing[1], files, stage))
        return BuiltStage(stage, made, (), tuple(left_out))
    violations = () if trace or look else tuple(_violations(stage, made, files, kernel))
    return BuiltStage(stage, made, violations, tuple(left_out))


def digest(stage: Stage, kernel: Kernel) -> str:
    """Return a digest of all that the module of a stage of arithmetic is made of."""
    return module.digest(_recipe(stage, kernel, _texts(stage, [])), kernel)


def _texts(stage: Stage, left_out: list[str], trace: bool = False) -> preprocess.Texts:
    """Return a stage's texts; of a stage without sources, none."""
    if stage.shipped:
        return preprocess.Texts()
    return preprocess.texts(stage, list(sources(stage, left_out)), trace)


def _for_a_debugger(recipe: Recipe, objects: Sequence[str]) -> Recipe:
    """Return a recipe by which some objects are compiled so that a debugger sees variables."""
    more = tuple(f"CFLAGS_{name}.o += {LOOK}" for name in objects)
    return replace(recipe, settings=(*recipe.settings, *more))


def build_driver(
    stage: Stage, kernel: Kernel, jobs: int = 2, raced: bool = False, look: bool = False
) -> BuiltStage:
    """The same of a stage whose driver is what is asked for; raced: see driver_recipe.py."""
    homes = {"stage": stage.directory, "kit": paths.ROOT / driver_recipe.INTERPOSER}
    built = partial(BuiltStage, stage, rules=f"stage {stage.number}", homes=homes)
    path = stage.directory / driver_recipe.FILE
    taken = path.is_file() and paths.inside(path, stage.directory)
    if not taken or path.stat().st_size > SOURCE_BYTES:
        cause = f"{paths.shown(stage.directory)} holds no {path.name} that can be taken"
        recipe = driver_recipe.recipe(stage, b"")
        return built(Module(recipe.name, module.folder_of(recipe, kernel), cause))
    left_out = [
        f"{other.name} is left out: {path.name} is all that counts"
        for other in sorted(stage.directory.iterdir())
        if other != path and (other.suffix in (".c", ".h") or other.name in BUILD_FILES)
    ]
    text, shown = path.read_bytes(), paths.shown(path)
    recipe = driver_recipe.recipe(stage, text, raced)
    if look:
        recipe = _for_a_debugger(recipe, [driver_recipe.OBJECT])
    if said := allowed_c.refused_with_kernel_headers(shown, text.decode(errors="replace")):
        made = Module(recipe.name, module.folder_of(recipe, kernel), said)
        return built(made, left_out=tuple(left_out))
    made = _compiled(recipe, kernel, jobs)
    if made.ok and raced:
        said = driver_contract.evades(made.directory / f"{driver_recipe.OBJECT}.i", shown)
        made = replace(made, cause=said)
    if not made.ok or raced or look:
        return built(made, left_out=tuple(left_out))
    broken = driver_contract.violations(made.directory / f"{driver_recipe.OBJECT}.o", kernel.tree)
    return built(made, tuple(broken), tuple(left_out))


def _compiled(recipe: Recipe, kernel: Kernel, jobs: int) -> Module:
    made = module.build(recipe, kernel, jobs)
    too_large = diagnostics.is_too_large(made.cause)
    return replace(made, cause=diagnostics.TOO_LARGE) if too_large else made


def stage_objects(built: BuiltStage) -> list[Path]:
    """The objects that were made of the stage's own sources."""
    found = sorted((built.module.directory / "stage").glob("*.o"))
    # One of a source that is there no more stays behind.
    sources = (".c", ".o_shipped")
    return [p for p in found if any(p.with_suffix(suffix).exists() for suffix in sources)]


def kit_objects(manifest: Manifest) -> tuple[str, ...]:
    """Return the kit's objects in the module of a stage, without suffix."""
    return (*KIT_OBJECTS, *(VECTOR_OBJECTS if manifest.traits.vector else ()))


def kit(manifest: Manifest, kernel: Kernel) -> Recipe:
    """The kit's half of a module, compiled once for all copies of a stage."""
    names = (*KIT_FILES, *(VECTOR_FILES if manifest.traits.vector else ()))
    return Recipe(
        name=device.NAME,
        folder=f"kit-{manifest.number}",
        files={f"kit/{name}": (paths.COMMON / name).read_bytes() for name in names},
        objects=kit_objects(manifest),
        flags=(
            "-I$(src)/kit",
            f"-DFIBDRV_STAGE={manifest.number}",
            f"-DFIBDRV_MAX_N={manifest.max_n}",
            f"-DFIBDRV_NAME='\"{manifest.name}\"'",
            # On every kernel the same: no vectors and no floating point, wherever it could have
            # them (uml is a program). And what debuggers unwind by is not in memory.
            "-mgeneral-regs-only",
            "-fno-asynchronous-unwind-tables",
        ),
        # Some distributions' kernels look for overflows, with writable data of their own.
        settings=() if kernel.instrumented else ("UBSAN_SANITIZE := n",),
        labels={"kit": "common"},
    )


def _recipe(stage: Stage, kernel: Kernel, text: preprocess.Texts) -> Recipe:
    """Return the recipe of a stage's module: its own texts in stage/, the kit's files in kit/."""
    shared = kit(stage.manifest, kernel)
    shipped = stage.object_for(kernel.arch)
    own = {f"stage/{name}": content for name, content in text.files.items()}
    if shipped:
        own[f"stage/{shipped.name}"] = shipped.read_bytes()
        # modpost reads there which sources an object is made of, and fails without the file.
        own[f"stage/.{shipped.stem}.o.cmd"] = b"# It is here without its sources.\n"
    label, shown = stages.place(stage), paths.shown(stage.directory)
    # kbuild makes x.o from x.c, and from x.o_shipped by a mere copy.
    names = sorted(name.rsplit(".", 1)[0] for name in own if name.endswith((".c", ".o_shipped")))
    tag = hashlib.sha256(os.fsencode(stage.directory.resolve())).hexdigest()[:8]
    recipe = Recipe(
        name=device.NAME,
        # A name may be as long as a file's may be; this is one with something behind it.
        folder=f"{stage.key[:80]}-{tag}",
        files=own,
        objects=tuple(names),
        # The kernel does without this warning, for its false alarms; of a carry that is not set
        # nothing else says a word.
        flags=(
            *shared.flags,
            *c_flags.language(),
            *(["-Wmaybe-uninitialized"] if "gcc" in kernel.compiler else []),
        ),
        settings=(
            *shared.settings,
            *(f"CFLAGS_{name}.o := {preprocess.PREPROCESSED}" for name in names if not shipped),
            *_vector_settings(stage.manifest),
        ),
        labels={label: label, "kit": "common"},  # the texts name the stage's files by it
        support=("common",),
        shown={"stage": shown, label: shown, "kit": "common"},
        dialect=device.DIALECT,
        isolated=stage.isolated,
        shared=shared,
    )
    if not stage.own_driver:
        return recipe
    driver = {"kit/driver.c": (stage.directory / "driver.c").read_bytes()}
    return replace(
        recipe,
        files={**shared.files, **own, **driver},
        objects=(*shared.objects, *names),
        labels={**recipe.labels, "kit/driver.c": f"{label}/driver.c"},
        shown={**recipe.shown, "kit/driver.c": f"{shown}/driver.c"},
        shared=None,
    )


def _vector_settings(manifest: Manifest) -> tuple[str, ...]:
    """Return the lines for kbuild that give a stage's vector files flags of their own."""
    lines: list[str] = []
    for name in manifest.traits.vector:
        target = f"stage/{Path(name).stem}.o"
        lines.append(f"CFLAGS_REMOVE_{target} := {c_flags.INTEGERS_ONLY}")
        lines.append(f"CFLAGS_{target} += {' '.join(c_flags.vector())}")
    return tuple(lines)


def _undefined(symbol: str, objects: list[Path], stage: Stage) -> str:
    """What to say of a symbol that is used and nowhere defined."""
    users = [
        path.with_suffix(".c").name
        for path in objects
        if ("U", symbol) in stage_contract.symbols(path)
    ]
    if not users:
        return f"the stage defines no {symbol}, which the driver calls: see common/stage.h"
    user = f"{paths.shown(stage.directory)}/{users[0]}"
    return f"{user}: {symbol} is used, but nothing defines it for a module"


def _violations(
    stage: Stage, made: Module, objects: list[Path], kernel: Kernel
) -> list[stage_contract.ContractViolation]:
    if stage.shipped:
        return []  # the kit's own, without what it would be read by
    kit = [made.directory / f"{name}.o" for name in kit_objects(stage.manifest)]
    return stage_contract.violations(
        objects, kit, kernel.instrumented, stage.traits, stages.place(stage)
    )
