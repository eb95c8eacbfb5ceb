# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The guest's file system: busybox, the client, the agent and the modules, all in memory."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from grader.base import paths
from grader.base.errors import DISK_FULL, LabError, check_disk

GUEST = Path(__file__).resolve().parent / "guest"
BUSYBOX = Path("/bin/busybox")

# What a learner's shell in the machine finds; the applets link to the one busybox.
APPLETS = (
    "awk base64 cat chmod chown clear cp cut date dd df dmesg echo env false find free grep head"
    " hexdump hostname id insmod kill killall less ln ls lsmod md5sum mkdir mknod more mount mv od"
    " poweroff printf ps pwd renice rm rmdir rmmod sed seq setsid sh sha256sum sleep sort stat stty"
    " su sync tail tee test time timeout top touch tr true umount uname uniq vi wc watch xargs yes"
).split()


def _program(name: str, sources: list[Path]) -> Path:
    """A static program of the guest, compiled when its sources have changed."""
    output = paths.BUILD / "guest" / name
    headers = [*paths.COMMON.glob("*.h"), *sources[0].parent.glob("*.h")]
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in [*sources, *headers])).hexdigest()
    stamp = output.with_suffix(".digest")
    if output.is_file() and stamp.is_file() and stamp.read_text() == digest:
        return output
    output.parent.mkdir(parents=True, exist_ok=True)
    new = output.with_suffix(f".new{os.getpid()}")
    gcc = subprocess.run(
        ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-static", "-s", "-I", str(paths.COMMON),
         "-o", str(new), *map(str, sources), "-lm", "-pthread"],
        capture_output=True,
        text=True,
    )  # fmt: skip
    if gcc.returncode:
        check_disk(gcc.stderr, output.parent)
        raise LabError(f"{name} does not compile: {gcc.stderr.strip().splitlines()[-1]}")
    new.replace(output)
    stamp.write_text(digest)
    return output


def fibctl() -> Path:
    """The user client, static."""
    sources = ("fibctl.c", "fibctl_batch.c", "fibctl_user.c")
    return _program("fibctl", [paths.COMMON / name for name in sources])


def agent() -> Path:
    """The guest's end of the wire, static."""
    return _program("agent", [GUEST / "agent.c"])


def hammer() -> Path:
    """The program that treats the device badly, static."""
    folder = paths.ROOT / "grader/stage/hammer"
    return _program("hammer", sorted(folder.glob("*.c")))


def make(output: Path, modules: dict[str, Path]) -> None:
    """Write an initramfs to output; modules go to /lib/fibdrv under their names.

    What does not end in .ko is a program and goes to /bin. The folder of output is the caller's,
    to be removed with all that is in it.
    """
    if not BUSYBOX.is_file():
        raise LabError("there is no /bin/busybox: run scripts/setup.sh")
    programs = {"fibctl": fibctl(), "agent": agent()}
    try:
        _make(output, modules, programs)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = output.parent.parent
        raise LabError(
            f"{DISK_FULL}: {where}; free some, or set TMPDIR to a folder elsewhere"
        ) from error


def _make(output: Path, modules: dict[str, Path], programs: dict[str, Path]) -> None:
    root = output.with_name("root")
    for name in ("bin", "dev", "etc", "lib/fibdrv", "proc", "root", "sys", "tmp"):
        (root / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "bin/busybox")
    for applet in APPLETS:
        (root / "bin" / applet).symlink_to("busybox")
    for name, program in programs.items():
        shutil.copy(program, root / "bin" / name)
    shutil.copy(GUEST / "init", root / "init")
    shutil.copy(GUEST / "profile", root / "etc/profile")
    (root / "etc/passwd").write_text("root::0:0::/root:/bin/sh\nlearner::1000:1000::/tmp:/bin/sh\n")
    (root / "etc/group").write_text("root::0:\nlearner::1000:\n")
    for name, module in modules.items():
        is_module = module.suffix == ".ko"
        shutil.copy(module, root / (f"lib/fibdrv/{name}.ko" if is_module else f"bin/{name}"))
    listing = "\n".join(sorted(str(p.relative_to(root)) for p in root.rglob("*")))
    with output.open("wb") as file:
        cpio = subprocess.run(
            ["cpio", "--quiet", "-o", "-H", "newc", "-R", "+0:+0", "--reproducible"],
            cwd=root,
            input=listing.encode(),
            stdout=file,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
        )
    if cpio.returncode:
        said = cpio.stderr.decode(errors="replace")
        if DISK_FULL in said:
            raise OSError(errno.ENOSPC, DISK_FULL)
        raise LabError(f"cpio makes no initramfs: {said.strip()}")
    shutil.rmtree(root)
