# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The lab kernel with another memblock_add_range() in it: built, booted, and what its log says.

The tree that the lab kernel is built in is kept, once; for each function it is copied, and only
what the change needs is compiled. Modules are those of the lab kernel, whose configuration it has.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from electives.memblock import kernels, variants
from electives.memblock.kernels import VariantNotBuiltError
from electives.memblock.variants import Variant
from grader.base import paths, scratch
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import module
from grader.lab.uml import Uml
from grader.sandbox import ResourceLimits, run

FOLDER = paths.BUILD / "memblock" / "kernels"
# The executable has its debug information until it is stripped, and is made several times.
BUILD = ResourceLimits(
    wall_seconds=1800, cpu_seconds=1800, file_bytes=1 << 30, memory_bytes=4 << 30
)
# memblock=debug shows the calls from the moment on that the kernel has read its command line. What
# had been added and reserved by then is in the regions: the kernel prints them when all is done.
REGIONS = """
static int __init memblock_say_regions(void)
{
	memblock_dump_all();
	return 0;
}
early_initcall(memblock_say_regions);
"""
LINE = re.compile(r"^(?:\[ *[\d.]+\] )?(memblock_\w+: .*|MEMBLOCK .*| (?:memory|reserved)[ .[].*)")
PAGE = 4096
# Where in the caller the call stands is the compiler's matter.
PLACE = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+$")


def tree() -> Path:
    """The built tree of the lab kernel, in the cache; built when it is missing."""
    script = paths.SCRIPTS / "lab-kernel.sh"
    completed = subprocess.run([str(script), "uml", "--tree"], stdout=subprocess.PIPE, text=True)
    scratch.check_stopped()
    if completed.returncode:
        raise LabError("there is no lab kernel to change: see the message above")
    return Path(completed.stdout.strip())


def release(entry: Path) -> str:
    """The version of the kernel in a tree's entry."""
    return str(json.loads((entry / "info.json").read_text())["kernel_release"])


@contextmanager
def _alone() -> Iterator[None]:
    """One run at a time: what a dead one has left is in the way of nobody."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def built(entry: Path, variant: Variant, progress: Progress) -> Path:
    """The executable of the lab kernel with a variant in it; the latest of each name is kept."""
    text = variants.memblock_c(entry / "build", variant) + REGIONS
    made_of = hashlib.sha256(f"{entry.name}\n{text}".encode()).hexdigest()[:12]
    name = f"linux-{release(entry)}-{variant.name}"
    target = FOLDER / f"{name}-{made_of}"
    with _alone():
        if not target.is_file():
            progress.step(f"build the lab kernel with {variant.where or variant.name}")
            half_made = FOLDER / "half"
            shutil.rmtree(half_made, ignore_errors=True)
            try:
                _build(entry, text, variant, half_made)
                for old in FOLDER.glob(f"{name}-*"):
                    old.unlink()
                (half_made / "stripped").rename(target)
            finally:
                shutil.rmtree(half_made, ignore_errors=True)
    return target


def _build(entry: Path, text: str, variant: Variant, folder: Path) -> None:
    folder.mkdir()
    _must(["cp", "-a", "--reflink=auto", str(entry / "build"), str(folder / "tree")], variant)
    place = folder / "tree"
    (place / "mm/memblock.c").write_text(text, encoding="utf-8")
    jobs = min(len(os.sched_getaffinity(0)), 8)
    # A changed part of a kernel is no other release.
    named = ("KBUILD_BUILD_USER=lab", "KBUILD_BUILD_HOST=fibdrv")
    _must(["make", f"-j{jobs}", "-C", str(place), "ARCH=um", *named, "linux"], variant)
    _must(["strip", "--strip-debug", "-o", str(folder / "stripped"), str(place / "linux")], variant)


def _must(command: list[str], variant: Variant) -> None:
    scratch.check_stopped()
    result = run(command, BUILD, environment=module.environment(), together=True)
    if result.status is None:
        raise LabError(f"the kernel with {variant.name} is not built: {result.cause}")
    if result.status:
        result.check_host(FOLDER)
        said = kernels.complaint(result.text)
        raise VariantNotBuiltError(f"the kernel with {variant.name} does not compile: {said}")


def log(linux: Path) -> list[str]:
    """Boot it; what memblock=debug says: the calls in order, then the regions.

    At fixed addresses: where a user-mode kernel's memory begins would be drawn by lot otherwise.
    """
    fixed = ("setarch", os.uname().machine, "-R")
    guest = Uml("uml", "", 256, "memblock=debug", linux, fixed).boot()
    try:
        text = guest.channel.check("dmesg", 30)
    finally:
        guest.stop()
    found = [LINE.match(line) for line in text.splitlines()]
    return [PLACE.sub("", match[1]) for match in found if match]


def end_of_image(linux: Path) -> int:
    """Where the executable ends, in whole pages: the heap begins there."""
    said = run(["nm", str(linux)], BUILD).text
    found = re.search(r"^([0-9a-f]+) \w _end$", said, re.MULTILINE)
    if found is None:
        raise LabError(f"nm finds no end of {paths.shown(linux)}")
    return -(-int(found[1], 16) // PAGE) * PAGE


def moved(log_lines: list[str], by: int) -> list[str]:
    """What a log would say if the executable were larger by so many bytes.

    It lies in memory from address 0 on, as the first reserved region, with what of the heap was
    used before; what is reserved later is taken from the end of the memory.
    """
    first = next((line for line in log_lines if line.startswith(" reserved[0x0]")), "")
    end = re.search(r"-0x([0-9a-f]+)\]", first)
    if not by or end is None:
        return log_lines
    last = int(end[1], 16)

    def larger(match: re.Match[str]) -> str:
        number = int(match[1], 16)
        total = match.string[: match.start()].endswith("reserved size = ")
        return (
            f"0x{number + by:0{len(match[1])}x}"
            if total or number in (last, last + 1)
            else match[0]
        )

    return [re.sub(r"0x([0-9a-f]+)", larger, line) for line in log_lines]


def offered(linux: Path) -> str:
    """Where it is to be found under a name that stays the same; as a person would type it."""
    link = FOLDER.parent / "linux"
    new = FOLDER / f"link-{os.getpid()}"
    new.symlink_to(Path(FOLDER.name) / linux.name)
    new.replace(link)
    return paths.shown(link)
