# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build a kernel module from given sources with kbuild, in a directory of its own."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from grader import sandbox
from grader.base import object_store, paths, scratch
from grader.base.errors import LabError
from grader.lab.log_diagnostics import LogPatterns
from grader.sandbox import COMPILER, CommandResult, SandboxView, kernel_build_paths

# Limits of a build. Without limits, a source such as #include "/dev/zero" makes the compiler run
# for ever and use all memory.
LIMITS = COMPILER


# The end of the message about a large stack frame. A frame may not fill the stack, because the
# kernel's own functions also need a few KB of it.
OF_STACK = "and a kernel's stack has 16 KB in all"


@dataclass(frozen=True)
class Kernel:
    """A kernel for which modules can be built."""

    key: str  # Identifies the kernel in file names; each key has its own builds.
    tree: Path  # Argument of make -C.
    arch: str  # Value of ARCH= for kbuild.
    release: str
    compiler: str
    extra_cflags: tuple[str, ...] = ()
    instrumented: bool = False  # True if the kernel's compiler flags add checkers to a module.


@dataclass(frozen=True)
class Recipe:
    """The sources and build settings of a module."""

    name: str  # Name of the module in the kernel.
    folder: str  # Name of its build directory, unique for each kernel.
    files: Mapping[str, bytes]  # C files, headers and .o_shipped files by path in folder.
    objects: tuple[str, ...]  # Object names in link order, without suffix.
    flags: tuple[str, ...] = ()  # Compiler flags; $(src) is the build directory.
    settings: tuple[str, ...] = ()  # Further lines for kbuild, like NAME := VALUE.
    # Names that replace directories in debug information, which is then independent of the build
    # path.
    labels: Mapping[str, str] = field(default_factory=dict)
    # Labels of support code. A crash in support code is reported at its caller, if the caller is
    # known.
    support: tuple[str, ...] = ()
    # Names that replace directories in compiler messages, if these names differ from the labels.
    shown: Mapping[str, str] = field(default_factory=dict)
    isolated: bool = False  # True to compile in the sandbox, for an untrusted submission.
    # Objects to link first, which are compiled once, outside the sandbox, for all recipes.
    shared: Recipe | None = None
    dialect: LogPatterns = field(default_factory=LogPatterns)


@dataclass(frozen=True)
class Module:
    """The result of a build: a module, or the cause of its failure."""

    name: str
    directory: Path
    cause: str = ""  # Cause of the failure, in one line; "" if the build succeeded.
    log: str = ""  # Output of make.
    warnings: tuple[str, ...] = ()  # Warnings of the compiler, one line each.
    own: tuple[str, ...] = ()  # Prefixes of its source paths in debug information.
    support: tuple[str, ...] = ()
    log_patterns: LogPatterns = field(default_factory=LogPatterns)

    @property
    def ok(self) -> bool:
        """True if the build succeeded."""
        return not self.cause

    @property
    def path(self) -> Path:
        """The path of the module with debug information."""
        return self.directory / f"{self.name}.ko"

    @property
    def stripped(self) -> Path:
        """The path of the module without debug information, for machines."""
        return self.directory / f"{self.name}.stripped.ko"


def from_directory(directory: Path, name: str) -> Recipe:
    """Return the recipe of a module from all C files in a directory."""
    files = {
        p.name: p.read_bytes() for p in sorted(directory.iterdir()) if p.suffix in (".c", ".h")
    }
    objects = tuple(Path(file).stem for file in files if file.endswith(".c"))
    tag = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()[:8]
    return Recipe(
        name, f"{directory.name}-{tag}", files, objects, labels={"": paths.place(directory)}
    )


def _objects(recipe: Recipe) -> tuple[str, ...]:
    return (*_objects(recipe.shared), *recipe.objects) if recipe.shared else recipe.objects


def folder_of(recipe: Recipe, kernel: Kernel) -> Path:
    """Return the directory in which a recipe is built for a kernel."""
    return _kbuild_base() / kernel.key / recipe.folder


@cache
def exported(tree: Path) -> frozenset[str]:
    """Return the names that a kernel offers to modules.

    A module that defines one of them replaces it for all of its files, also for those of the kit.
    """
    path = tree / "Module.symvers"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return frozenset(line.split("\t")[1] for line in lines)


def build(recipe: Recipe, kernel: Kernel, jobs: int = 2) -> Module:
    """Build a module, or reuse the last build if nothing has changed."""
    directory = folder_of(recipe, kernel)
    own = tuple(label for label in recipe.labels.values() if label not in recipe.support)
    module = Module(
        recipe.name, directory, own=own, support=recipe.support, log_patterns=recipe.dialect
    )
    with _locked(directory.with_suffix(".lock")):
        return _build_locked(module, recipe, kernel, jobs)


def _compiled(recipe: Recipe, kernel: Kernel) -> dict[str, bytes]:
    """Compile a shared recipe once. Return files that other recipes use instead of its sources.

    The keys are paths below a recipe's directory: object.o_shipped, which kbuild copies, kbuild's
    command record of each object, and the headers. Raise LabError if the recipe does not compile,
    because these sources are part of the kit and learners cannot fix them.
    """
    directory, made_of = folder_of(recipe, kernel), digest(recipe, kernel)
    stamp = directory / "built.digest"
    with _locked(directory.with_suffix(".lock")):
        # An interrupted make, for example that of sparse, removes the object that it was compiling.
        made = all((directory / f"{name}.o").is_file() for name in recipe.objects)
        if not made or not stamp.is_file() or stamp.read_text() != made_of:
            _prepare(directory, recipe, recipe.files, kernel)
            stored = _store_key(recipe, kernel)
            if not _fetch(stored, directory):
                _make_shared(recipe, kernel, directory)
                _keep(stored, recipe, directory)
            stamp.write_text(made_of)
        files = {name: text for name, text in recipe.files.items() if name.endswith(".h")}
        for name in recipe.objects:
            files[f"{name}.o_shipped"] = (directory / f"{name}.o").read_bytes()
            files[_record(name)] = (directory / _record(name)).read_bytes()
        return files


def _make_shared(recipe: Recipe, kernel: Kernel, directory: Path) -> None:
    # Build only the objects, because a linked module would have undefined symbols.
    result = _make(_command(kernel, directory, f"{recipe.name}.o"), None)
    if result.status or result.ended_by:
        result.check_host(directory)
        why = result.cause or _error_line(readable(result.text, directory, recipe.labels))
        raise LabError(
            f"the kit's shared module code does not compile here: {why}", "run make doctor"
        )


def _record(name: str) -> str:
    """Return the name of the file in which kbuild records the command that makes an object."""
    return Path(name).with_name(f".{Path(name).name}.o.cmd").as_posix()


def _store_key(recipe: Recipe, kernel: Kernel) -> str:
    """Return the key of a build in the store, which outlives build directories and kernel trees."""
    tree: list[tuple[int, int]] = []
    for name in (".config", "Module.symvers"):
        with suppress(OSError):
            about = (kernel.tree / name).stat()
            tree.append((about.st_mtime_ns, about.st_size))
    # Include this file, so that a change of it invalidates all stored results.
    return object_store.key(digest(recipe, kernel), tree, Path(__file__).read_bytes())


# Placeholder for the build directory in a stored command record, so that any directory can reuse
# the record.
_DIRECTORY = b"$(directory)"
# The modification time of objects from the store. It is older than all sources, so make compiles
# every object again after a change of any source. Modules get the current time instead, because gdb
# warns if a module is older than its sources.
_OLD = 86400


def _keep(key: str, recipe: Recipe, directory: Path) -> None:
    """Store the results of a build."""
    # Also store the objects and kbuild's commands, with which kbench links its module again. The
    # objects of the shared recipe have an entry of their own.
    name = recipe.name
    names = [f"{name}.ko", f"{name}.stripped.ko", f".{name}.ko.cmd", _record(name)]
    names += [f"{name}.o", f"{name}.mod.o", ".module-common.o"]
    for name in recipe.objects:
        names += [f"{name}.o", f"{name}.i", f"{name}.ssa", _record(name)]
    found = {name: directory / name for name in names if (directory / name).is_file()}
    files = {name: path.read_bytes() for name, path in found.items()}
    for name in (name for name in files if name.endswith(".cmd")):
        files[name] = files[name].replace(os.fsencode(directory), _DIRECTORY)
    object_store.keep(key, files)


def _fetch(key: str, directory: Path) -> bool:
    """Copy the stored results of an equal build to a directory. Return whether they exist."""
    files = object_store.fetch(key)
    for name, content in files.items():
        path = directory / name
        path.unlink(missing_ok=True)
        is_record = name.endswith(".cmd")
        path.write_bytes(
            content.replace(_DIRECTORY, os.fsencode(directory)) if is_record else content
        )
        if path.suffix != ".ko":
            os.utime(path, (_OLD, _OLD))
    return bool(files)


def digest(recipe: Recipe, kernel: Kernel) -> str:
    """Return a digest of everything that a build depends on."""
    shared = digest(recipe.shared, kernel) if recipe.shared else ""
    made_of = (kernel, _kbuild(recipe, kernel), sorted(recipe.files.items()), shared)
    return hashlib.sha256(repr(made_of).encode()).hexdigest()


def _prepare(directory: Path, recipe: Recipe, files: Mapping[str, bytes], kernel: Kernel) -> None:
    (directory / "built.digest").unlink(missing_ok=True)
    directory.mkdir(parents=True, exist_ok=True)
    _sync(directory, files)
    (directory / "Kbuild").write_text(_kbuild(recipe, kernel))


def _command(
    kernel: Kernel, directory: Path, target: str, isolated: bool = False, jobs: int = 2
) -> list[str]:
    # KCFLAGS also reaches the file that kbuild generates, whose debug information would otherwise
    # hold the path of this directory. Kbuild's ccflags-y do not reach it.
    flags = f"KCFLAGS=-ffile-prefix-map={directory}=."
    probes = _probes(kernel)
    return [
        "make", f"-j{jobs}", "-C", str(kernel.tree), f"M={directory}", f"ARCH={kernel.arch}",
        flags, f"MAKEFILES={probes}", f"LAB_PROBES={probes}",
        f"LAB_REMEMBER={'' if isolated else 'y'}", target,
    ]  # fmt: skip


def _probes(kernel: Kernel) -> Path:
    """Return the file that remembers the compiler's options for a kernel; make it if necessary."""
    rules = Path(__file__).with_name("probes.mk").read_bytes()
    made_of = hashlib.sha256(rules + repr(kernel).encode()).hexdigest()[:8]
    file = _kbuild_base() / kernel.key / f"probes-{made_of}.mk"
    if not file.exists():
        with _locked(file.with_suffix(".lock")):
            new = file.with_suffix(".new")
            new.write_bytes(rules)
            new.replace(file)
    return file


def _build_locked(module: Module, recipe: Recipe, kernel: Kernel, jobs: int) -> Module:
    directory, made_of = module.directory, digest(recipe, kernel)
    stamp = directory / "built.digest"
    message = directory / "built.warnings"
    made = [module.path, module.stripped, *(directory / f"{name}.o" for name in _objects(recipe))]
    try:
        if stamp.read_text() == made_of and all(path.is_file() for path in made):
            return replace(module, warnings=tuple(message.read_text().splitlines()))
    except OSError:
        pass
    shared = _compiled(recipe.shared, kernel) if recipe.shared else {}
    _prepare(directory, recipe, {**recipe.files, **shared}, kernel)
    stored = _store_key(recipe, kernel)
    if not recipe.isolated and _fetch(stored, directory):
        for name in _objects(recipe.shared) if recipe.shared else ():
            path = directory / f"{name}.o"
            path.write_bytes(shared[f"{name}.o_shipped"])
            os.utime(path, (_OLD, _OLD))
        message.write_text("")
        stamp.write_text(made_of)
        return module
    if message.is_file() and message.read_text():
        # Compile all objects again, because otherwise the warnings of unchanged files would vanish.
        for name in recipe.objects:
            (directory / f"{name}.o").unlink(missing_ok=True)
    room = None
    if recipe.isolated:
        read = (*kernel_build_paths(kernel.tree), _probes(kernel))
        room = SandboxView(read=read, write=(directory,))
    result = _make(_command(kernel, directory, "modules", recipe.isolated, jobs), room)
    log = readable(result.text, directory, {**recipe.labels, **recipe.shown})
    warnings = _warnings(log)
    message.write_text("".join(f"{line}\n" for line in warnings))
    if result.ended_by:
        return replace(module, cause=f"the compiler was stopped: {result.cause}", log=log)
    if result.status:
        result.check_host(directory)
        return replace(module, cause=_error_line(log), log=log)
    stripped = _make(["strip", "--strip-debug", "-o", str(module.stripped), str(module.path)], room)
    if stripped.status:
        return replace(module, cause=f"strip: {stripped.text.strip()}", log=log)
    if not recipe.isolated and not warnings:
        _keep(stored, recipe, directory)
    stamp.write_text(made_of)
    return replace(module, log=log, warnings=warnings)


def _kbuild_base() -> Path:
    """Return the parent of all build directories, a path without blanks as kbuild requires."""
    if re.fullmatch(r"[\w./+-]+", str(paths.BUILD), re.ASCII):
        return paths.BUILD / "modules"
    tag = hashlib.sha256(str(paths.BUILD).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"{paths.KIT}-modules-{tag}"


def _kbuild(recipe: Recipe, kernel: Kernel) -> str:
    # Map the paths, so that the result does not depend on the location of the kernel tree and of
    # the checkout. If several prefixes match, the compiler uses the last one.
    prefixes = []
    for place, label in recipe.labels.items():
        prefixes.append(f"-ffile-prefix-map=$(src){'/' if place else ''}{place}={label}")
        # From Linux 6.13 on the compiler runs in the build directory and gets relative names.
        top = [name for name in recipe.files if "/" not in name]
        relative = {place: label} if place else {name: f"{label}/{name}" for name in top}
        prefixes += [f"-ffile-prefix-map={name}={shown}" for name, shown in relative.items()]
    objects = " ".join(f"{name}.o" for name in _objects(recipe))
    # From Linux 6.13 on kbuild's own rule for .o_shipped does not work below M=, because its target
    # has become "%", and make ignores such a rule for a file that another rule can compile.
    given = [name.removesuffix(".o_shipped") for name in recipe.files if name.endswith("_shipped")]
    shared = _objects(recipe.shared) if recipe.shared else ()
    shipped = [
        f"$(obj)/{name}.o: $(src)/{name}.o_shipped; @cat $< >$@" for name in (*shared, *given)
    ]
    return "\n".join(
        [
            "# Made by grader/lab/module.py.",
            f"obj-m := {recipe.name}.o",
            # kbuild needs no object list if the only object has the name of the module.
            *([] if _objects(recipe) == (recipe.name,) else [f"{recipe.name}-y := {objects}"]),
            "ccflags-y := " + " ".join([*recipe.flags, "-g", *prefixes, *kernel.extra_cflags]),
            *recipe.settings,
            *shipped,
            "",
        ]
    )


def _sync(folder: Path, files: Mapping[str, bytes]) -> None:
    """Update folder to hold these files. Write only changed files, which make then rebuilds."""
    for path in [*folder.glob("*"), *folder.glob("*/*")]:
        name = path.relative_to(folder).as_posix()
        generated = name.endswith(".mod.c")
        if path.suffix in (".c", ".h", ".o_shipped") and name not in files and not generated:
            path.unlink()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)


def _warnings(log: str) -> tuple[str, ...]:
    """Return the compiler's warnings, one line each; reword the warning about a large frame."""
    found: dict[str, None] = {}
    function = ""
    for line in log.splitlines():
        within = re.match(r"\S+: In function ['‘](\w+)['’]:$", line)
        function = within[1] if within else function
        if not re.match(r"\S+:\d+:(?:\d+:)? warning: ", line):
            continue
        frame = re.fullmatch(r"(.* warning: )the frame size of (\d+) bytes is larger than .*", line)
        if frame:
            who = function or "a function"
            message = f"{frame[1]}{who} keeps {int(frame[2]):,} bytes on the stack, {OF_STACK}"
        found[message if frame else line] = None
    return tuple(found)


def large_frame(module: Module) -> str:
    """Return the first warning about a large stack frame in the module, or ""."""
    for warning in module.warnings:
        place, _, message = warning.partition(": warning: ")
        if message.endswith(OF_STACK):
            return f"{message} ({':'.join(place.split(':')[:2])})"
    return ""


def _error_line(log: str) -> str:
    for pattern in (
        r"^.+?:\d+:(?:\d+:)? (?:fatal |internal compiler )?error: .*",
        r"^.+?:\d+: (?:Fatal error|Error): .*",  # error messages of the assembler
        r"^cc1: .*",
        r"^gcc: .*(?:File size limit exceeded|Killed|Segmentation fault).*",
        r"^ERROR: modpost: .*",
        r"^.*(?:undefined reference|multiple definition).*",
        r"^make.*\*\*\* .*",
    ):
        match = re.search(pattern, log, re.MULTILINE)
        if match:
            return match[0].strip()
    lines = [line for line in log.splitlines() if line.strip()]
    return lines[-1] if lines else "make failed and printed nothing"


def readable(log: str, directory: Path, labels: Mapping[str, str]) -> str:
    """Return compiler messages with the directories of the sources replaced by their labels.

    From Linux 6.13 on the messages begin with a name that is relative to the build directory.
    """
    for place in sorted(labels, key=len, reverse=True):
        begin = f"{directory}/{place}" if place else str(directory)
        instead = labels[place].replace("\\", r"\\")
        log = re.sub(rf"{re.escape(begin)}(?=[/:])", instead, log)
        inside = rf"{re.escape(place)}(?=[/:])" if place else r"(?=[\w+-]+\.[chS][:,])"
        slash = "" if place else "/"
        log = re.sub(
            rf"(?m)^((?:In file included| +) from |){inside}", rf"\g<1>{instead}{slash}", log
        )
    return log


def environment() -> dict[str, str]:
    """Return the environment for compilers: the grader's without the variables that change kbuild.

    They come from a calling make or from the settings of the user. A killed compiler leaves its
    temporary files, so these are made in a folder of build/, which make clean removes.
    """
    temporary = paths.BUILD / "compilers"
    temporary.mkdir(parents=True, exist_ok=True)
    unwanted = re.compile(
        r"MAKE.*|MFLAGS|KBUILD.*|[A-Z]|ARCH|CROSS_COMPILE|\w*FLAGS\w*|LLVM|CC|LD|LC_.*|LANGUAGE"
    )
    # Ask for English messages, which the parsers of this module need. LANG is set, too, because
    # kbuild unsets LC_ALL.
    ours = {"LC_ALL": "C", "LANG": "C", "TMPDIR": str(temporary)}
    return {k: v for k, v in os.environ.items() if not unwanted.fullmatch(k)} | ours


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, so that two runs do not build in the same directory at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(command: list[str], room: SandboxView | None) -> CommandResult:
    """Run one command of a build within LIMITS, in the sandbox if a view is given."""
    scratch.check_stopped()
    ours = None if room else environment()
    return sandbox.run(command, LIMITS, room, environment=ours, together=True)
