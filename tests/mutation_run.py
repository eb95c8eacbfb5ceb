# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Run make mutation: change one place of the kit's solution at a time, and report what passes.

Each function that a learner writes in stages 1 to 12 is changed in all places: a statement is left
out; a condition is always or never true; a comparison, a sum or a logical operator is replaced; a 1
that is added is left out; a 0 becomes a 1. `check` must take points for each change; what does not
compile earns none. A change that is right, too, is in mutation_survivors.toml, with a reason. The
mutants are judged by the tests of the tasks, not by those of the device. Exit status: 0 if each
mutant that passes has a reason, 1 if not, 2 if the run failed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.base import command, paths, toml  # noqa: E402
from grader.base.errors import LabError  # noqa: E402
from grader.base.progress import Progress  # noqa: E402
from grader.course import skeleton  # noqa: E402
from grader.exercise.files import stages, tasks  # noqa: E402
from grader.exercise.operations import test_program, unit_tests  # noqa: E402
from grader.exercise.operations.test_program import NoTestProgramError  # noqa: E402
from grader.scoring import pipeline, points  # noqa: E402

SURVIVORS = Path(__file__).with_name("mutation_survivors.toml")
FOLDER = paths.BUILD / "mutation"
SEED = 1
# A change may leave a variable or a function without a use.
PRAGMAS = "".join(
    f'#pragma GCC diagnostic ignored "-W{name}"\n'
    for name in ("unused-parameter", "unused-variable", "unused-but-set-variable", "unused-value")
    + ("unused-function", "unused-const-variable", "maybe-uninitialized", "uninitialized")
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# A declaration begins with a type, or with a qualifier.
_DECLARATION = re.compile(
    r"(const|static|struct|unsigned|bool|char|int|long|double|enum|s?size_t|d?limb_t|column_t"
    r"|[us]\d+(x\d+)?|v\w+|__m\w+)\s"
)
# What stands before the statement that it controls; its parentheses are skipped.
_CONTROL = re.compile(r"(if|while|for|else|do)\b\s*")
_LABEL = re.compile(r"\s*(\w+|case [^:?]*|default)\s*:")
# Patterns of operators, and what replaces them.
_OPERATORS = (
    (re.compile(r" (<=|>=|<|>) "), {"<=": "<", "<": "<=", ">=": ">", ">": ">="}),
    (re.compile(r" (&&|\|\|) "), {"&&": "||", "||": "&&"}),
    (re.compile(r" ([+-]) (?!1\b)"), {"+": "-", "-": "+"}),
    (re.compile(r"( [+-] 1)\b"), {" + 1": "", " - 1": ""}),
    (re.compile(r"(?<![\w.])(0)(?![\w.])"), {"0": "1"}),
    (re.compile(r"\b(min|max)\("), {"min": "max", "max": "min"}),
    (re.compile(r"\breturn (err|-E\w+);"), {}),
)


@dataclass(frozen=True)
class Mutant:
    """One change of a function that a learner writes."""

    stage: int
    task: str
    file: str
    function: str
    place: int  # the number of its line
    above: str  # the two lines above the change, in one line
    before: str  # the lines that it changes, in one line
    after: str
    text: str  # the whole file with the change

    @property
    def title(self) -> str:
        """Return where the change is, and what it is."""
        where = f"stage {self.stage}, {self.file}:{self.place}, {self.function}"
        return f"{where}: {[self.above, self.before, self.after]}"

    @property
    def key(self) -> tuple[int, str, tuple[str, ...]]:
        """Return what identifies the change while other lines of the file change."""
        return self.stage, self.function, (self.above, self.before, self.after)


def _closing(text: str, begin: int) -> int:
    """Return the end of the parentheses that begin at a place."""
    depth = 0
    for i in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return i + 1
    return len(text)


def changes(body: str) -> Iterator[tuple[int, int, str]]:
    """Yield (begin, end, replacement) for all changes of a function's body."""
    plain = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), body)
    begin = depth = 0
    for i, sign in enumerate(plain):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sign, 0)
        if depth or sign not in "{};":
            continue
        if sign == ";":
            at = begin
            while True:
                at += len(plain[at : i + 1]) - len(plain[at : i + 1].lstrip())
                if control := _CONTROL.match(plain, at, i + 1):
                    bracket = plain[control.end()] == "("
                    at = _closing(plain, control.end()) if bracket else control.end()
                elif label := _LABEL.match(plain, at, i + 1):
                    at = label.end()
                else:
                    break
            statement = plain[at:i]
            if statement and not _DECLARATION.match(statement):
                yield at, i + 1, "{}"
        begin = i + 1
    for condition in re.finditer(r"\bif \(", plain):
        end = _closing(plain, condition.end() - 1) - 1
        for always in ("&& 0", "|| 1"):
            yield condition.end(), end, f"({body[condition.end() : end]}) {always}"
    for pattern, others in _OPERATORS:
        for found in pattern.finditer(plain):
            yield *found.span(1), others.get(found[1], "0")


def mutants(number: int) -> Iterator[Mutant]:
    """Yield the mutants of a stage."""
    kit = stages.kit(number).directory
    seen = set()
    for task in tasks.course(number).tasks:
        for part in task.parts:
            if not part.function or (part.file, part.function) in seen:
                continue
            seen.add((part.file, part.function))
            source = (kit / part.file).read_text()
            there = skeleton.span(source, part.function, part.file)
            for one, other, new in changes(source[there.body : there.end]):
                begin, end = there.body + one, there.body + other
                first = source.rfind("\n", 0, begin) + 1
                last = source.find("\n", end)
                above = " ".join(source[:first].split("\n")[-3:])
                after = f"{source[first:begin]}{new}{source[end:last]}"
                if "fib_assert" not in source[first:last]:
                    line = source.count("\n", 0, begin) + 1
                    text = PRAGMAS + source[:begin] + new + source[end:]
                    yield Mutant(number, task.name, part.file, part.function, line,
                                 _one_line(above), _one_line(source[first:last]),
                                 _one_line(after), text)  # fmt: skip


def _one_line(text: str) -> str:
    return " ".join(text.split())


@cache
def survivors() -> dict[tuple[int, str, tuple[str, ...]], str]:
    """Return the reasons for changes that are right, too, by stage, function and lines."""
    return {
        (stage, entry["function"], tuple(lines)): entry["reason"]
        for entry in toml.read(SURVIVORS)["survivor"]
        for stage in entry["stages"]
        for lines in entry["changes"]
    }


def reason(mutant: Mutant) -> str:
    """Return why a mutant is right, too, or ""."""
    return str(survivors().get(mutant.key, ""))


def passes(mutant: Mutant) -> bool:
    """Return whether a mutant earns all points of its stage's tasks."""
    course = tasks.course(mutant.stage)
    kit = stages.kit(mutant.stage).directory
    copy = FOLDER / str(mutant.stage) / kit.name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(kit, copy)
    (copy / mutant.file).write_text(mutant.text)
    stage = stages.single(copy, copy.name, mutant.stage)
    (task,) = (one for one in course.tasks if one.name == mutant.task)
    try:
        program = test_program.program(stage)
        if not unit_tests.outcome(stage, program, task.operation, SEED).large:
            return False
        lines = points.task_lines(course, pipeline.try_operations(stage, SEED))
        return all(line.full for line in lines)
    except NoTestProgramError:
        return False
    finally:
        test_program.remove(stage)


def control(number: int) -> None:
    """Raise LabError unless the stage earns all points without a change.

    Otherwise all mutants would seem to be found. For example, they might not compile.
    """
    for mutant in {mutant.file: mutant for mutant in mutants(number)}.values():
        source = (stages.kit(number).directory / mutant.file).read_text()
        if not passes(replace(mutant, text=PRAGMAS + source)):
            raise LabError(
                f"stage {number} does not earn all points although {mutant.file} has no change",
                f"run make stage={number} ref=1 check",
            )


def stage_mutants(number: int) -> list[tuple[Mutant, bool]]:
    """Judge the mutants of a stage one after the other, because they share a folder."""
    control(number)
    return [(mutant, passes(mutant)) for mutant in mutants(number)]


def main(words: list[str]) -> int:
    """Run the mutants and return the exit status."""
    parser = argparse.ArgumentParser(prog="make mutation", description=__doc__.splitlines()[0])
    parser.add_argument("--stage", default="1-12", help="only these stages")
    numbers = stages.parse_numbers(parser.parse_args(words).stage)
    progress = Progress()
    found: list[tuple[Mutant, bool]] = []
    with ProcessPoolExecutor(max_workers=2) as pool:
        for i, part in enumerate(pool.map(stage_mutants, numbers), 1):
            progress.step(f"stage {numbers[i - 1]}: {len(part)} mutants", i, len(numbers))
            found += part
    progress.clear()
    return _report(found)


def _report(found: list[tuple[Mutant, bool]]) -> int:
    alive = [mutant for mutant, passed in found if passed]
    unknown = [mutant for mutant in alive if not reason(mutant)]
    for mutant in unknown:
        print(f"it passes, and mutation_survivors.toml has no reason: {mutant.title}")
    known = len(alive) - len(unknown)
    print(f"{len(found)} mutants: {len(unknown)} pass without a reason, {known} with one")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(command.end("mutation", lambda: main(sys.argv[1:])))
