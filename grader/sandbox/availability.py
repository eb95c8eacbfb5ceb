# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check whether a sandbox is available on this computer; if not, explain why and what to do."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path

from grader.base import paths
from grader.base.errors import LabError
from grader.sandbox.limits import ResourceLimits
from grader.sandbox.mounts import BWRAP, SandboxView
from grader.sandbox.running import run
from grader.sandbox.starting import SetUpError


def why_unavailable() -> str:
    """Return why no sandbox is available and what to do, in one line; "" if one is available."""
    return str(_unavailable() or "")


def _unavailable() -> LabError | None:
    if shutil.which(BWRAP) is None:
        return LabError("bubblewrap not found", "run scripts/setup.sh sandbox")
    return _refused()


@cache
def _refused() -> LabError | None:
    if platform.system() != "Linux":
        return LabError(f"a sandbox needs Linux, this is {platform.system()}", "use Linux")
    try:
        result = run(["true"], ResourceLimits(wall_seconds=20), SandboxView())
    except SetUpError as error:
        return _cure(error.problem)
    if result.status == 0:
        return None
    cause = result.cause or f"status {result.status}"
    return LabError(f"the command true fails in the sandbox: {cause}", "run make doctor")


def require() -> None:
    """Install bubblewrap if it is missing. Raise LabError if no sandbox is available."""
    if shutil.which(BWRAP) is None:
        # setup.sh reports its progress and its errors itself.
        subprocess.run([str(paths.SCRIPTS / "setup.sh"), "sandbox"], stdout=subprocess.DEVNULL)
    if why := _unavailable():
        raise LabError(
            f"no sandbox: {why.problem}",
            f"{why.action}, or give --no-sandbox for trees that you trust",
        )


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name.replace(".", "/")).read_text().strip()
    except OSError:
        return ""


def _cure(message: str) -> LabError:
    message = message.removeprefix("bwrap: ")
    if os.geteuid():
        for name, refusing, allowing, who in (
            ("kernel.apparmor_restrict_unprivileged_userns", "1", "0", "AppArmor"),
            ("kernel.unprivileged_userns_clone", "0", "1", "this kernel"),
            ("user.max_user_namespaces", "0", "10000", "this system"),
        ):
            if _setting(name) == refusing:
                return LabError(
                    f"{who} does not allow ordinary users to make a sandbox ({message})",
                    f"run sudo sysctl {name}={allowing} after each start",
                )
    if _in_container():
        return LabError(
            f"this container refuses a sandbox ({message})",
            "start it with --privileged (docker, podman), or run the command outside of it",
        )
    if message.startswith("supervisor: ") or not os.geteuid():
        return LabError(f"bubblewrap is refused ({message})", "run the command as an ordinary user")
    return LabError(f"bubblewrap is refused ({message})", "run make doctor, or the command as root")


def _in_container() -> bool:
    return any(Path(name).exists() for name in ("/.dockerenv", "/run/.containerenv")) or bool(
        os.environ.get("container")  # noqa: SIM112 - that is its name
    )
