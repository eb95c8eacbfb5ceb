# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build a stage as a kernel module, from the stage's C files and the kit's files."""

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

# The kit's files in the module; a file of the same name in a stage's directory is ignored.
KIT_FILES = (
    "driver.c", "account.c", "account.h", "stage_checks.c", "stage_checks.h", "notices.c",
    "fibdrv.h", "stage.h", "freestanding.h", "manifest.h"
)  # fmt: skip
KIT_OBJECTS = ("kit/driver", "kit/account", "kit/stage_checks", "kit/notices")
# Further files of the kit in the module of a stage with vector files.
VECTOR_FILES = ("vector.c", "vector.h")
VECTOR_OBJECTS = ("kit/vector",)
# The only file of the kit that is compiled for each stage, and its object.
MANIFEST_FILE, MANIFEST_OBJECT = "manifest.c", "kit/manifest"
SOURCE_BYTES = 1 << 20
BUILD_FILES = ("Makefile", "Kbuild", "Makefile.include")


@dataclass(frozen=True)
class BuiltStage:
    """The result of a build: a module or a cause, and the violations of the contract."""

    stage: Stage
    module: Module
    violations: tuple[stage_contract.ContractViolation, ...] = ()
    excluded: tuple[str, ...] = ()  # Messages about the stage's unused files.
    rules: str = "stage.h"  # The document with the rules for the stage's objects.
    # For each folder in the module, the folder that its source files were copied from.
    homes: Mapping[str, Path] = field(default_factory=lambda: {"kit": paths.COMMON})

    @property
    def ok(self) -> bool:
        """Return whether the build made a module."""
        return self.module.ok

    @property
    def rejection(self) -> str:
        """Return the build error or the contract violation that forbids measurements, or ""."""
        broken = self.violations[0] if self.violations else None
        return self.cause or (
            f"{broken.got}; {self.rules} allows {broken.expected}" if broken else ""
        )

    @property
    def compared(self) -> tuple[int, ...]:
        """Return the numbers by which the stage's code decides, for tests near them."""
        if not self.ok or self.stage.shipped:
            return ()
        return stage_contract.compared(stage_objects(self), self.stage.traits.vector)

    @property
    def cause(self) -> str:
        """Return why the build failed, in one line."""
        return self.module.cause


def sources(stage: Stage, excluded: list[str]) -> Iterator[Path]:
    """Yield the C files of a stage that are used. Append a message to excluded for the others."""
    for path in sorted(stage.directory.iterdir()):
        if path.suffix not in (".c", ".h"):
            if path.name in BUILD_FILES:
                excluded.append(f"{path.name} is left out: only the kit's own build files are used")
        elif not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_+-]*\.[ch]", path.name):
            excluded.append(
                f"{path.name!r} is left out: its name must consist of letters and digits"
            )
        elif not path.is_file() or not paths.inside(path, stage.directory):
            excluded.append(f"{path.name} is left out: not a file of this directory")
        elif path.stat().st_size > SOURCE_BYTES:
            excluded.append(f"{path.name} is left out: larger than {SOURCE_BYTES:,} bytes")
        elif path.name in (*KIT_FILES, *VECTOR_FILES, MANIFEST_FILE):
            if not (path.name == "driver.c" and stage.own_driver):
                excluded.append(f"{path.name} is left out: the kit's own file of this name is used")
        else:
            yield path


# Without optimisation, a debugger can show each variable. At -O2 many variables have no location.
# By the frame pointer gdb finds where a function's arguments are stored, and stops there.
LOOK = "-O0 -fno-omit-frame-pointer"


def build(
    stage: Stage, kernel: Kernel, jobs: int = 2, trace: bool = False, look: bool = False
) -> BuiltStage:
    """Build a stage for a kernel, unless nothing has changed since the last build.

    With trace, fib_trace prints its arguments. With look, the stage's own files are compiled for a
    debugger. Such builds are never graded. Raise LabError if a stage without sources has no object
    for the kernel.
    """
    if not stage.fits(kernel.arch):
        raise LabError(
            f"the kit's stage {stage.number} is here without its source, and has no object"
            f" for kernels of {kernel.arch}",
            "choose another machine or your own copy",
        )
    if stage.manifest.driver:
        return build_driver(stage, kernel, jobs, look=look)
    excluded: list[str] = []
    text = _texts(stage, excluded, trace)
    recipe = _recipe(stage, kernel, text)
    if look:
        own = [name for name in recipe.objects if name.startswith("stage/")]
        recipe = _for_a_debugger(recipe, own)
    if text.cause:
        made = Module(device.NAME, module.folder_of(recipe, kernel), text.cause)
        return BuiltStage(stage, made, (), tuple(excluded))
    objects = [path for path in recipe.objects if path.startswith("stage/")]
    if not objects:
        cause = f"{paths.shown(stage.directory)} holds no C file: write fib.c and decimal.c"
        made = Module(device.NAME, module.folder_of(recipe, kernel), cause)
        return BuiltStage(stage, made, (), tuple(excluded))
    made = _compiled(recipe, kernel, jobs)
    made = replace(made, warnings=(*text.warnings, *made.warnings))
    files = [made.directory / f"{path}.o" for path in objects]
    if not made.ok:
        missing = re.match(r'ERROR: modpost: "(\w+)" .* undefined!', made.cause)
        if missing:
            made = replace(made, cause=_undefined(missing[1], files, stage))
        return BuiltStage(stage, made, (), tuple(excluded))
    violations = () if trace or look else tuple(_violations(stage, made, files, kernel))
    return BuiltStage(stage, made, violations, tuple(excluded))


def digest(stage: Stage, kernel: Kernel) -> str:
    """Return a digest of all inputs of the module of a stage that computes F(n)."""
    return module.digest(_recipe(stage, kernel, _texts(stage, [])), kernel)


def _texts(stage: Stage, excluded: list[str], trace: bool = False) -> preprocess.Texts:
    """Return a stage's preprocessed texts; none for a stage without sources."""
    if stage.shipped:
        return preprocess.Texts()
    return preprocess.texts(stage, list(sources(stage, excluded)), trace)


def _for_a_debugger(recipe: Recipe, objects: Sequence[str]) -> Recipe:
    """Return a recipe that compiles the given objects with variables visible to a debugger."""
    more = tuple(f"CFLAGS_{name}.o += {LOOK}" for name in objects)
    return replace(recipe, settings=(*recipe.settings, *more))


def build_driver(
    stage: Stage, kernel: Kernel, jobs: int = 2, raced: bool = False, look: bool = False
) -> BuiltStage:
    """Build a stage that is a driver. For raced see driver_recipe.py."""
    homes = {"stage": stage.directory, "kit": paths.ROOT / driver_recipe.INTERPOSER}
    built = partial(BuiltStage, stage, rules=f"stage {stage.number}", homes=homes)
    path = stage.directory / driver_recipe.FILE
    taken = path.is_file() and paths.inside(path, stage.directory)
    if not taken or path.stat().st_size > SOURCE_BYTES:
        cause = f"{paths.shown(stage.directory)} holds no usable {path.name}"
        recipe = driver_recipe.recipe(stage, b"")
        return built(Module(recipe.name, module.folder_of(recipe, kernel), cause))
    excluded = [
        f"{other.name} is left out: only {path.name} is used"
        for other in sorted(stage.directory.iterdir())
        if other != path and (other.suffix in (".c", ".h") or other.name in BUILD_FILES)
    ]
    text, shown = path.read_bytes(), paths.shown(path)
    recipe = driver_recipe.recipe(stage, text, raced)
    if look:
        recipe = _for_a_debugger(recipe, [driver_recipe.OBJECT])
    if message := allowed_c.refused_with_kernel_headers(shown, text.decode(errors="replace")):
        made = Module(recipe.name, module.folder_of(recipe, kernel), message)
        return built(made, excluded=tuple(excluded))
    made = _compiled(recipe, kernel, jobs)
    if made.ok and raced:
        compiled = made.directory / f"{driver_recipe.OBJECT}.o"
        directory = paths.shown(stage.directory)
        message = driver_contract.evades(compiled, stages.place(stage), directory)
        made = replace(made, cause=message)
    if not made.ok or raced or look:
        return built(made, excluded=tuple(excluded))
    broken = driver_contract.violations(made.directory / f"{driver_recipe.OBJECT}.o", kernel.tree)
    return built(made, tuple(broken), tuple(excluded))


def _compiled(recipe: Recipe, kernel: Kernel, jobs: int) -> Module:
    made = module.build(recipe, kernel, jobs)
    too_large = diagnostics.is_too_large(made.cause)
    return replace(made, cause=diagnostics.TOO_LARGE) if too_large else made


def stage_objects(built: BuiltStage) -> list[Path]:
    """Return the objects that were made from the stage's own sources."""
    found = sorted((built.module.directory / "stage").glob("*.o"))
    # Ignore objects whose source was removed, because such objects remain in the folder.
    sources = (".c", ".o_shipped")
    return [p for p in found if any(p.with_suffix(suffix).exists() for suffix in sources)]


def kit_objects(manifest: Manifest) -> tuple[str, ...]:
    """Return the kit's objects in a stage's module that are the same for all stages."""
    return (*KIT_OBJECTS, *(VECTOR_OBJECTS if manifest.traits.vector else ()))


def kit(manifest: Manifest, kernel: Kernel) -> Recipe:
    """Return the recipe of the kit's files in a module, compiled once for all stages.

    The files for vectors are only in the modules of stages that use them.
    """
    names = (*KIT_FILES, *(VECTOR_FILES if manifest.traits.vector else ()))
    return Recipe(
        name=device.NAME,
        folder="kit-vector" if manifest.traits.vector else "kit",
        files={f"kit/{name}": (paths.COMMON / name).read_bytes() for name in names},
        objects=kit_objects(manifest),
        flags=(
            "-I$(src)/kit",
            # Forbid vectors and floating point on every kernel, even on uml, where they would work
            # because uml is a user process. The module must hold no unwind tables for debuggers.
            "-mgeneral-regs-only",
            "-fno-asynchronous-unwind-tables",
        ),
        # Some distributions' kernels enable UBSAN, which adds writable data to each object.
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
        # modpost fails without this file, in which it looks for the sources of an object.
        own[f"stage/.{shipped.stem}.o.cmd"] = b"# It is here without its sources.\n"
    label, shown = stages.place(stage), paths.shown(stage.directory)
    # kbuild makes x.o from x.c, or copies it from x.o_shipped.
    names = sorted(name.rsplit(".", 1)[0] for name in own if name.endswith((".c", ".o_shipped")))
    own[f"kit/{MANIFEST_FILE}"] = (paths.COMMON / MANIFEST_FILE).read_bytes()
    tag = hashlib.sha256(os.fsencode(stage.directory.resolve())).hexdigest()[:8]
    recipe = Recipe(
        name=device.NAME,
        # Shorten the directory's name, which may already have the maximum length of a file name.
        folder=f"{stage.key[:80]}-{tag}",
        files=own,
        objects=(*names, MANIFEST_OBJECT),
        # The kernel disables this warning because of false alarms, but nothing else reports a
        # carry that is not initialised.
        flags=(
            *shared.flags,
            *c_flags.language(),
            *(["-Wmaybe-uninitialized"] if "gcc" in kernel.compiler else []),
        ),
        settings=(
            *shared.settings,
            *(f"CFLAGS_{name}.o := {preprocess.PREPROCESSED}" for name in names if not shipped),
            *_vector_settings(stage.manifest),
            f"CFLAGS_{MANIFEST_OBJECT}.o := {' '.join(_definitions(stage.manifest))}",
        ),
        labels={label: label, "kit": "common"},  # replacements for folders in line markers
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
        objects=(*shared.objects, *recipe.objects),
        labels={**recipe.labels, "kit/driver.c": f"{label}/driver.c"},
        shown={**recipe.shown, "kit/driver.c": f"{shown}/driver.c"},
        shared=None,
    )


def _definitions(manifest: Manifest) -> tuple[str, ...]:
    """Return the compiler options for manifest.c."""
    return (
        f"-DFIBDRV_STAGE={manifest.number}",
        f"-DFIBDRV_MAX_N={manifest.max_n}",
        f"-DFIBDRV_NAME='\"{manifest.name}\"'",
    )


def _vector_settings(manifest: Manifest) -> tuple[str, ...]:
    """Return the kbuild lines that give a stage's vector files flags of their own."""
    lines: list[str] = []
    for name in manifest.traits.vector:
        target = f"stage/{Path(name).stem}.o"
        lines.append(f"CFLAGS_REMOVE_{target} := {c_flags.INTEGERS_ONLY}")
        lines.append(f"CFLAGS_{target} += {' '.join(c_flags.vector())}")
    return tuple(lines)


def _undefined(symbol: str, objects: list[Path], stage: Stage) -> str:
    """Return a message about a symbol that is used but not defined."""
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
        return []  # the kit's own object needs no check
    names = (*kit_objects(stage.manifest), MANIFEST_OBJECT)
    kit = [made.directory / f"{name}.o" for name in names]
    return stage_contract.violations(
        objects,
        kit,
        kernel.instrumented,
        stage.traits,
        stages.place(stage),
        module.exported(kernel.tree),
    )
