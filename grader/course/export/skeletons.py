# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make the stages for students: skeletons that also leave out earlier stages' solutions."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from grader.base.errors import LabError
from grader.course import skeleton, texts
from grader.course.carry_forward import CarriedFunction
from grader.course.export.solutions import definition, reference, task_functions, telling
from grader.course.texts import ENGLISH, Texts
from grader.exercise.files import exercises, stages, tasks

# A function that shares at least this fraction of the distinctive lines of an earlier solution
# counts as that solution.
SAME = 0.5

MARKER = """\
# This is a student repository. Each directory beside this file holds the skeleton of a stage, whose
# tasks you write. make stage=1 start copies the first skeleton to work/.
#
# A stage may need a function that you wrote in an earlier stage. The list below names these
# functions. start copies each from the latest of your stages in which it fits.
"""


@cache
def carried(stage: int) -> list[CarriedFunction]:
    """Return the functions given in a stage that are solutions of earlier stages."""
    found = []
    earlier = range(stage - 1, 0, -1)
    for file, source in reference(stage).items():
        for function in skeleton.functions(source) if file.endswith((".c", ".h")) else {}:
            if (file, function) in task_functions(stage):
                continue
            home = next((s for s in earlier if (file, function) in task_functions(s)), None)
            if home is None:
                continue
            mine = definition(stage, file, function)
            solution = telling(definition(home, file, function)[1])
            if len(solution & telling(mine[1])) < SAME * len(solution):
                continue
            fits = tuple(
                s for s in earlier if file in reference(s) and definition(s, file, function) == mine
            )
            task, _ = task_functions(home)[file, function]
            found.append(CarriedFunction(file, function, home, task.number, fits))
    return found


def _note(one: CarriedFunction, language: Texts) -> str:
    task, _ = task_functions(one.stage)[one.file, one.function]
    if one.stage in one.fits:
        how = language(texts.BRING)
    elif one.fits:
        how = language(texts.BRING_FROM).format(stage=one.fits[-1])
    else:
        how = language(texts.MAKE_FIT)
    wrote = language(texts.WROTE)
    return wrote.format(stage=one.stage, task=task.number, name=task.name, how=how)


def _stub(stage: int, one: CarriedFunction) -> str:
    """Return the task's stub, without return values if the function is void in this stage."""
    _, part = task_functions(one.stage)[one.file, one.function]
    if part.stub is None:
        raise LabError(
            f"stage {stage}: {one.function} was removed, so there is no stub for it",
            "add a stub in tasks.toml",
        )
    head, _ = definition(stage, one.file, one.function)
    if re.match(r"(static )?((__always_)?inline )?void ", head) and "*" not in head.split("(")[0]:
        return "\n".join(x for x in part.stub.splitlines() if not x.startswith("return "))
    return part.stub


def exported_skeleton(stage: int, language: Texts = ENGLISH) -> dict[str, str]:
    """Return the skeleton's files, with stubs for the tasks of earlier stages, too."""
    files = skeleton.sources(stage, texts=language)
    if not exercises.find(stage).arithmetic:
        return files
    mine = {(one.file, one.function): one for one in carried(stage)}
    for one in mine.values():
        part = tasks.TaskFunction(one.file, one.function, _stub(stage, one), "")
        where = f"stage {stage}, {one.file}"
        files[one.file] = skeleton.stubbed(files[one.file], part, _note(one, language), where)
    for file in files:
        for unused in _unused(files[file]) if file.endswith(".c") else []:
            user = next(
                (f for (x, f) in mine if x == file and re.search(rf"\b{unused}\(",
                 definition(stage, file, f)[1])),
                None,
            )  # fmt: skip
            if user is None:
                raise LabError(
                    f"stage {stage}, {file}: nothing calls {unused} in the skeleton",
                    "change the task that removes its caller",
                )
            there = skeleton.span(files[file], user, file)
            note = f"\t(void){unused}; /* which is called from here */\n"
            at = files[file].index("*/\n", there.body) + 3
            files[file] = files[file][:at] + note + files[file][at:]
    return files


def _unused(source: str) -> list[str]:
    """Return static functions that are never mentioned; the compiler would warn of them."""
    return [
        name
        for name, there in skeleton.functions(source).items()
        if re.compile(r"static (?!(?:__always_)?inline)").match(source, there.begin)
        and len(re.findall(rf"\b{name}\b", source)) == 1
    ]


def write_skeletons(folder: Path, language: Texts = ENGLISH) -> None:
    """Write stages/ in folder: the skeletons, and SKELETONS, the list of carried functions."""
    rows = [MARKER]
    for stage in sorted(stages.known()):
        name = skeleton.reference(stage).name
        (folder / "stages" / name).mkdir(parents=True, exist_ok=True)
        for file, text in exported_skeleton(stage, language).items():
            (folder / "stages" / name / file).write_text(text, encoding="utf-8")
        rows.extend(
            f'\n[[carried]]\ninto = {stage}\nfile = "{one.file}"\nfunction = "{one.function}"\n'
            f"stage = {one.stage}\ntask = {one.task}\nfits = {list(one.fits)}\n"
            for one in carried(stage)
        )
    (folder / "stages" / "SKELETONS").write_text("".join(rows), encoding="utf-8")
