# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build and boot the lab kernel with another memblock_add_range(), and read its log.

The cache holds one tree in which the lab kernel was built. Each variant gets a copy of this tree,
in which make compiles only the changed files. The configuration is the lab kernel's, so its
modules can be loaded.
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
# The limits are high, because the executable has debug information until it is stripped, and the
# build writes it several times.
BUILD = ResourceLimits(
    wall_seconds=1800, cpu_seconds=1800, file_bytes=1 << 30, memory_bytes=4 << 30
)
# memblock=debug prints calls only after the kernel has read its command line. Regions that were
# added and reserved earlier are visible because this code prints all regions at the end.
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
# The offset of a call in its caller, which is removed from the log because it depends on the
# compiler.
PLACE = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+$")


def tree() -> Path:
    """Return the built tree of the lab kernel in the cache; build the kernel if it is missing."""
    script = paths.SCRIPTS / "lab-kernel.sh"
    completed = subprocess.run([str(script), "uml", "--tree"], stdout=subprocess.PIPE, text=True)
    scratch.check_stopped()
    if completed.returncode:
        raise LabError("there is no lab kernel to change", "follow the message above")
    return Path(completed.stdout.strip())


def release(entry: Path) -> str:
    """Return the release of the kernel in a cache entry."""
    return str(json.loads((entry / "info.json").read_text())["kernel_release"])


@contextmanager
def _alone() -> Iterator[None]:
    """Hold a lock, so that only one run builds and may remove leftovers of earlier runs."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def built(entry: Path, variant: Variant, progress: Progress) -> Path:
    """Build the lab kernel with a variant, and delete its older builds. Return the executable."""
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
    # Fixed names keep the build reproducible, so a changed function does not change the release.
    named = ("KBUILD_BUILD_USER=lab", "KBUILD_BUILD_HOST=fibdrv")
    _must(["make", f"-j{jobs}", "-C", str(place), "ARCH=um", *named, "linux"], variant)
    _must(["strip", "--strip-debug", "-o", str(folder / "stripped"), str(place / "linux")], variant)


def _must(command: list[str], variant: Variant) -> None:
    scratch.check_stopped()
    result = run(command, BUILD, environment=module.environment(), together=True)
    if result.status is None:
        raise LabError(
            f"the kernel with {variant.name} is not built: {result.cause}", "run the command again"
        )
    if result.status:
        result.check_host(FOLDER)
        output = kernels.complaint(result.text)
        raise VariantNotBuiltError(f"the kernel with {variant.name} does not compile: {output}")


def log(linux: Path) -> list[str]:
    """Boot a kernel. Return memblock's log: the calls in order, then the regions.

    Addresses are not randomized, because otherwise the start address of a user-mode kernel's
    memory would be random.
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
    """Return the address at which the heap begins: the executable's end, rounded up to a page."""
    output = run(["nm", str(linux)], BUILD).text
    found = re.search(r"^([0-9a-f]+) \w _end$", output, re.MULTILINE)
    if found is None:
        raise LabError(
            f"nm finds no end of {paths.shown(linux)}", "delete it and run the command again"
        )
    return -(-int(found[1], 16) // PAGE) * PAGE


def moved(log_lines: list[str], by: int) -> list[str]:
    """Return the log as it would be if the executable were larger by `by` bytes.

    The executable begins at address 0 and is the first reserved region, with the part of the heap
    used before; later reservations are made from the end of the memory.
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
    """Create a link with a fixed name to the executable. Return its path for messages."""
    link = FOLDER.parent / "linux"
    new = FOLDER / f"link-{os.getpid()}"
    new.symlink_to(Path(FOLDER.name) / linux.name)
    new.replace(link)
    return paths.shown(link)
