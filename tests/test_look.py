# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test make gdb look=1: gdb sees every variable, and the graded build stays unchanged."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from grader.exercise.build import stage_module
from grader.exercise.files import stages
from grader.lab import machines


@pytest.mark.machine
@pytest.mark.skipif(shutil.which("gdb") is None, reason="needs gdb")
@pytest.mark.parametrize(("number", "function"), [(0, "first_read"), (3, "bn_add")])
def test_every_variable_has_one_place_for_the_whole_function(number: int, function: str) -> None:
    kernel = machines.get("uml").kernel()
    graded = stage_module.build(stages.kit(number), kernel)
    before = graded.module.stripped.read_bytes()

    def scope() -> str:
        call = ["gdb", "-nx", "-batch", "-ex", f"info scope {function}", str(graded.module.path)]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout

    moving = ("multi-location", "optimized out")
    assert any(words in scope() for words in moving), "at -O2 variables are moved or removed"
    assert stage_module.build(stages.kit(number), kernel, look=True).ok
    assert "Symbol" in scope() and not any(words in scope() for words in moving)
    assert stage_module.build(stages.kit(number), kernel).ok
    assert graded.module.stripped.read_bytes() == before
