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

WAY_OUT = "or --no-sandbox, for trees that you trust"


def why_unavailable() -> str:
    """Return why no sandbox is available and what to do, in one line; "" if one is available."""
    if shutil.which(BWRAP) is None:
        return "bubblewrap is missing: scripts/setup.sh sandbox installs it"
    return _refused()


@cache
def _refused() -> str:
    if platform.system() != "Linux":
        return f"a sandbox needs Linux, this is {platform.system()}"
    try:
        result = run(["true"], ResourceLimits(wall_seconds=20), SandboxView())
    except SetUpError as error:
        return _cure(str(error))
    return (
        "" if result.status == 0 else f"true fails in the sandbox: {result.cause or result.status}"
    )


def require() -> None:
    """Install bubblewrap if it is missing. Raise LabError if no sandbox is available."""
    if shutil.which(BWRAP) is None:
        # setup.sh reports its progress and its errors itself.
        subprocess.run([str(paths.SCRIPTS / "setup.sh"), "sandbox"], stdout=subprocess.DEVNULL)
    why = why_unavailable()
    if why:
        raise LabError(f"no sandbox: {why}; {WAY_OUT}")


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name.replace(".", "/")).read_text().strip()
    except OSError:
        return ""


def _cure(message: str) -> str:
    message = message.removeprefix("bwrap: ")
    if os.geteuid():
        for name, refusing, allowing, who in (
            ("kernel.apparmor_restrict_unprivileged_userns", "1", "0", "AppArmor"),
            ("kernel.unprivileged_userns_clone", "0", "1", "this kernel"),
            ("user.max_user_namespaces", "0", "10000", "this system"),
        ):
            if _setting(name) == refusing:
                return (
                    f"{who} refuses it to ordinary users ({message}):"
                    f" sudo sysctl {name}={allowing}, until the next start"
                )
    if _in_container():
        return (
            f"this container refuses it ({message}): start it with --privileged"
            " (docker, podman), or grade outside of it"
        )
    if message.startswith("supervisor: ") or not os.geteuid():
        return f"bubblewrap is refused ({message}): try as an ordinary user"
    return f"bubblewrap is refused ({message}): see scripts/doctor.sh, or try as root"


def _in_container() -> bool:
    return any(Path(name).exists() for name in ("/.dockerenv", "/run/.containerenv")) or bool(
        os.environ.get("container")  # noqa: SIM112 - that is its name
    )
