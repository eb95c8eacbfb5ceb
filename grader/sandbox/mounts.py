# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build the arguments of bubblewrap for the mounts of a sandbox, and its system call filter."""

from __future__ import annotations

import os
import platform
import struct
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.base.errors import LabError
from grader.sandbox import libraries
from grader.sandbox.limits import ResourceLimits

BWRAP = "bwrap"
SUPERVISOR = "/supervisor"

# The compiler, its libraries, make and tar; and the few files in /etc that they need.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_LOADER_CACHE = "/etc/ld.so.cache"
_ETC = ("/etc/alternatives", _LOADER_CACHE, "/etc/ld.so.conf", "/etc/ld.so.conf.d")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C",
    "LC_ALL": "C",
}


@dataclass(frozen=True)
class SandboxView:
    """The files that a command in the sandbox sees besides the system's programs.

    Each path is mounted at the same path in the sandbox. If it is a symbolic link, it is followed,
    so the caller must decide whether to allow links; links below it are resolved inside the
    sandbox. A directory in write is a copy in memory. Its regular files are copied back if the
    command ends by itself. /tmp is writable as well, but is not copied back.

    If program is set, the sandbox contains only that program, its loader and its libraries: no
    /tmp and no writable directory. The program cannot execute another program, and its input is a
    pipe, so it cannot read its input twice.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    program: Path | None = None
    # FIFOs and devices, which the command reads and writes directly.
    shared: tuple[Path, ...] = ()

    @property
    def stores(self) -> tuple[Path, ...]:
        """The directories in memory; the supervisor passes their descriptors to the grader."""
        return () if self.program else (Path("/tmp"), *self.write)

    @property
    def needs(self) -> tuple[Path, ...]:
        """The files and directories of the host that are mounted."""
        if self.program is None:
            return self.read
        return (*self.read, self.program, *libraries.needed(self.program))


def kernel_build_paths(tree: Path) -> tuple[Path, ...]:
    """Return the paths that a module build reads: the kernel tree and the trees it refers to."""
    entry = tree.absolute().parent
    # The parts of a cache entry refer to each other, so mount the whole entry.
    places = [entry if (entry / ".complete").is_file() else tree.absolute(), tree.resolve()]
    try:
        makefile = (tree / "Makefile").read_text(errors="replace")
    except OSError:
        makefile = ""
    for line in makefile.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "include" and words[1].startswith("/"):
            places.append(Path(words[1]).parent)
    source = tree / "source"
    if source.is_symlink():
        places.append(source.resolve())
    return tuple(dict.fromkeys(places))


def check_readable(paths: tuple[Path, ...]) -> None:
    """Raise LabError if only root can read one of the paths."""
    for place in paths:
        if place.exists():
            wanted = 0o5 if place.is_dir() else 0o4
            if place.stat().st_mode & wanted != wanted:
                raise LabError(
                    f"{place} is readable by root only",
                    "run chmod -R o+rX there, or start as a user",
                )


def environment(more: dict[str, str]) -> dict[str, str]:
    """Return the complete environment of a sandboxed command."""
    return {**_ENVIRONMENT, **more}


@cache
def _has_size() -> bool:
    """Return whether bubblewrap has --size (from 0.7 on). The grader checks sizes in any case."""
    output = subprocess.run([BWRAP, "--help"], capture_output=True, text=True)
    return "--size " in output.stdout + output.stderr


def command(
    view: SandboxView, limits: ResourceLimits, supervisor: Path, cwd: Path, info: int | None
) -> list[str]:
    """Return the arguments of bubblewrap, which writes the pid of its first process to info."""
    size = ["--size", str(limits.store_bytes)] if _has_size() else []
    arguments = [f"--unshare-{what}" for what in ("pid", "net", "ipc", "uts", "cgroup-try")]
    if os.geteuid():
        arguments += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
    else:
        # The supervisor changes to an unused user, because root is exempt from the process limit.
        arguments += "--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID".split()
    arguments += ["--die-with-parent", "--hostname", "sandbox"]
    arguments += [] if info is None else ["--info-fd", str(info)]
    there = _Mounts()
    there.add(Path("/proc"), "--proc", "/proc")
    for name in _DEVICES:
        there.add(Path("/dev", name), "--dev-bind", f"/dev/{name}", f"/dev/{name}")
    there.link(Path("/dev/fd"), "/proc/self/fd")
    if view.program:
        there.bind(Path(_LOADER_CACHE), needed=False)
        for path in filter(Path.is_symlink, map(Path, _SYSTEM)):
            there.link(path, str(path.readlink()))
    else:
        there.add(Path("/tmp"), *size, "--tmpfs", "/tmp")
        for name in (*_SYSTEM, *_ETC):
            there.bind(Path(name), needed=False)
    # Mount a directory before the mounts inside it.
    for path in sorted(view.needs, key=lambda p: len(p.parts)):
        there.bind(path.absolute())
    for path in sorted(view.write, key=lambda p: len(p.parts)):
        there.add(path, *size, "--tmpfs", str(path))
    for path in view.shared:
        there.add(path, "--dev-bind", str(path), str(path))
    there.add(Path(SUPERVISOR), "--ro-bind", str(supervisor), SUPERVISOR)
    return [*arguments, *there.arguments, "--remount-ro", "/", "--chdir", str(cwd)]


class _Mounts:
    """The mounts of a sandbox so far, as arguments of bubblewrap."""

    def __init__(self) -> None:
        self.arguments: list[str] = []
        self.seen = {Path("/")}
        self.bound: set[Path] = set()

    def add(self, path: Path, *arguments: str) -> None:
        """Add a mount at a path. Make its parent directories, which all users may enter."""
        for above in reversed(path.parents):
            if above not in self.seen:
                self.seen.add(above)
                self.arguments += ["--dir", str(above)]
        self.seen.add(path)
        self.arguments += arguments

    def link(self, path: Path, target: str) -> None:
        self.add(path, "--symlink", target, str(path))

    def bind(self, path: Path, needed: bool = True) -> None:
        """Mount a path of the host read-only. Copy a symbolic link and mount its target, too."""
        if path in self.seen or not (needed or path.exists()):
            return
        if path.is_symlink() and not any(above in self.bound for above in path.parents):
            self.bind(path.resolve(), needed)
            self.link(path, str(path.readlink()))
        else:
            self.add(path, "--ro-bind", str(path), str(path))
            self.bound.add(path)


# System calls of x86-64 that no compiler or program needs, or that had kernel vulnerabilities.
_EPERM, _ENOSYS = 1, 38
_FORBIDDEN = (
    # Memory that belongs to no process or directory, and data buffers in the kernel.
    *(29, 64, 68, 240, 319, 447),  # shmget, semget, msgget, mq_open, memfd_create, memfd_secret
    *(41, 53),  # socket, socketpair
    # Access to other processes.
    *(101, 310, 311, 312, 438),  # ptrace, process_vm_readv, _writev, kcmp, pidfd_getfd
    # Namespaces and mounts.
    *(155, 161, 165, 166, 272, 308),  # pivot_root, chroot, mount, umount2, unshare, setns
    *(428, 429, 430, 431, 432, 433, 442),  # open_tree, move_mount, fs..., mount_setattr
    *(303, 304),  # name_to_handle_at, open_by_handle_at
    # Large interfaces of the kernel.
    *(103, 134, 154, 248, 249, 250),  # syslog, uselib, modify_ldt, add_key, request_key, keyctl
    *(298, 300, 321, 323, 425, 426, 427),  # perf_..., fanotify_init, bpf, userfaultfd, io_uring
)
_IOCTLS = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX, which insert input into a terminal.
_NEW_NAMESPACES = 0x7E02_0000  # The flags of clone() that create namespaces.


def seccomp_program() -> bytes | None:
    """Return the seccomp filter for bubblewrap; None on processors other than x86-64."""
    if platform.machine() != "x86_64":
        return None
    load, equal, at_least, any_bit, end = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, refuse, unknown, kill = 0x7FFF_0000, 0x5_0000 | _EPERM, 0x5_0000 | _ENOSYS, 0x8000_0000

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    def unless(code: int, value: int, verdict: int) -> list[bytes]:
        return [step(code, value, 0, 1), step(end, verdict)]

    steps = [step(load, 4), step(equal, 0xC000_003E, 1, 0), step(end, kill), step(load, 0)]
    # Block clone3, because its flags are in memory, where a filter cannot read them. Block all
    # calls of x32, which numbers the system calls in a second way.
    steps += [*unless(at_least, 0x4000_0000, unknown), *unless(equal, 435, unknown)]
    for number in _FORBIDDEN:
        steps += unless(equal, number, refuse)
    steps += [step(equal, 56, 0, 4), step(load, 16), *unless(any_bit, _NEW_NAMESPACES, refuse)]
    steps += [step(end, allow)]
    ioctls = [step(load, 24)]
    for number in _IOCTLS:
        ioctls += unless(equal, number, refuse)
    steps += [step(equal, 16, 0, len(ioctls)), *ioctls, step(end, allow)]
    return b"".join(steps)
