# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test a stage's operations one by one in a program; the results decide the points of tasks.

The stage's sources and unit_tests.c are built with the sanitizers and linked. The program gets
random numbers, and its results are compared with those of Python's integers, or of Python's decimal
module for long products.
"""

from __future__ import annotations

import errno
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from grader.base import processor
from grader.base.errors import LabError
from grader.base.finding import Code
from grader.exercise.build import preprocess, stage_module
from grader.exercise.files.stages import Manifest, Stage
from grader.exercise.files.tasks import Idea, Task
from grader.exercise.operations import (
    alone,
    ideas,
    sanitizer_report,
    test_cases,
    test_cases_decimal,
    test_program,
)
from grader.exercise.operations.test_cases import OperationCase, Residues

NO_VECTORS = (
    "not tested: it needs AVX2 and FMA, which this computer's processor does not have; without them"
    " the stage uses the method of the stage before"
)


@dataclass(frozen=True)
class OperationOutcome:
    """The outcome of the test cases of one operation.

    small is true if small numbers were tested and all results for them are right, large if all
    results are right. If this computer cannot test the operation, tried is 0 and fault is the
    reason.
    """

    small: bool
    large: bool
    tried: int
    fault: str = ""
    code: Code = Code.OK
    withheld: int = 0  # The points withheld because an idea of the task is not met.
    idea: str = ""  # The counts that exceed a bound, or the reason why nothing was counted.
    verb: str = ""  # The first word of the request that failed.
    right: str = "small numbers"  # What is right if small is true and large is not.
    function: str = ""  # The wrong function, if it is known and the task has several functions.
    place: str = ""  # A remark that names this function.


def _small(stage: Stage, operation: str) -> int:
    """Return the largest size that counts as small, in bits or in decimal digits."""
    if not stage.traits.decimal:
        return 128 if stage.traits.numbers else 32
    limbs = test_cases_decimal.LONG_SMALL if operation.startswith("long-") else 2
    return limbs * test_cases_decimal.LIMB_DIGITS


def _is_small(tried: OperationCase, stage: Stage, operation: str) -> bool:
    if tried.n is not None:
        return tried.n <= (93 if stage.traits.numbers else 46)
    return tried.size <= _small(stage, operation)


def _short(text: str) -> str:
    if not text.isprintable():
        text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return text if len(text) <= 40 else f"{text[:16]}...{text[-16:]} ({len(text)} digits)"


def _asked(tried: OperationCase, sign: str) -> str:
    """Return a request in the form of a function call, for messages."""
    verb, *words = tried.request.split()
    if verb == "compute":
        return f"F({words[0]})"
    verb = verb.removesuffix("-w")
    sign = "" if verb == "create" else sign
    shown = [_short(f"{sign}{word}") for word in words]
    if verb.startswith(("lshift", "decimal")):
        shown[1] = words[1]
    return f"{verb}({', '.join(shown)})"


# The operations whose results are digits, which bignum_adapter.c checks; it returns -EINVAL.
_OF_DIGITS = ("twice_", "fifth", "unique", "fft_")


def _shown(tried: OperationCase, sign: str, got: str) -> str:
    """Return a message with the request and both results, from their first different digit on."""
    want, asked = tried.expected, _asked(tried, sign)
    if len(want) > 40 and len(got) == len(want):
        at = next(i for i, (a, b) in enumerate(zip(want, got)) if a != b)
        begin = max(0, at - 8)
        return (
            f"{asked} is wrong from digit {at + 1} on:"
            f" expected ...{want[begin : at + 12]}..., got ...{got[begin : at + 12]}..."
        )
    sign = "" if tried.request.startswith(("decimal", "create")) else sign
    message = f"{sign if got[:1] not in 'EUN' or not got else ''}{_short(got)}"
    if got.startswith("ERROR "):
        message = f"the return value {got.removeprefix('ERROR ')}"
        if tried.request.startswith("decimal") and got == "ERROR 0":
            message = f"no digit: {message}"
        elif tried.request.startswith(_OF_DIGITS) and got == "ERROR -22":
            message = "a digit outside of the range that digits.h allows"
    return f"{asked}: expected {sign if want != 'ERANGE' else ''}{_short(want)}, got {message}"


def _no_number(words: Sequence[str]) -> str:
    """Return the fault of a result that is not a valid number, or ""."""
    if words[:1] == ["SIZE"]:
        return f"the result has size {words[1]}, and capacity {words[2]}"
    if words[:1] == ["LIMB"] and words[2] == "unwritten":
        return f"limb {words[1]} of the result was not written"
    if words[:1] == ["LIMB"]:
        return f"limb {words[1]} of the result is {words[2]}, and not less than 10^18"
    if words[:1] == ["UNTRIMMED"]:
        return "the top limb of the result is 0: size must not count it"
    return ""


def _not_freed(words: Sequence[str]) -> str:
    left, *stack = words
    return f"blocks of memory are not freed: {left}{sanitizer_report.allocated(stack)}"


def _leak(tried: OperationCase, sign: str, answer: str) -> str:
    """Return the fault of an answer that is right but leaks memory, or ""."""
    words = answer.split()
    if "LEAK" not in words or words[0] != tried.expected:
        return ""
    rest = _not_freed(words[words.index("LEAK") + 1 :])
    return f"{_asked(tried, sign)} is right, but {rest}"


# The injected failures by their error: the condition, and the error's name.
_FAILURES = {
    f"{-errno.ENOMEM}": ("an allocation fails", "-ENOMEM"),
    f"{-errno.EINTR}": ("fib_account_work returns -EINTR", "-EINTR"),
}
# What a function returns whose result is a pointer, if it is not an error.
_RETURNED = {"NULL": "it returns NULL", "NUMBER": "it returns a number and not an error"}


def _after_failure(tried: OperationCase, sign: str, words: Sequence[str]) -> tuple[str, Code]:
    """Return the fault of a function that is wrong when an allocation or a yield fails.

    words: "FAILED", what is returned, the error, the stack at the failure, and a leak or an invalid
    result, if there is one.
    """
    end = next((i for i, word in enumerate(words) if word in ("LEAK", "LEFT")), len(words))
    where = sanitizer_report.caller(words[3:end])
    what, wanted = _FAILURES[words[2]]
    when = f"{_asked(tried, sign)}: when {what}{f' in {where}' if where else ''}"
    if words[end:] and words[end] == "LEFT":
        fault = _no_number(words[end + 1 :])
        return f"{when}, {fault}; set size only when the room is there", Code.WRONG
    if words[1] == words[2]:
        return f"{when}, {_not_freed(words[end + 1 :])}", Code.LEAK
    returned = _RETURNED.get(words[1], f"the return value is {words[1]}")
    return f"{when}, {returned}; expected {wanted}", Code.WRONG


def _judged(tried: OperationCase, sign: str, answer: str) -> tuple[str, Code]:
    """Return the fault of an answer, or "", and its code.

    The answer may begin with a mistake after a failure, which is reported only if the result
    without a failure is right. If the program ended in between, there is no result.
    """
    failed, _, result = answer.rpartition("THEN")
    if result.split() or not failed:
        if fault := _leak(tried, sign, result):
            return fault, Code.LEAK
        if fault := _fault(tried, sign, result):
            return fault, Code.WRONG
    return _after_failure(tried, sign, failed.split()) if failed else ("", Code.OK)


def _wrong_residue(form: Residues, expected: str, got: str) -> str:
    """Return the fault of a row of numbers modulo a prime, or ""."""
    wanted = form.row(expected)
    found = form.row(got)
    found += [0] * (len(wanted) - len(found))
    for i, (want, value) in enumerate(zip(wanted, found)):
        name = "the result" if len(wanted) == 1 else f"value {i} of {len(wanted)}"
        if value % form.prime != want:
            return f"{name}, modulo P, is {value % form.prime}; expected {want}"
        if value >= form.below * form.prime:
            least = f"{value // form.prime} P and more"
            return f"{name} is {least}; it must be less than {form.below} P"
    return ""


def _fault(tried: OperationCase, sign: str, answer: str) -> str:
    """Return the fault of an answer, or ""."""
    words, asked = answer.split(), _asked(tried, sign)
    if "LEAK" in words:
        words = words[: words.index("LEAK")]
    if "LOST" in words:
        return f"{asked}: when an allocation fails, the result changes; it must keep its old value"
    if "CHANGED" in words:
        return f"{asked} has changed its operand"
    if "ACCOUNT" in words:
        return f"{asked} uses the account of the number; use call, the account of this call"
    message = _no_number(words)
    if message:
        return f"{asked}: {message}"
    got = " ".join(words) if words[:1] in (["ERROR"], ["ENOMEM"]) else "".join(words[:1])
    if tried.residues and got.isdecimal():
        message = _wrong_residue(tried.residues, tried.expected, got)
        return message and f"{asked}: {message}"
    if got != tried.expected:
        return _shown(tried, sign, got)
    if "AGAIN" in words:
        return f"{asked}, twice: the second copy allocates, although c has the room by now"
    if tried.work and "WORK" in words:
        announced, digits = map(int, words[words.index("WORK") + 1 :][:2])
        methods = tried.work(digits)
        if any(least <= announced <= most for least, most in methods):
            return ""
        least, most = methods[0]
        if announced < least:
            return (
                f"{asked} passes {announced:,} products to fib_account_work; expected at least"
                f" {math.ceil(least):,}, because other tasks wait during work that is not announced"
            )
        return (
            f"{asked} passes {announced:,} products to fib_account_work; expected at most"
            f" {math.floor(most):,}, because each yield takes time"
        )
    if tried.most_bytes is not None:
        peak, most = int(words[2]), tried.most_bytes
        if peak > most:
            return f"F({tried.n:,}) held {peak:,} bytes at its peak, {most:,} are plenty"
    return ""


def with_ideas(
    tried: OperationOutcome, asked: Sequence[Idea], counts: ideas.Counts | LabError
) -> OperationOutcome:
    """Return the outcome of an operation with the points that the ideas of its task withhold."""
    if isinstance(counts, LabError):
        return replace(tried, idea=f"its instructions are not counted: {counts}")
    unmet = (ideas.unmet(idea, counts) for idea in asked)
    # Remove duplicates: a wrong result of a call gives the same message for all its ideas.
    message = "; ".join(dict.fromkeys(message for message in unmet if message))
    return replace(tried, withheld=withheld(asked, counts), idea=message)


def withheld(asked: Iterable[Idea], counts: ideas.Counts) -> int:
    """Return the points that the unmet ideas of a task withhold."""
    # Ideas with the same text are one idea, which several counts judge.
    unmet = {one.text: one.points for one in asked if ideas.unmet(one, counts)}
    return sum(unmet.values())


def with_broken_function(
    tried: OperationOutcome, stage: Stage, task: Task, seed: int
) -> OperationOutcome:
    """Return the outcome of a test whose results are right.

    The task earns nothing if a function does not keep what its comment promises, because its other
    callers rely on that.
    """
    function, reason = alone.broken(stage, task, seed)
    if not function:
        return tried
    fault = f"{function} is wrong: {reason}; all results are right, but it must be right alone, too"
    return replace(tried, small=False, large=False, fault=fault, code=Code.WRONG, function=function)


def with_function(tried: OperationOutcome, stage: Stage, task: Task, seed: int) -> OperationOutcome:
    """Return the outcome of a failed test with the task's function that is wrong, if known."""
    function, remark = alone.remark(stage, task, tried.verb, seed)
    if not function:
        return tried
    return replace(tried, function=function, place=remark)


def outcome(stage: Stage, path: Path, operation: str, seed: int) -> OperationOutcome:
    """Test one operation of a stage with small and large numbers.

    Also test the stage as other computers compile it, where the result must not need assembly.
    """
    tested = _outcome(stage, path, operation, seed)
    if not tested.large:
        return tested
    sources = list(stage_module.sources(stage, []))
    own = preprocess.own_lines(stage, preprocess.texts(stage, sources))
    # Mostly both builds have the same text, and so one program.
    programs: dict[Path, str] = {}
    for macros, where in preprocess.WITHOUT_ASSEMBLY.items():
        elsewhere = preprocess.trapped(stage, preprocess.texts(stage, sources, macros=macros))
        if preprocess.own_lines(stage, elsewhere) == own:
            continue
        try:
            programs.setdefault(test_program.program(stage, macros), where)
        except test_program.NoTestProgramError as error:
            cause = f"{where}, {error.finding.cause}"
            return OperationOutcome(False, False, tested.tried, cause, error.finding.code)
    for program, where in programs.items():
        other = _outcome(stage, program, operation, seed)
        if not other.large:
            return replace(other, fault=f"{where}, {other.fault}")
    return tested


@lru_cache(maxsize=8)
def _cases(
    manifest: Manifest, operation: str, compared: tuple[int, ...], seed: int
) -> tuple[OperationCase, ...]:
    """Return the test cases of an operation, in the order in which they are tested.

    Builds and copies of a stage whose code compares the same numbers have the same cases. Those of
    long products take up to 20 MB, and the exact products take more than half a second.
    """
    known = test_cases_decimal.TRIES if manifest.traits.decimal else test_cases.TRIES
    stage = Stage(Path(), manifest)  # no test case depends on files
    rng = test_cases.Drawing(stage, compared, seed)
    tries = sorted(known[operation](rng, stage), key=lambda t: t.size)
    # Last, because a function with right results must be told so.
    return (*tries, *test_cases.announcements(random.Random(seed), stage, operation))


def _outcome(stage: Stage, path: Path, operation: str, seed: int) -> OperationOutcome:
    sign = "" if stage.traits.decimal else "0x"
    if operation in test_cases_decimal.VECTORS and not processor.has_vectors():
        return OperationOutcome(False, False, 0, NO_VECTORS, Code.NOT_TRIED)
    tries = _cases(stage.manifest, operation, test_program.compared(path), seed)
    answers, ended = test_program.ask(path, [tried.request for tried in tries], stage.isolated)
    ended = test_program.with_condition(stage, ended)
    for i, tried in enumerate(tries):
        code = Code.WRONG
        if i >= len(answers) or (i == len(answers) - 1 and ended and not answers[i]):
            fault = f"{_asked(tried, sign)}: {ended or 'no answer'}"
        else:
            fault, code = _judged(tried, sign, answers[i])
        if fault:
            # The test cases are in the order of their sizes. Some operations have no test cases
            # with small numbers.
            small = operation != "memory" and not _is_small(tried, stage, operation)
            small &= any(_is_small(right, stage, operation) for right in tries[:i])
            verb = tried.request.split()[0]
            right = "all results" if tried.work else "small numbers"
            return OperationOutcome(small, False, len(tries), fault, code, verb=verb, right=right)
    if ended:
        fault = f"{operation}, after the last answer: {ended}"
        return OperationOutcome(False, False, len(tries), fault, Code.WRONG)
    return OperationOutcome(True, True, len(tries))
