# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test single functions of a task, by tests that each call one function only.

The test of a task calls an operation, and an operation may need several functions of the task. A
failure of the operation does not show which function is wrong. And an operation may be right
although a function breaks the bounds that its comment promises. So each function in ALONE has a
test in alone/, which calls only this function. alone.py appends the tests to the preprocessed texts
of the stage's files, because most of these functions are static.

A function that the skeleton gives must keep its name and parameters. If the functions of a stage
return numbers, the test is in the file whose name ends in RETURNED, if there is one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from grader.exercise.build import preprocess, stage_module
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import Task, course
from grader.exercise.operations import test_cases_decimal, test_program

# The functions with a separate test. Each follows the functions that it calls.
ALONE = (
    "limbs_complement", "bn_reserve", "limbs_lshift", "limbs_add", "limbs_sub", "limb_mul",
    "limbs_addmul", "limbs_add_squares", "limbs_needed", "fib_even", "fib_odd", "limbs_div_chunk",
    "moller_granlund_div", "column_quotient", "column_limb", "long_column", "comba_mul_columns",
    "comba_square_columns", "half_digits", "limb_digits", "begin_with_limbs", "lucas_double",
    "fib_from_lucas", "add_halves", "add_middle", "signed_digits", "karatsuba_columns",
    "comba_leaf_square", "solinas_fold", "solinas_mul", "shoup_mul", "harvey_forward_radix2",
    "harvey_forward_radix4", "harvey_inverse_radix2", "harvey_inverse_radix4", "mul_points",
    "truncated_shape", "truncated_split", "truncated_join", "carry_of", "digits_avx2_combine",
    "digits_avx2_fifth", "radix4_twisted", "radix4_inverse", "digits_avx2_make_unique",
    "digits_avx2_print",
)  # fmt: skip
FILES = Path(__file__).with_name("alone")
RETURNED = "returned"
MAIN = Path(__file__).with_name("alone_main.c")
RIGHT = "right"
MISSING = "it does not fit its own test; keep its name and parameters"
TWICE = "it is defined differently in two files; keep one of them"
# The processor time limit of the tests, in seconds. A right function takes milliseconds.
SECONDS = 5
# The functions of a program and their tests, for alone_main.c.
TABLE = """\
struct fib_call;
{declarations}
extern const unsigned long long alone_base, alone_in_place;
const unsigned long long alone_base = {base}, alone_in_place = {in_place};
const char *const alone_names[] = {{ {names} 0 }};
const char *(*const alone_tests[])(struct fib_call *call) = {{ {tests} }};
"""


def broken(stage: Stage, task: Task, seed: int) -> tuple[str, str]:
    """Return a function of a task that fails its own test, and the reason. Return "" if none does.

    A function that the learner writes in place of a stub also fails if it has no test, because its
    name or parameters have changed. All results of the task's operation must be right, because a
    function may call functions of earlier tasks, which may be wrong. Each function is also tested
    as another computer compiles it.
    """
    functions = _functions(task)
    found = _results(stage, functions, seed)
    missing = {one: MISSING for one in functions if one not in found and one not in task.uses}
    function, reason = _first_wrong({**found, **missing})
    for macros, where in preprocess.WITHOUT_ASSEMBLY.items() if not function else ():
        function, reason = _first_wrong(_results(stage, functions, seed, macros))
        if function:
            return function, f"{where}, {reason}"
    return function, reason


def wrong_function(stage: Stage, task: Task, verb: str, seed: int) -> tuple[str, str]:
    """Return the function that makes a task's test fail, and the reason. Return "" if unknown.

    verb: the operation of the request that failed. All earlier tasks must be right, because a
    function may call their functions.
    """
    own = [part.function for part in task.parts if part.function and part.stub is not None]
    if len(own) < 2 and not task.uses:
        return "", ""
    tested = _functions(task)
    found = _results(stage, tested, seed)
    wrong, reason = _first_wrong(found)
    if wrong:
        return wrong, reason
    if f"bn_{verb}" in own and not tested and len(own) > 1:
        return f"bn_{verb}", ""
    rest = [function for function in own if function not in found]
    others = [function for function in own if function in found]
    if len(rest) == 1 and others:
        tests = "passes its own test" if len(others) == 1 else "pass their own tests"
        return rest[0], f"{' and '.join(others)} {tests}"
    return "", ""


def remark(stage: Stage, task: Task, verb: str, seed: int) -> tuple[str, str]:
    """Return the wrong function of a task, and a remark that names it; "" if it is unknown."""
    function, reason = wrong_function(stage, task, verb, seed)
    if not function:
        return "", ""
    if reason.endswith(("its own test", "their own tests")):
        return (
            function,
            f"look for the mistake in {function} and in what it calls, because {reason}",
        )
    return function, f"{function} is wrong{f': {reason}' if reason else ''}"


def _first_wrong(found: Mapping[str, str]) -> tuple[str, str]:
    """Return the first function whose test failed, and the reason. Return "" if none did."""
    return next(((function, said) for function, said in found.items() if said != RIGHT), ("", ""))


def _functions(task: Task) -> list[str]:
    """Return the functions of a task that have a test, each after those that it calls."""
    own = {part.function for part in task.parts if part.function and part.stub is not None}
    return sorted({*own, *task.uses} & set(ALONE), key=ALONE.index)


def _results(
    stage: Stage, functions: list[str], seed: int, macros: tuple[str, ...] = ()
) -> dict[str, str]:
    """Test functions of a stage. Return RIGHT or the fault of each, except for those without test.

    seed: for the operands
    macros: definitions for the stage's files; nothing is tested if they change no text
    """
    sources = list(stage_module.sources(stage, []))
    made = preprocess.texts(stage, sources)
    if macros:
        own, made = made, preprocess.trapped(stage, preprocess.texts(stage, sources, macros=macros))
        if preprocess.own_lines(stage, made) == preprocess.own_lines(stage, own):
            return {}
    defined = _defined(made.files, functions)
    if made.cause or not defined:
        return {}
    # Only one of them could be tested, and the other one used.
    if twice := [one for one in defined if _different(made.files, one) > 1]:
        rest = _results(stage, [one for one in functions if one not in twice], seed, macros)
        return {**rest, **dict.fromkeys(twice, TWICE)}
    try:
        program = _program(stage, made.files, _defined(made.files, _course_functions(stage)))
    except test_program.NoTestProgramError:
        return dict(_single(stage, made.files, defined, seed))
    return _answers(stage, program, list(defined), seed)


def _single(
    stage: Stage, files: Mapping[str, bytes], defined: Mapping[str, str], seed: int
) -> Iterator[tuple[str, str]]:
    """Yield the result of each function, from a program for this function only.

    A function with other parameters than the kit's has none, because its test does not compile.
    """
    for function, file in defined.items():
        try:
            program = _program(stage, files, {function: file})
        except test_program.NoTestProgramError:
            continue
        yield from _answers(stage, program, [function], seed).items()


def _answers(stage: Stage, program: Path, functions: list[str], seed: int) -> dict[str, str]:
    """Run the tests of functions. Return RIGHT or the fault of each."""
    requests = [f"{function} {seed}" for function in functions]
    answers, fault = test_program.ask(program, requests, stage.isolated, SECONDS)
    if not fault:
        return {f: said if said.isprintable() else "?" for f, said in zip(functions, answers)}
    if len(functions) == 1:
        return {functions[0]: f"its own test ends with an error: {fault}"}
    # The first function without an answer has ended the program.
    return {
        f: said for one in functions for f, said in _answers(stage, program, [one], seed).items()
    }


def _definitions(text: bytes, function: str) -> Iterator[bytes]:
    """Yield the definitions of a function in a preprocessed text, also within other functions.

    A definition is the name, parameters in parentheses, and a body, or an old-style declaration of
    the parameters. After the parentheses of a call neither a brace nor a word can follow.
    """
    for name in re.finditer(rf"\b{function}\b[\s)]*\(".encode(), text):
        end, depth = name.end(), 1
        while depth and end < len(text):
            depth += {b"(": 1, b")": -1}.get(text[end : end + 1], 0)
            end += 1
        if body := re.compile(rb"\s*(?!__asm|__attribute)[{\w].*?\n\}", re.DOTALL).match(text, end):
            yield text[name.start() : body.end()]


def _file(files: Mapping[str, bytes], function: str) -> str:
    """Return the name of a text that defines a function, or ""."""
    return next((name for name, text in files.items() if any(_definitions(text, function))), "")


def _different(files: Mapping[str, bytes], function: str) -> int:
    """Return the number of different definitions; those in a header are in several texts."""
    found = (one for text in files.values() for one in _definitions(text, function))
    return len({b"".join(one.split()) for one in found})


def _defined(files: Mapping[str, bytes], functions: Iterable[str]) -> dict[str, str]:
    """Return those of the functions that these texts define, with the names of the texts."""
    return {function: file for function in functions if (file := _file(files, function))}


def _course_functions(stage: Stage) -> list[str]:
    """Return the functions of all tasks of a stage that have a test."""
    own = {function for task in course(stage.number).tasks for function in _functions(task)}
    return sorted(own, key=ALONE.index)


def _program(stage: Stage, files: Mapping[str, bytes], defined: Mapping[str, str]) -> Path:
    """Build the program that tests functions. Raise NoTestProgramError if that fails.

    defined: the functions, and the names of the texts that define them.
    """
    texts = dict(files)
    # A name that a text contains changes the digest, so no text can contain the right name.
    prefix = f"alone_{hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]}_"
    common = _own_names((FILES / "common.c").read_text(encoding="utf-8"), prefix)
    for file in set(defined.values()):
        texts[file] += f'\n# 1 "common.c"\n{common}'.encode()
    for function, file in defined.items():
        other = FILES / f"{function}-{RETURNED}.c"
        is_other = stage.traits.results == RETURNED and other.is_file()
        test = (other if is_other else FILES / f"{function}.c").read_text(encoding="utf-8")
        test = re.sub(r"\balone\(", f"alone_{function}(", test)
        texts[file] += f'# 1 "{function}.c"\n{_own_names(test, prefix)}'.encode()
    tests = [f"{prefix}{function}" for function in defined]
    table = TABLE.format(
        declarations="\n".join(f"const char *{test}(struct fib_call *call);" for test in tests),
        base=test_cases_decimal.B if stage.traits.decimal else 0,
        in_place=int(stage.traits.results != RETURNED),
        names=" ".join(f'"{function}",' for function in defined),
        tests=", ".join(tests),
    )
    return test_program.linked(stage, {**texts, "alone_table.c": table.encode()}, [MAIN])


def _own_names(text: str, prefix: str) -> str:
    """Return a text in which the names that begin with alone_ begin with the prefix."""
    return re.sub(r'(?<!")\balone_', prefix, text)
