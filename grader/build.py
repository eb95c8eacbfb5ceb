# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build a stage as a module for one kernel: the stage's C files, the kit's everything else."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from . import contract, paths, scratch
from .errors import LabError, check_disk
from .stages import Stage

# What of the kit goes into the module; never taken from a stage's directory.
KIT_FILES = ("driver.c", "call.c", "fibdrv.h", "stage.h")

# A source may keep the compiler busy for ever or make it eat memory: #include "/dev/zero" does.
BUILD_TIMEOUT = 300
BUILD_BYTES = 4 << 30
# And no file that it writes is larger, nor any source: an array may be.
FILE_BYTES = 64 << 20
SOURCE_BYTES = 1 << 20


@dataclass(frozen=True)
class Kernel:
    """A kernel to build modules for."""

    key: str  # names it in file names; another key, another build
    tree: Path  # what make -C takes
    arch: str  # ARCH= of kbuild
    release: str
    compiler: str
    extra_cflags: tuple[str, ...] = ()


@dataclass
class Built:
    """The result of a build: a module, or a cause."""

    stage: Stage
    directory: Path
    cause: str = ""
    log: str = ""
    breaches: list[contract.Breach] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there is a module."""
        return not self.cause

    @property
    def objection(self) -> str:
        """Why it is not to be graded or measured: there is no module, or what the contract has
        against it; or nothing."""
        broken = self.breaches[0] if self.breaches else None
        return self.cause or (f"{broken.got}; stage.h allows {broken.expected}" if broken else "")

    @property
    def module(self) -> Path:
        """The module with its debug information."""
        return self.directory / "fibdrv.ko"

    @property
    def stripped(self) -> Path:
        """The module as it goes into a machine."""
        return self.directory / "fibdrv.stripped.ko"


def _kbuild_base() -> Path:
    """Where modules are built: kbuild cannot work below a path with blanks or the like."""
    if re.fullmatch(r"[\w./+-]+", str(paths.BUILD), re.ASCII):
        return paths.BUILD / "modules"
    tag = hashlib.sha256(str(paths.BUILD).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"fibdrv-lab-modules-{tag}"


def sources(stage: Stage, warnings: list[str] | None = None) -> Iterator[Path]:
    """The C files of a stage that are used; says in warnings what is left out."""
    left_out = warnings if warnings is not None else []
    for path in sorted(stage.directory.iterdir()):
        if path.suffix not in (".c", ".h"):
            if path.name in ("Makefile", "Kbuild", "Makefile.include"):
                left_out.append(f"{path.name} is left out: the kit's own build files count")
        elif not re.fullmatch(r"[A-Za-z0-9_+-]+\.[ch]", path.name):
            left_out.append(f"{path.name!r} is left out: a file name of letters and digits, please")
        elif not path.is_file() or not paths.inside(path, stage.directory):
            left_out.append(f"{path.name} is left out: not a file of this directory")
        elif path.stat().st_size > SOURCE_BYTES:
            left_out.append(f"{path.name} is left out: larger than {SOURCE_BYTES:,} bytes")
        elif path.name in KIT_FILES:
            if not (path.name == "driver.c" and stage.own_driver):
                left_out.append(f"{path.name} is left out: the kit's own counts")
        else:
            yield path


def _label(stage: Stage) -> str:
    """The stage's directory in debug information and log: the same wherever the checkout is."""
    if paths.inside(stage.directory, paths.ROOT):
        shown = str(stage.directory.resolve().relative_to(paths.ROOT.resolve()))
    else:
        shown = f"{stage.directory.absolute().parent.name}/{stage.key}"
    return re.sub(r"[^\w./+-]", "_", shown, flags=re.ASCII)


def _kbuild(stage: Stage, kernel: Kernel, objects: list[str]) -> str:
    manifest = stage.manifest
    flags = [
        f"-DFIBDRV_STAGE={manifest.number}",
        f"-DFIBDRV_MAX_N={manifest.max_n}",
        f"-DFIBDRV_NAME='\"{manifest.name}\"'",
        "-g",
        # On every kernel the same: no vectors and no floating point, wherever it could have them
        # (uml is a program). And what debuggers unwind by is for debuggers, not in memory.
        "-mgeneral-regs-only",
        "-fno-asynchronous-unwind-tables",
        # The tree of the kernel and the checkout may be anywhere: what is built is the same.
        f"-ffile-prefix-map=$(src)/stage={_label(stage)}",
        "-ffile-prefix-map=$(src)/kit=common",
        # Of several that fit, the compiler takes the last.
        *(
            [f"-ffile-prefix-map=$(src)/kit/driver.c={_label(stage)}/driver.c"]
            if stage.own_driver
            else []
        ),
        *kernel.extra_cflags,
    ]
    return "\n".join(
        [
            "# Made by grader/build.py.",
            "obj-m := fibdrv.o",
            "fibdrv-y := " + " ".join(objects),
            "ccflags-y := -I$(src)/kit " + " ".join(flags),
            # Some distributions' kernels look for overflows, with writable data of their own.
            *([] if _instrumented(kernel) else ["UBSAN_SANITIZE := n"]),
            "",
        ]
    )


def _sync(folder: Path, files: dict[str, bytes]) -> None:
    """Make folder hold these files, touching only what differs so that make does little."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.suffix in (".c", ".h", ".o_shipped") and path.name not in files:
            path.unlink()
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)


def _error_line(log: str) -> str:
    for pattern in (
        r"^.+?:\d+:(?:\d+:)? (?:fatal )?error: .*",
        r"^cc1: .*",
        r"^gcc: .*(?:File size limit exceeded|Killed).*",
        r"^ERROR: modpost: .*",
        r"^.*(?:undefined reference|multiple definition).*",
        r"^make.*\*\*\* .*",
    ):
        match = re.search(pattern, log, re.MULTILINE)
        if match:
            return match[0].strip()
    lines = [line for line in log.splitlines() if line.strip()]
    return lines[-1] if lines else "make failed and said nothing"


def _undefined(symbol: str, objects: list[Path], stage: Stage) -> str:
    """What to say of a symbol that is used and nowhere defined."""
    users = [
        path.with_suffix(".c").name for path in objects if ("U", symbol) in contract.symbols(path)
    ]
    if not users:
        return f"the stage defines no {symbol}, which the driver calls: see common/stage.h"
    user = f"{paths.shown(stage.directory)}/{users[0]}"
    return f"{user}: {symbol} is used, but nothing defines it for a module"


def _instrumented(kernel: Kernel) -> bool:
    """Whether the compiler puts checks of the kernel's own into a module."""
    return kernel.key.startswith("uml-debug")


def _breaches(built: Built, objects: list[Path], kernel: Kernel) -> list[contract.Breach]:
    stage = built.stage
    if stage.shipped:
        return []  # the kit's own, without what it would be read by
    kit = [built.directory / "kit" / name for name in ("driver.o", "call.o")]
    return contract.breaches(
        objects, kit, kernel.tree, _instrumented(kernel), stage.number, _label(stage)
    )


def environment() -> dict[str, str]:
    """Ours, without what would reach into kbuild from a make above us or a user's habits."""
    unwanted = re.compile(
        r"MAKE.*|MFLAGS|KBUILD.*|[A-Z]|ARCH|CROSS_COMPILE|\w*FLAGS\w*|LLVM|CC|LD|LC_.*|LANGUAGE"
    )
    # Messages in English, to be understood below. The kernel's Makefile does away with LC_ALL.
    english = {"LC_ALL": "C", "LANG": "C"}
    return {k: v for k, v in os.environ.items() if not unwanted.fullmatch(k)} | english


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two runs in one checkout must not build in one directory at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(command: list[str]) -> tuple[int | None, str]:
    """Run make; its exit status, or None when it took too long, and what it said."""
    make = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment(),
        start_new_session=True,
    )
    try:
        # make takes a while to start the compiler, which inherits this.
        resource.prlimit(make.pid, resource.RLIMIT_AS, (BUILD_BYTES, BUILD_BYTES))
        resource.prlimit(make.pid, resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
        output, _ = make.communicate(timeout=BUILD_TIMEOUT)
        return make.returncode, output
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        # Too slow, or a Ctrl-C: the compiler below it must end as well.
        if make.returncode is None:
            scratch.kill_group(make.pid)
            make.communicate()


def build(stage: Stage, kernel: Kernel, jobs: int = 2) -> Built:
    """Build a stage for a kernel, or find that nothing has changed since the last time."""
    tree_tag = hashlib.sha256(os.fsencode(stage.directory.resolve())).hexdigest()[:8]
    directory = _kbuild_base() / kernel.key / f"{stage.key}-{tree_tag}"
    built = Built(stage, directory)
    if not stage.fits(kernel.arch):
        raise LabError(
            f"the kit's stage {stage.number} is here as an object for machine uml, without its"
            " source: choose that machine, or a copy of yours"
        )
    files = [stage.shipped] if stage.shipped else sources(stage, built.warnings)
    stage_files = {p.name: p.read_bytes() for p in files}
    kit_files = {name: (paths.COMMON / name).read_bytes() for name in KIT_FILES}
    if stage.own_driver:
        kit_files["kit_driver.c"] = kit_files["driver.c"]
        kit_files["driver.c"] = (stage.directory / "driver.c").read_bytes()
    # kbuild makes x.o from x.c, and from x.o_shipped by a mere copy.
    names = sorted(Path(n).stem for n in stage_files if n.endswith((".c", ".o_shipped")))
    if not names:
        built.cause = f"{paths.shown(stage.directory)} holds no C file: write fib.c and decimal.c"
        return built
    stage_objects = [f"stage/{name}.o" for name in names]
    kbuild = _kbuild(stage, kernel, ["kit/driver.o", "kit/call.o", *stage_objects])

    digest = hashlib.sha256(repr((kernel, kbuild, stage_files, kit_files)).encode()).hexdigest()
    with _locked(directory.with_suffix(".lock")):
        return _build_locked(
            built, kernel, digest, kbuild, stage_objects, stage_files, kit_files, jobs
        )


def _build_locked(
    built: Built,
    kernel: Kernel,
    digest: str,
    kbuild: str,
    stage_objects: list[str],
    stage_files: dict[str, bytes],
    kit_files: dict[str, bytes],
    jobs: int,
) -> Built:
    directory = built.directory
    stamp = directory / "built.digest"
    objects = [directory / name for name in stage_objects]
    try:
        made = stamp.read_text() == digest
    except OSError:
        made = False
    if made and all(p.is_file() for p in (built.module, built.stripped, *objects)):
        built.breaches = _breaches(built, objects, kernel)
        return built

    stamp.unlink(missing_ok=True)
    directory.mkdir(parents=True, exist_ok=True)
    _sync(directory / "stage", stage_files)
    _sync(directory / "kit", kit_files)
    (directory / "Kbuild").write_text(kbuild)
    status, output = _make(
        ["make", f"-j{jobs}", "-C", str(kernel.tree), f"M={directory}", f"ARCH={kernel.arch}",
         "modules"]
    )  # fmt: skip
    built.log = readable(output, directory, built.stage)
    if status is None:
        built.cause = f"the compiler was not done after {BUILD_TIMEOUT} s, and stopped"
        return built
    if status:
        check_disk(built.log, directory)
        built.cause = _error_line(built.log)
        missing = re.match(r'ERROR: modpost: "(\w+)" .* undefined!', built.cause)
        if missing:
            built.cause = _undefined(missing[1], objects, built.stage)
        return built
    built.breaches = _breaches(built, objects, kernel)
    subprocess.run(
        ["strip", "--strip-debug", "-o", str(built.stripped), str(built.module)], check=True
    )
    stamp.write_text(digest)
    return built


def readable(log: str, directory: Path, stage: Stage) -> str:
    """The compiler's messages with the paths of the sources as the learner knows them."""
    log = log.replace(f"{directory}/stage/", f"{paths.shown(stage.directory)}/")
    if stage.own_driver:
        log = log.replace(f"{directory}/kit/driver.c", f"{paths.shown(stage.directory)}/driver.c")
    return log.replace(f"{directory}/kit/", "common/")
