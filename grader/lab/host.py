# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define machine host: this computer with its own kernel, so a faulty module can crash it.

Commands run as local processes of the user. sudo runs only insmod, rmmod, chown for the device
nodes, and dmesg if only root may read the kernel log.

LAB_HOST_ROOT names another root for /proc, /sys, /dev and /lib/modules, for tests.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from grader.base import paths, scratch
from grader.base.errors import LabError
from grader.base.printable import printable
from grader.lab.local_channel import LocalChannel
from grader.lab.machines import NOTHING, Contents
from grader.lab.module import Kernel

# Absolute paths below /dev, /sys or /proc in a command, which LAB_HOST_ROOT redirects.
SYSTEM = re.compile(r"(?<![\w/])/(?=(?:dev|sys|proc)/\w)")
# Standard device nodes, which belong to no module.
STANDARD = re.compile(r"(?<![\w/])/dev/(?:null|zero|full|u?random|tty|std\w+|fd)\b")
# Files of a guest, which machine host keeps in the machine's folder.
MODULE = re.compile(r"(?<![\w/])(?=/lib/\S+\.(?:ko|txt)\b)")

NOTICE = """\
Machine host is this computer. The kit is about to
  - load modules into its kernel ({release}) with sudo insmod, and unload them with sudo rmmod,
  - give {nodes} to you with sudo chown while one is loaded.
A mistake in a module can stop or damage this computer: save your work first.
For quiet figures, run all of it under scripts/quiet-cpu.
"""


def _root() -> Path:
    return Path(os.environ.get("LAB_HOST_ROOT") or "/")


def _read(path: str) -> str:
    try:
        return (_root() / path).read_text().strip()
    except OSError:
        return ""


def _sudo() -> list[str]:
    return [] if os.geteuid() == 0 else ["sudo"]


def unavailable() -> LabError | None:
    """Return the reason why no module can be loaded here; None if one can."""
    system = os.uname()
    other = "choose machine=uml or machine=qemu"
    if (system.sysname, system.machine) != ("Linux", "x86_64"):
        return LabError(
            "machine=host is not available: "
            f"this is {system.sysname} on {system.machine}, not Linux on x86-64",
            other,
        )
    if not (_root() / "proc/modules").exists():
        return LabError(
            "machine=host is not available: "
            f"this kernel ({system.release}) is built without loadable modules",
            other,
        )
    if _read("proc/sys/kernel/modules_disabled") == "1":
        return LabError(
            "machine=host is not available: "
            "loading modules is switched off until this computer is restarted",
            other,
        )
    lockdown = re.search(r"\[(\w+)\]", _read("sys/kernel/security/lockdown"))
    if lockdown and lockdown[1] != "none":
        return LabError(
            "machine=host is not available: "
            f"the kernel is locked down ({lockdown[1]}, as secure boot does) and"
            " accepts only signed modules",
            f"{other}, or switch secure boot off",
        )
    if _read("sys/module/module/parameters/sig_enforce") == "Y":
        return LabError(
            "machine=host is not available: "
            "the kernel accepts only signed modules (module.sig_enforce)",
            other,
        )
    if not (_root() / f"lib/modules/{system.release}/build/Makefile").is_file():
        return LabError(
            "machine=host is not available: the headers of this kernel are missing",
            f"run sudo apt-get install linux-headers-{system.release}",
        )
    if shutil.which("insmod") is None and not Path("/sbin/insmod").exists():
        return LabError(
            "machine=host is not available: insmod not found", "run sudo apt-get install kmod"
        )
    if _sudo() and shutil.which("sudo") is None:
        return LabError(
            "machine=host is not available: loading a module needs root, and sudo is not installed",
            other,
        )
    return None


def _is_loaded(module: str) -> bool:
    return bool(module) and (_root() / f"sys/module/{module}").exists()


def _build_id(module: str) -> str:
    try:
        return (_root() / f"sys/module/{module}/notes/.note.gnu.build-id").read_bytes().hex()
    except OSError:
        return ""


def _record() -> Path:
    """Return the path of the record of the loaded module. Its name contains the boot ID."""
    return scratch.base() / f"host-{_read('proc/sys/kernel/random/boot_id') or 'boot'}.json"


def _owner(module: str) -> Path | None:
    """Return the folder of the machine that loaded the module; None if it is unknown."""
    try:
        record = json.loads(_record().read_text())
        return Path(record["folder"]) if record["build_id"] == _build_id(module) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def note_loaded(folder: Path, module: str) -> None:
    """Record that the machine in folder loaded the module."""
    new = _record().with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps({"folder": str(folder), "build_id": _build_id(module)}))
    new.replace(_record())


def _unload(module: str) -> None:
    """Unload a module that this kit loaded; raise LabError if that fails."""
    completed = subprocess.run(
        [*_sudo(), "rmmod", module], capture_output=True, text=True, env=_environment(Path("/"))
    )
    if completed.returncode:
        reason = (completed.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LabError(
            f"the module {module} cannot be unloaded ({reason})",
            "close the files that keep it in use",
        )
    _record().unlink(missing_ok=True)


def _environment(programs: Path) -> dict[str, str]:
    # Add the sbin folders, because not every user's PATH contains the folder of insmod and rmmod.
    path = f"{programs}:{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return os.environ | {"PATH": path, "LC_ALL": "C"}


def _kernel_log() -> str:
    """Return the kernel log, with sudo if only root may read it; "" if it cannot be read."""
    command = ["dmesg"]
    for words in (command, [*_sudo(), *command]):
        completed = subprocess.run(
            words, capture_output=True, text=True, errors="replace", env=_environment(Path("/"))
        )
        if completed.returncode == 0:
            return printable(completed.stdout)
    return ""


def _program(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class HostRunning:
    """A running machine host: this computer, and a folder with modules and programs."""

    speed_factor = 1.0

    def __init__(self, folder: Path, module: str) -> None:
        self.folder = folder
        self.module = module
        self._stopped = False
        self.channel = LocalChannel(
            self._command, _environment(folder / "bin"), self._store, self.alive
        )

    @classmethod
    def prepare(cls, folder: Path, contents: Contents) -> HostRunning:
        """Copy modules and programs to folder, with wrappers of insmod and rmmod."""
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        for name, source in contents.files.items():
            if name.startswith(("/lib/", "/bin/")):
                target = folder / name.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        sudo = " ".join(_sudo())
        root = str(_root()).rstrip("/")
        nodes = " ".join(f"{root}{node}" for node in contents.nodes)
        insmod = shutil.which("insmod") or "/sbin/insmod"
        rmmod = shutil.which("rmmod") or "/sbin/rmmod"
        give = f"{sudo} chown {os.getuid()}:{os.getgid()} {nodes}" if sudo else ":"
        first = nodes.split()[0] if nodes else "/nonexistent"
        note = shlex.join([sys.executable, "-m", "grader.lab.host", str(folder), contents.module])
        _program(
            folder / "bin/insmod",
            [
                f'{sudo} {insmod} "$@" || exit',
                f"PYTHONPATH={shlex.quote(str(paths.ROOT))} {note}",
                f"stat -c '%u %g' {first} >{shlex.quote(str(folder / 'made-by'))} 2>/dev/null",
                f"test ! -e {first} || {give}",
            ],
        )
        _program(folder / "bin/rmmod", [f'exec {sudo} {rmmod} "$@"'])
        log = _kernel_log()
        (folder / "log-before").write_text(log.splitlines()[-1] if log else "")
        return cls(folder, contents.module)

    def _command(self, command: str) -> str:
        """Translate the paths in a guest's command to paths of this computer."""
        root = str(_root()).rstrip("/")
        if root:
            command = SYSTEM.sub(
                lambda m: "/" if STANDARD.match(command, m.start()) else f"{root}/", command
            )
        return MODULE.sub(str(self.folder), command)

    def _store(self, path: str) -> Path:
        """Return the path on this computer of a file of the guest."""
        if MODULE.match(path):
            target = self.folder / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            return target
        raise LabError(
            f"machine=host is this computer, so {path} is not copied to it", "use your own shell"
        )

    def killed(self) -> bool:
        """Return False, because this process could not run if this computer had stopped."""
        return False

    def owner_as_made(self, uid: int, gid: int) -> tuple[int, int]:
        """Return the owner of the first node before the wrapper of insmod changed it by chown."""
        if not _sudo() or (uid, gid) != (os.getuid(), os.getgid()):
            return uid, gid
        try:
            made_by = (self.folder / "made-by").read_text().split()
            return int(made_by[0]), int(made_by[1])
        except (OSError, ValueError, IndexError):
            return uid, gid

    def console(self) -> str:
        """Return the kernel messages since the machine was prepared."""
        log = _kernel_log()
        before = (self.folder / "log-before").read_text()
        at = log.rfind(before) if before else -1
        return log[at + len(before) :].lstrip("\n") if at >= 0 else log

    def alive(self) -> bool:
        """Return whether stop() has not been called; this computer itself is running."""
        return not self._stopped

    def stop(self) -> None:
        """Unload the module if this machine loaded it, and remove the folder."""
        if self._stopped:
            return
        self._stopped = True
        self.channel.close()
        try:
            if _is_loaded(self.module) and _owner(self.module) == self.folder:
                _unload(self.module)
        finally:
            scratch.remove(self.folder)


class Host:
    """The machine host: this computer."""

    name = "host"
    metric = "ns"
    debug = False
    cpus = os.cpu_count() or 1
    is_host = True

    def __init__(self) -> None:
        self._agreed = False

    def verifier(self) -> Host:
        """Return this machine, because no faster machine has the same kernel."""
        return self

    def facts(self) -> dict[str, str]:
        """Return the settings, besides the CPU, on which the measurements depend."""
        names = {
            "governor": "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "isolated CPUs": "sys/devices/system/cpu/isolated",
            "kernel command line": "proc/cmdline",
        }
        return {name: text for name, path in names.items() if (text := _read(path))}

    def kernel(self) -> Kernel:
        """Return this computer's kernel; raise LabError if no module can be loaded."""
        if reason := unavailable():
            raise reason
        release = os.uname().release
        tree = _root() / f"lib/modules/{release}/build"
        config = re.search(
            r'^CONFIG_CC_VERSION_TEXT="(.*)"$', _read(f"lib/modules/{release}/build/.config"), re.M
        )
        return Kernel(
            key=f"host-{re.sub(r'[^A-Za-z0-9_.+-]', '_', release)}",
            tree=tree,
            arch="x86",
            release=release,
            compiler=config[1] if config else "unknown",
        )

    def _agree(self, contents: Contents) -> None:
        """Print a warning and ask for consent, once in each run; raise LabError if refused."""
        if self._agreed:
            return
        nodes = " and ".join(contents.nodes[:1]) or "nothing"
        notice = NOTICE.format(release=os.uname().release, nodes=nodes)
        if os.environ.get("LAB_YES") != "1":
            if not sys.stdin.isatty():
                raise LabError(
                    "machine=host is not available: "
                    "a module in this computer's kernel needs consent",
                    "give yes=1 (or set LAB_YES=1) to consent",
                )
            print(notice, end="", file=sys.stderr)
            print("go on? [y/N] ", end="", file=sys.stderr, flush=True)
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                raise LabError(
                    "machine=host is not available: you did not agree, and nothing was done",
                    "choose another machine",
                )
        else:
            print(notice, end="", file=sys.stderr)
        # Let sudo ask for a password now, so that it does not ask during a measurement.
        if _sudo() and subprocess.run([*_sudo(), "-v"]).returncode:
            raise LabError(
                "machine=host is not available: loading a module needs root, and sudo refused",
                "choose another machine",
            )
        self._agreed = True

    def _clear(self, module: str) -> None:
        """Unload the module if a crashed run left it loaded.

        Raise LabError if make load or another program loaded it.
        """
        if not _is_loaded(module):
            return
        owner = _owner(module)
        if owner is None:
            raise LabError(
                f"machine=host is not available: the loaded module {module} is not from this kit",
                f"run sudo rmmod {module} first",
            )
        if (owner / "state.json").is_file():
            raise LabError(f"{module} is loaded here by make load", "run make unload first")
        _unload(module)

    def boot(self, contents: Contents = NOTHING) -> HostRunning:
        """Prepare a folder and unload the module of a crashed run. This computer does not boot."""
        return self._prepared(contents, scratch.folder)

    def boot_to_stay(self, contents: Contents, folder: Path) -> HostRunning:
        """Prepare folder like boot(). The module stays loaded after this process ends."""
        running = self._prepared(contents, lambda: folder)
        state = {"record": str(_record()), "module": contents.module}
        (folder / "state.json").write_text(json.dumps(state))
        return running

    def attach(self, folder: Path) -> HostRunning | None:
        """Return the machine that stays up in folder; None if this computer has rebooted since."""
        try:
            state = json.loads((folder / "state.json").read_text())
            record, module = state["record"], str(state["module"])
        except (OSError, ValueError, KeyError):
            return None
        return HostRunning(folder, module) if record == str(_record()) else None

    def _prepared(self, contents: Contents, folder: Callable[[], Path]) -> HostRunning:
        self.kernel()
        self._agree(contents)
        self._clear(contents.module)
        return HostRunning.prepare(folder(), contents)


MACHINE = Host()

if __name__ == "__main__":
    note_loaded(Path(sys.argv[1]), sys.argv[2])
