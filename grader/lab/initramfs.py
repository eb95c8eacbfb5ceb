# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make the guest's initramfs, with busybox, the lab's programs and further files."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from grader.base.errors import DISK_FULL, LabError, disk_full, full_disk
from grader.base.printable import decoded
from grader.lab import guest_program
from grader.lab.guest_program import GUEST

BUSYBOX = Path("/bin/busybox")

# The commands in the machine; each is a link to busybox.
APPLETS = (
    "awk base64 cat chmod chown clear cp cpio cut date dd df dmesg echo env false find free grep"
    " head hexdump hostname id insmod kill killall less ln ls lsmod md5sum mkdir mknod more mount"
    " mv od poweroff printf ps pwd renice rm rmdir rmmod sed seq setsid sh sha256sum sleep sort"
    " stat stty su sync tail tee test time timeout top touch tr true umount uname uniq vi wc watch"
    " xargs yes"
).split()


def make(output: Path, files: Mapping[str, Path]) -> None:
    """Write an initramfs to output. files: further files, by their paths in the machine.

    The caller must remove the folder of output, which may contain temporary files.
    """
    _checked(output, standard(files), whole=True)


def pack(output: Path, files: Mapping[str, Path]) -> None:
    """Write an archive of only these files, for a machine that already has the standard files."""
    _checked(output, files, whole=False)


def standard(files: Mapping[str, Path]) -> dict[str, Path]:
    """Return the standard files of every machine together with these files."""
    if not BUSYBOX.is_file():
        raise LabError("/bin/busybox is missing", "run scripts/setup.sh")
    ours = {
        "/init": GUEST / "init",
        "/etc/profile": GUEST / "profile",
        "/bin/busybox": BUSYBOX,
        "/bin/agent": guest_program.agent(),
        "/bin/cost": guest_program.cost(),
    }
    return {**ours, **files}


def _checked(output: Path, files: Mapping[str, Path], whole: bool) -> None:
    try:
        _make(output, files, whole)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = output.parent.parent
        raise full_disk(where, "TMPDIR") from error


def _make(output: Path, files: Mapping[str, Path], whole: bool) -> None:
    root = output.with_name("root")
    root.mkdir()
    if whole:
        _lay_out(root)
    for name, source in files.items():
        target = root / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
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
        if disk_full(output.parent):
            raise OSError(errno.ENOSPC, DISK_FULL)
        raise LabError(
            f"cpio cannot make the initramfs: {decoded(cpio.stderr).strip()}", "run make doctor"
        )
    shutil.rmtree(root)


def _lay_out(root: Path) -> None:
    for name in ("bin", "dev", "etc", "lib", "proc", "root", "sys", "tmp"):
        (root / name).mkdir()
    for applet in APPLETS:
        (root / "bin" / applet).symlink_to("busybox")
    (root / "etc/passwd").write_text("root::0:0::/root:/bin/sh\nlearner::1000:1000::/tmp:/bin/sh\n")
    (root / "etc/group").write_text("root::0:\nlearner::1000:\n")
