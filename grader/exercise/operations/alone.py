# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find the wrong function of a task, by tests that each call a single function.

The test of a task calls an operation, and an operation may need several functions of the task. A
failure of the operation does not show which function is wrong. So each function in ALONE has a test
in alone/, which calls only this function. alone.py appends the test to the preprocessed text of the
stage's file, because most of these functions are static. The result changes a message and no
points.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from grader import sandbox
from grader.exercise.build import preprocess, stage_module
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import Task
from grader.exercise.operations import test_program
from grader.sandbox import PROGRAM, SandboxView

# The functions with a separate test. Each follows the functions that it calls.
ALONE = (
    "limbs_lshift", "fib_even", "limbs_add_squares", "limb_mul", "column_quotient", "column_limb",
    "half_digits", "begin_with_limbs", "lucas_double", "add_halves", "add_middle",
    "karatsuba_columns", "comba_leaf_square", "solinas_fold", "harvey_forward_radix2",
    "harvey_inverse_radix2", "mul_points", "truncated_shape", "truncated_split", "carry_of",
    "radix4_twisted",
)  # fmt: skip
FILES = Path(__file__).with_name("alone")
MAIN = Path(__file__).with_name("alone_main.c")
RIGHT = "right"
# The processor time limit of a test, in seconds. A right function takes milliseconds.
SECONDS = 5


def wrong_function(stage: Stage, task: Task, verb: str) -> tuple[str, str]:
    """Return the function that makes a task's test fail, and the reason. Return "" if unknown.

    verb: the operation of the request that failed. All earlier tasks must be right, because the
    functions of a task may call functions of earlier tasks.
    """
    own = [part.function for part in task.parts if part.function and part.stub is not None]
    if len(own) < 2 and not task.uses:
        return "", ""
    tested = sorted({*own, *task.uses} & set(ALONE), key=ALONE.index)
    passed: list[str] = []
    for function in tested:
        said = _tested(stage, function)
        if said == RIGHT:
            passed.append(function)
        elif said:
            return function, said
    if f"bn_{verb}" in own and not tested and len(own) > 1:
        return f"bn_{verb}", ""
    rest = [function for function in own if function not in passed]
    others = [function for function in own if function in passed]
    if len(rest) == 1 and others:
        tests = "passes its own test" if len(others) == 1 else "pass their own tests"
        return rest[0], f"{' and '.join(others)} {tests}"
    return "", ""


def remark(stage: Stage, task: Task, verb: str) -> tuple[str, str]:
    """Return the wrong function of a task, and a remark that names it; "" if it is unknown."""
    function, reason = wrong_function(stage, task, verb)
    if not function:
        return "", ""
    if reason.endswith(("its own test", "their own tests")):
        return (
            function,
            f"look for the mistake in {function} and in what it calls, because {reason}",
        )
    return function, f"{function} is wrong{f': {reason}' if reason else ''}"


def _tested(stage: Stage, function: str) -> str:
    """Test one function. Return RIGHT, a description of the fault, or "" if the build fails."""
    made = preprocess.texts(stage, list(stage_module.sources(stage, [])))
    defined = re.compile(rf"\b{function}\([^;{{}}]*\)\n\{{".encode())
    file = next((name for name, text in made.files.items() if defined.search(text)), "")
    if made.cause or not file:
        return ""
    test = b"\n".join((FILES / f"{name}.c").read_bytes() for name in ("common", function))
    files = {
        **made.files,
        file: b'%s\n# 1 "%s.c"\n%s' % (made.files[file], function.encode(), test),
    }
    test_program.PROGRAMS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=test_program.PROGRAMS) as scratch:
        try:
            program = test_program.linked(stage, Path(scratch), files, [MAIN])
        except test_program.NoTestProgramError:
            return ""
        room = SandboxView(program=program) if stage.isolated else None
        limits = replace(PROGRAM, wall_seconds=4 * SECONDS, cpu_seconds=SECONDS)
        ended = sandbox.run([program], limits, room)
    output = ended.text.strip()
    if ended.ended_by or ended.status:
        return "its own test stops with an error"
    return output if output.isprintable() else ""
