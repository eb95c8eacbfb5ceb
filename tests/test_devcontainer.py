# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that each file named by the container for Codespaces and VS Code exists."""

from __future__ import annotations

import json
import os
import re
import shlex

from grader.base import paths

FILE = paths.ROOT / ".devcontainer" / "devcontainer.json"


def commands() -> list[list[str]]:
    """Return the words of each command that runs in the container."""
    settings = json.loads(FILE.read_text(encoding="utf-8"))
    found = []
    for name, line in settings.items():
        if name.endswith("Command"):
            found += [shlex.split(part) for part in line.split("&&")]
    return found


def test_its_commands_are_scripts_of_the_kit() -> None:
    programs = [words[0] for words in commands()]
    assert "scripts/lab-kernel.sh" in programs
    for program in programs:
        assert os.access(paths.ROOT / program, os.X_OK), program


def test_its_packages_are_groups_of_the_list() -> None:
    text = (paths.SCRIPTS / "packages.txt").read_text(encoding="utf-8")
    groups = set(re.findall(r"^(\w+) ", text, re.MULTILINE))
    named = [word for words in commands() if words[0].endswith("setup.sh") for word in words[1:]]
    assert "core" in named and set(named) <= groups
