# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run the kernel's own checks over the kit's kernel code: checkpatch.pl --strict and coccinelle.

scripts/kernel-checks.toml lists the files and the exceptions, with reasons. An exception that is no
longer needed is an error, too.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from grader.base import cache, command, paths, toml
from grader.base.errors import LabError

CONFIG = paths.SCRIPTS / "kernel-checks.toml"
SECONDS = 60


@dataclass(frozen=True)
class ToolFinding:
    """A finding of a tool. Its type is a type of checkpatch, or the name of a semantic patch."""

    path: str
    line: str
    type: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.type}: {self.text}"


def files(config: dict[str, Any]) -> list[str]:
    """Return the files to check, by the configuration's patterns."""
    known = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "*.c", "*.h"],
        cwd=paths.ROOT, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    return [
        name
        for name in known
        if any(fnmatch(name, pattern) for pattern in config["files"])
        and not any(fnmatch(name, pattern) for pattern in config["not_kernel_code"])
        and (paths.ROOT / name).is_file()
    ]


def checkpatch(source: Path, folder: Path, names: Sequence[str]) -> Iterator[ToolFinding]:
    """Yield the findings of checkpatch.pl --strict in a folder, to which it may write."""
    (folder / "include").mkdir()  # checkpatch.pl searches this folder for names in mixed case
    completed = subprocess.run(
        ["perl", str(source / "scripts/checkpatch.pl"), "--strict", "--no-tree", "--root=.",
         "--no-summary", "--terse", "--show-types", "-f", *names],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    for line in completed.stdout.splitlines():
        match = re.match(r"(\S+?):(\d+): (?:ERROR|WARNING|CHECK):(\w+): (.*)", line)
        if match:
            yield ToolFinding(*match.groups())
    if completed.returncode not in (0, 1) or completed.stderr:
        raise LabError(
            f"checkpatch.pl failed: {completed.stderr.strip()[-300:]}", "run make doctor"
        )


def coccinelle(source: Path, folder: Path, without: Sequence[str]) -> list[ToolFinding]:
    """Return the findings of the kernel's semantic patches in a folder."""
    patches = [
        path
        for path in sorted((source / "scripts/coccinelle").rglob("*.cocci"))
        if path.stem not in without and "virtual report" in path.read_text()
    ]
    if not patches:
        raise LabError(
            f"{source} holds no semantic patch", "delete it, so that it is unpacked again"
        )
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        found = threads.map(lambda patch: _matches(patch, folder), patches)
        return [complaint for some in found for complaint in some]


def _remembered(
    source: Path, folder: Path, names: Sequence[str], without: Sequence[str]
) -> list[ToolFinding]:
    """Return coccinelle's findings, cached until a file changes, because a run takes a minute."""
    texts = [(paths.ROOT / name).read_bytes() for name in names]
    told = hashlib.sha256(repr((source.name, names, texts, without)).encode()).hexdigest()[:16]
    kept = cache.read("kernel-checks", told)
    if "found" not in kept:
        found = coccinelle(source, folder, without)
        kept = {"found": [astuple(complaint) for complaint in found]}
        cache.write("kernel-checks", told, kept)
    return [ToolFinding(*fields) for fields in kept["found"]]


def _matches(patch: Path, folder: Path) -> list[ToolFinding]:
    """Return one semantic patch's findings in a folder."""
    options = re.search(r"^// Options:(.*)$", patch.read_text(), re.MULTILINE)
    completed = subprocess.run(
        ["spatch", "-D", "report", "--very-quiet", "--no-show-diff", "--cocci-file", str(patch),
         *(options[1].split() if options else ()), "--dir", "."],
        cwd=folder, capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    if completed.returncode:
        raise LabError(
            f"spatch {patch.name} failed: {completed.stderr.strip()[-300:]}", "run make doctor"
        )
    lines = (
        re.match(r"(?:\./)?(\S+?):(\d+)(?::[\d-]+)?:? (.*)", line)
        for line in completed.stdout.splitlines()
    )
    return [ToolFinding(m[1], m[2], patch.stem, m[3]) for m in lines if m]


def unexpected(
    found: Sequence[ToolFinding], config: dict[str, Any], names: Sequence[str]
) -> list[str]:
    """Return the findings that no exception covers, and the exceptions that cover no finding.

    names: the files that were checked. Exceptions for other files are not reported.
    """
    used: set[int] = set()
    message = []
    for complaint in found:
        covering = [
            i
            for i, exception in enumerate(config["exception"])
            if complaint.type in exception["types"]
            and any(fnmatch(complaint.path, pattern) for pattern in exception["files"])
        ]
        used.update(covering)
        if not covering:
            message.append(str(complaint))
    for i, exception in enumerate(config["exception"]):
        patterns = exception["files"]
        if i not in used and any(fnmatch(name, p) for name in names for p in patterns):
            message.append(f"{CONFIG.name}: nothing needs the exception for {exception['types']}")
    return message


def main() -> int:
    """Print findings without an exception, and unused exceptions; return 1 if there are any."""
    config = toml.read(CONFIG)
    completed = subprocess.run(
        [str(paths.SCRIPTS / "kernel-checks.sh")], stdout=subprocess.PIPE, text=True
    )
    if completed.returncode:
        raise LabError("kernel source not found", "follow the message above")
    source = Path(completed.stdout.strip())
    names = files(config)
    style_only = [
        name for name in names if any(fnmatch(name, pattern) for pattern in config["style_only"])
    ]
    with tempfile.TemporaryDirectory(prefix="checks") as directory:
        folder = Path(directory)
        for name in names:
            copy = folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((paths.ROOT / name).read_bytes())
        found = list(checkpatch(source, folder, names))
        for name in style_only:
            (folder / name).unlink()
        calling = [name for name in names if name not in style_only]
        found += _remembered(source, folder, calling, [*config["slow"], *config["need_ocaml"]])
    message = unexpected(found, config, names)
    print("".join(f"{line}\n" for line in message), end="")
    return 1 if message else 0


if __name__ == "__main__":
    sys.exit(command.end("kernel checks", main))
