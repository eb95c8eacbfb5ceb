# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The program that tries a stage's functions: built with the sanitizers, and asked.

It runs within limits; that of a stranger's stage in the sandbox, as its compiler does.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader import sandbox
from grader.base import paths
from grader.base.errors import LabError, check_disk
from grader.sandbox import COMPILER, PROGRAM, Ended, Room
from grader.stage import build, contract, memory_report
from grader.stage.stages import Stage

# The first stage whose numbers are asked for in decimal.
DECIMAL_FROM = 8
# Processor time for all answers to one operation's questions.
SECONDS = 60
# A program that was built that long ago is removed when another is built.
OLD_SECONDS = 3600
NO_PROGRAM = "it does not compile"
BREACH = "it breaks the contract"
FLAGS = (
    "-std=gnu11 -O1 -g -fno-strict-aliasing -fsanitize=address,undefined"
    " -fno-sanitize-recover=all -fno-omit-frame-pointer"
).split()
# As for the kernel; and tables of jumps, which in a program hold differences, are not followed.
KERNELS = ("-mgeneral-regs-only", "-fno-jump-tables")
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
HERE = Path(__file__).resolve().parent


def program(stage: Stage) -> Path:
    """Build the program for a stage; LabError says where it does not compile."""
    userspace = paths.COMMON / "userspace"
    numbers = "hex" if stage.number < DECIMAL_FROM else "decimal"
    ours = [
        HERE / "function_tests.c",
        HERE / "function_tests_apart.c",
        HERE / f"function_tests_{numbers}.c",
        userspace / "account_malloc.c",
    ]
    own = list(build.sources(stage, []))
    headers = sorted([*HERE.glob("*.h"), *paths.COMMON.glob("*.h"), *userspace.glob("*.h")])
    content = b"".join(path.read_bytes() for path in [*ours, *own, *headers])
    key = hashlib.sha256(content).hexdigest()[:20]
    folder = paths.BUILD / "operations"
    target = folder / f"{_prefix(stage)}{key}"
    if target.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    _remove_old(folder)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        work = Path(scratch)
        for path in own:
            shutil.copyfile(path, work / path.name)
        flags = [
            *FLAGS, "-w", f"-DFIBDRV_STAGE={stage.number}",
            f"-DFIBDRV_MAX_N={stage.manifest.max_n}", f"-I{paths.COMMON}", f"-I{userspace}",
            f"-I{work}", f"-ffile-prefix-map={work}={paths.shown(stage.directory)}",
        ]  # fmt: skip
        compiler = [os.environ.get("CC", "gcc"), *flags]
        sources = [path.name for path in own if path.suffix == ".c"]
        room = Room(read=(paths.COMMON, HERE), write=(work,)) if stage.isolated else None
        _compile([*compiler, *KERNELS, "-c", *sources], room, work, stage)
        _compile([*compiler, "-c", *map(str, ours)], room, work, stage)
        objects = [f"{Path(name).stem}.o" for name in sources]
        kit = [f"{path.stem}.o" for path in ours]
        for breach in contract.program_breaches(
            [work / name for name in objects], [work / name for name in kit]
        ):
            raise LabError(f"{BREACH}: {breach.got}; stage.h allows {breach.expected}")
        _compile([*compiler, "-o", "program", *objects, *kit], room, work, stage)
        shutil.move(work / "program", target)
    return target


def _prefix(stage: Stage) -> str:
    place = hashlib.sha256(str(stage.directory).encode()).hexdigest()[:12]
    return f"{stage.number}-{place}-"


def remove(stage: Stage) -> None:
    """Remove the programs of a stage that will not be asked again."""
    for path in (paths.BUILD / "operations").glob(f"{_prefix(stage)}*"):
        path.unlink(missing_ok=True)


def _compile(command: Sequence[str], room: Room | None, work: Path, stage: Stage) -> None:
    ended = sandbox.run(command, COMPILER, room, cwd=work, together=True)
    if ended.ended_by:
        raise LabError(f"{NO_PROGRAM}: the compiler was stopped: {ended.cause}")
    if not ended.status:
        return
    check_disk(ended.text, work)
    lines = ended.text.splitlines()
    errors = [line for line in lines if "error" in line or "undef" in line]
    said = (errors or lines or ["the compiler said nothing"])[0]
    own = re.sub(r"^(?=[\w+-]+\.[ch]:\d)", f"{paths.shown(stage.directory)}/", said)
    own = own.replace(f"{work}/", f"{paths.shown(stage.directory)}/")
    if re.search(r"fatal error: (linux|asm)/", own):
        own += " (a stage is built as a program, too: stage.h has what it may use)"
    raise LabError(f"{NO_PROGRAM}: {own.replace(f'{paths.ROOT}/', '')}")


def _remove_old(folder: Path) -> None:
    """Remove what was built long ago; not what another run may be using, or removing, now."""
    for old in folder.iterdir():
        try:
            if old.is_file() and time.time() - old.stat().st_mtime > OLD_SECONDS:
                old.unlink()
        except FileNotFoundError:
            pass


def ask(path: Path, requests: Sequence[str], isolated: bool) -> tuple[list[str], str]:
    """The answers, a line each, and what ended the program before the last of them."""
    room = Room(read=(path,)) if isolated else None
    environment = OPTIONS if room else {**os.environ, **OPTIONS}
    limits = replace(PROGRAM, wall_seconds=2 * SECONDS, cpu_seconds=SECONDS)
    text = "".join(f"{request}\n" for request in requests).encode()
    ended = sandbox.run([path], limits, room, stdin=text, environment=environment)
    return ended.text.splitlines(), _last_words(ended)


# What a sanitizer calls it when a program leaves the blocks it has.
_OUTSIDE = ("use-after-poison", "heap-buffer-overflow")


def _last_words(ended: Ended) -> str:
    if ended.ended_by in ("time", "cpu"):
        return f"no answer within {SECONDS} s: an endless loop?"
    if ended.ended_by:
        return f"stopped: {ended.cause}"
    if not ended.status:
        return ""
    said = ended.errors.decode(errors="replace")
    assertion = re.search(r"(\S+\.[ch]):(\d+): \S+: Assertion `(.*)' failed", said)
    if assertion:
        name = Path(assertion[1]).name
        return f"the assertion {assertion[3]} does not hold ({name}:{assertion[2]})"
    kind = re.search(r"ERROR: AddressSanitizer: (\S+)|runtime error: (.*)", said)
    where = re.search(r"(?:#\d+ \S+ in (\w+) )?(?:\S*/)?(\w+\.[ch]):(\d+)", said)
    if "caused by a WRITE memory access" in said:
        where = re.search(r"#\d+ \S+ in (\w+) (?:\S*/)?(\w+\.[ch]):(\d+)", said)
        place = f" ({where[2]}:{where[3]} in {where[1]})" if where else ""
        return f"a write to an operand, or to memory that is nobody's{place}"
    if kind and kind[1] in ("heap-use-after-free", "attempting"):
        twice = "a block is given back twice" if kind[1] == "attempting" else kind[1]
        return f"{twice}{memory_report.place(said)}"
    if kind and kind[1] in _OUTSIDE:
        access = re.search(r"^(READ|WRITE) of size", said, re.M)
        verb = f"{access[1].lower()}s" if access else "reaches"
        place = memory_report.place(said)
        return f"it {verb} outside of a block, beyond its end or ahead of it{place}"
    what = (kind[1] or kind[2]) if kind else f"it ended with status {ended.status}"
    return f"{what} ({where[2]}:{where[3]})" if where else what
