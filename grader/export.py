# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""scripts/export-course: the repository students get, with no solution in it or its history.

It holds the kit's files as they are in the working tree, but for what LEFT_OUT names and the
passages between the marks "not exported". stages/ holds skeletons, reference/ an object for machine
uml in place of each solution. What is made is searched for every line of every solution.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from . import build, machines, paths, scratch, skeleton, stages
from .carry import Carried
from .errors import LabError, MachineError, in_one_line
from .progress import Progress

# What students do not get, and why.
LEFT_OUT = {
    "stages/*": "the solutions; skeletons take their place",
    "handouts/instructor.md": "answers",
    "handouts/experiments/*": "patches quote the solutions",
    "CONTRIBUTING.md": "about the kit itself",
    ".ci/*": "about the kit itself",
    "scripts/export-course": "nothing is left to export",
    "grader/export.py": "nothing is left to export",
    "tests/test_export.py": "nothing is left to export",
    "tests/test_book.py": "needs the answers",
    "tests/test_compare.py": "needs solved stages",
    "tests/test_concurrency.py": "needs solved stages",
    "tests/test_contract.py": "needs the mutants",
    "tests/test_course.py": "needs solved stages",
    "tests/test_debug.py": "needs solved stages, and the debug kernel",
    "tests/test_mistakes.py": "needs solved stages",
    "tests/test_mutants.py": "needs the mutants",
    "tests/test_mutation.py": "needs the mutants",
    "tests/test_operands.py": "needs solved stages",
    "tests/test_planted.py": "needs the faults, and the debug kernel",
    "tests/test_profile.py": "needs solved stages",
    "tests/test_qemu.py": "needs solved stages, and the distribution's kernel",
    "tests/test_run.py": "needs solved stages",
    "tests/test_solutions.py": "needs solved stages",
    "tests/test_user_build.py": "needs solved stages",
    "tests/test_user_time.py": "needs solved stages",
    "tests/test_world.py": "needs solved stages",
    "tests/mutants/*": "solutions, each with one fault",
    "tests/faults/*": "solutions, each with one fault",
    "tests/operands/*": "adapters to the solutions",
    "tests/concurrency/*": "a driver for tests that are left out",
    "tests/mistakes.py": "quotes the solutions",
    "tests/mutation*.py": "faults quote the solutions",
    "tests/MUTATION.md": "faults quote the solutions",
    "tests/USER_VALUES.md": "about the kit itself",
}

# Shorter lines say nothing: "return 0;", "int err;", "a = b;".
TELLING = 16
# A function that shares so much of an earlier solution's telling lines is that solution.
SAME = 0.5

MESSAGE = """\
The fibdrv lab, for students

Exported from commit {commit} of the kit{dirty} by scripts/export-course.
"""

MARKER = """\
# This is a student repository: the directories beside this file hold what each stage starts from,
# its tasks left to do. make stage=1 start makes a copy of the first in work/, which is yours.
#
# A function that you write in one stage may be needed in the next. Below is which: start brings it
# into a stage from your copy of one where it fits.
"""


def _squeezed(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def _telling(text: str) -> set[str]:
    return {line for line in _squeezed(text).splitlines() if len(line) >= TELLING}


@cache
def _reference(stage: int) -> dict[str, str]:
    solved = frozenset(task.number for task in skeleton.course(stage).tasks)
    return skeleton.sources(stage, solved)


@cache
def _asked(stage: int) -> dict[tuple[str, str], tuple[skeleton.Task, skeleton.Part]]:
    """The functions that a stage's tasks are about, by file and name."""
    tasks = skeleton.course(stage).tasks
    return {(p.file, p.function): (task, p) for task in tasks for p in task.parts}


def _definition(stage: int, file: str, function: str) -> tuple[str, str]:
    """A function of the reference: its head, and its body."""
    source = _reference(stage)[file]
    there = skeleton.functions(source).get(function)
    if there is None:
        return "", ""
    return source[there.begin : there.body], source[there.body : there.end]


@cache
def carried(stage: int) -> list[Carried]:
    """The functions given in a stage that are, line by line, an earlier stage's solution."""
    found = []
    earlier = range(stage - 1, 0, -1)
    for file, source in _reference(stage).items():
        for function in skeleton.functions(source) if file.endswith((".c", ".h")) else {}:
            if (file, function) in _asked(stage):
                continue
            home = next((s for s in earlier if (file, function) in _asked(s)), None)
            if home is None:
                continue
            mine = _definition(stage, file, function)
            solution = _telling(_definition(home, file, function)[1])
            if len(solution & _telling(mine[1])) < SAME * len(solution):
                continue
            fits = tuple(
                s
                for s in earlier
                if file in _reference(s) and _definition(s, file, function) == mine
            )
            task, _ = _asked(home)[file, function]
            found.append(Carried(file, function, home, task.number, fits))
    return found


def _note(one: Carried) -> str:
    task, _ = _asked(one.stage)[one.file, one.function]
    wrote = f"You wrote this in stage {one.stage} (task {task.number}, {task.name})"
    if one.stage in one.fits:
        return f"{wrote}: bring it over."
    if one.fits:
        return f"{wrote} and made it fit in stage {one.fits[-1]}: bring it over from there."
    return (
        f"{wrote}. Bring it over and make it fit: mind the comment above, the arguments, and what"
        " it may call."
    )


def _stub(stage: int, one: Carried) -> str:
    """The stub that the task had, as the function's type in this stage allows."""
    _, part = _asked(one.stage)[one.file, one.function]
    if part.stub is None:
        raise LabError(f"stage {stage}: {one.function} was removed, so there is no stub for it")
    head, _ = _definition(stage, one.file, one.function)
    if re.match(r"(static )?(inline )?void ", head) and "*" not in head.split("(")[0]:
        return "\n".join(x for x in part.stub.splitlines() if not x.startswith("return "))
    return part.stub


def exported_skeleton(stage: int) -> dict[str, str]:
    """The skeleton's files, with what earlier stages have asked for left to write as well."""
    files = skeleton.sources(stage)
    mine = {(one.file, one.function): one for one in carried(stage)}
    for one in mine.values():
        part = skeleton.Part(one.file, one.function, _stub(stage, one), "")
        where = f"stage {stage}, {one.file}"
        files[one.file] = skeleton.stubbed(files[one.file], part, _note(one), where)
    for file in files:
        for unused in _unused(files[file]) if file.endswith(".c") else []:
            user = next(
                (f for (x, f) in mine if x == file and re.search(rf"\b{unused}\(",
                 _definition(stage, file, f)[1])),
                None,
            )  # fmt: skip
            if user is None:
                raise LabError(f"stage {stage}, {file}: nothing calls {unused} in the skeleton")
            there = skeleton.span(files[file], user, file)
            note = f"\t(void){unused}; /* which is called from here */\n"
            at = files[file].index("*/\n", there.body) + 3
            files[file] = files[file][:at] + note + files[file][at:]
    return files


def _unused(source: str) -> list[str]:
    """Static functions that nothing mentions: the compiler would complain."""
    return [
        name
        for name, there in skeleton.functions(source).items()
        if source.startswith("static", there.begin) and len(re.findall(rf"\b{name}\b", source)) == 1
    ]


def solution_lines() -> dict[str, str]:
    """Every telling line of every solution, and whose it is.

    Not telling is what a task's stub holds, and what is given to read in that stage or before.
    """
    lines: dict[str, str] = {}
    given: set[str] = set()
    for stage in sorted(stages.manifests()):
        mine = {(one.file, one.function) for one in carried(stage)}
        for file, source in _reference(stage).items():
            rest = source
            for function in skeleton.functions(source):
                if (file, function) in _asked(stage) or (file, function) in mine:
                    rest = rest.replace(_definition(stage, file, function)[1], "")
            given |= _telling(rest)
        for (file, function), (task, part) in _asked(stage).items():
            source = _reference(stage)[file]
            there = skeleton.functions(source)[function]
            text = source[there.body : there.end]
            for line in _telling(text) - given - _telling(part.stub or ""):
                lines[line] = f"stage {stage}, task {task.number}, {function}"
    return lines


def _own_marks(text: str) -> str:
    for begin, end in (
        (r"<!-- not exported -->", r"<!-- /not exported -->\n?"),
        (r"^# not exported\n", r"^# /not exported\n"),
    ):
        text = re.sub(f"{begin}.*?{end}", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"<!-- exported:\s*(.*?)\s*-->", r"\1", text, flags=re.DOTALL)


def without_marked(text: str, name: str) -> str:
    """The text as students get it: without the passages marked for that.

    "<!-- not exported -->" to "<!-- /not exported -->" goes, and so do the lines from
    "# not exported" to "# /not exported"; of "<!-- exported: TEXT -->" TEXT stays.
    """
    made = _own_marks(text)
    if re.search(r"<!-- /?(not )?exported|^# /?not exported$", made, re.MULTILINE):
        raise LabError(f'{name}: a mark "not exported" has no end, or an end no beginning')
    return made


@dataclass(frozen=True)
class Leak:
    """A line of a solution that the export would give away."""

    file: str
    line: int
    text: str
    owner: str


def leaks(folder: Path) -> Iterator[Leak]:
    """Every line of a solution in any file below folder, .git aside."""
    wanted = solution_lines()
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or ".git" in path.relative_to(folder).parts:
            continue
        text = _squeezed(path.read_text(encoding="utf-8", errors="replace"))
        for line in wanted:
            at = text.find(line)
            if at >= 0:
                name = str(path.relative_to(folder))
                yield Leak(name, text.count("\n", 0, at) + 1, line, wanted[line])


def _refuse_leaks(folder: Path) -> None:
    for leak in leaks(folder):
        raise LabError(
            f"{leak.file}:{leak.line} would give away a line of the solution ({leak.owner}):"
            f" {leak.text}"
        )


def _git(folder: Path, *words: str) -> str:
    # A hook of a git above us, for one, would have it work elsewhere.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"  # somebody may be at work in the kit
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, env=environment
    )
    if done.returncode:
        said = (done.stderr.strip() or f"status {done.returncode}").splitlines()[0]
        raise LabError(f"git {words[0]}: {said}")
    return done.stdout


def _left_out(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in LEFT_OUT)


def _copy_kit(folder: Path) -> None:
    for name in _git(paths.ROOT, "ls-files", "-z").split("\0"):
        source = paths.ROOT / name
        if not name or _left_out(name) or not source.is_file():
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        try:
            text = source.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        made = without_marked(text, name)
        if made != text:
            target.write_text(made, encoding="utf-8")


def _write_skeletons(folder: Path) -> None:
    rows = [MARKER]
    for stage in sorted(stages.manifests()):
        name = skeleton.reference(stage).name
        (folder / "stages" / name).mkdir(parents=True)
        for file, text in exported_skeleton(stage).items():
            (folder / "stages" / name / file).write_text(text, encoding="utf-8")
        rows.extend(
            f'\n[[carried]]\ninto = {stage}\nfile = "{one.file}"\nfunction = "{one.function}"\n'
            f"stage = {one.stage}\ntask = {one.task}\nfits = {list(one.fits)}\n"
            for one in carried(stage)
        )
    (folder / "stages" / "SKELETONS").write_text("".join(rows), encoding="utf-8")


def _write_object(stage: stages.Stage, kernel: build.Kernel, target: Path) -> None:
    """One object of all of a stage's: no source in it, and no names but the contract's."""
    built = build.build(stage, kernel)
    if not built.ok:
        raise LabError(f"stage {stage.number} does not compile: {built.cause}")
    names = sorted(path.stem for path in build.sources(stage) if path.suffix == ".c")
    objects = [str(built.directory / "stage" / f"{name}.o") for name in names]
    contract = ("fib_compute", "fib_decimal", "fib_limbs", "fib_release")
    target.parent.mkdir(parents=True)
    commands = [
        ["ld", "-r", "-o", str(target), *objects],
        ["objcopy", *(f"--keep-global-symbol={name}" for name in contract), str(target)],
        ["strip", "--strip-debug", "--discard-all", "--remove-section=.comment", str(target)],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise LabError(f"{command[0]}: {done.stderr.strip()}")


def _commit(folder: Path, message: str) -> None:
    settings = {
        "init.defaultBranch": "main",
        "core.autocrlf": "false",
        "core.hooksPath": os.devnull,
        "commit.gpgSign": "false",
    }
    for key, neutral in (("user.name", "fibdrv lab"), ("user.email", "lab@localhost")):
        try:
            settings[key] = _git(paths.ROOT, "config", key).strip() or neutral
        except LabError:
            settings[key] = neutral
    words = [word for pair in settings.items() for word in ("-c", "=".join(pair))]
    _git(folder, *words, "init", "--quiet", "--template=")
    _git(folder, *words, "add", "--all", "--force")
    _git(folder, *words, "commit", "--quiet", "--message", message)


def _usable(target: Path) -> None:
    if paths.inside(target, paths.ROOT):
        raise LabError(f"{target} is inside the kit: name a directory elsewhere")
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise LabError(f"{target} is there and is no directory: name a new one")
    if target.is_dir() and any(target.iterdir()):
        raise LabError(f"{target} is not empty: name a new directory, or empty that one")
    if not target.parent.is_dir():
        raise LabError(f"{target.parent} is not there: make it first")


def export(target: Path, progress: Progress) -> str:
    """Make target the students' repository, all of it or nothing; returns its commit's message."""
    _usable(target)
    try:
        commit = _git(paths.ROOT, "rev-parse", "--short=12", "HEAD").strip()
        states = _git(paths.ROOT, "status", "--porcelain").splitlines()
    except LabError as error:
        raise LabError(
            f"the kit is not a git checkout, whose files it would take ({error})"
        ) from error
    unknown = [line[3:] for line in states if line.startswith("??")]
    changed = len(states) > len(unknown)
    if changed:
        progress.say("note: the kit has changes that are not committed; they are in it")
    if unknown:
        names = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        progress.say(f"note: what git does not know is not in it: {names}")
    message = MESSAGE.format(commit=commit, dirty=", with changes since," if changed else "")
    half_made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        half_made.chmod(0o755)
        progress.step("copy what students get")
        _copy_kit(half_made)
        _write_skeletons(half_made)
        _refuse_leaks(half_made)
        kernel = machines.get("uml").kernel()
        for stage in stages.find(paths.STAGES):
            progress.step(f"build the reference's object, stage {stage.number}")
            folder = half_made / "reference" / stage.directory.name
            _write_object(stage, kernel, folder / "uml.o_shipped")
        progress.step("search it for solutions")
        _refuse_leaks(half_made)
        _commit(half_made, message)
        scratch.check_stopped()
        half_made.rename(target)
    except BaseException:
        shutil.rmtree(half_made, ignore_errors=True)
        raise
    return message


def main(words: list[str]) -> int:
    """The command line of scripts/export-course."""
    parser = argparse.ArgumentParser(
        prog="scripts/export-course",
        description="Make DIR a git repository for students: the kit with skeletons in place of"
        " solutions, in one commit.",
        epilog="Exit status: 0 made, 2 not made, and why in one line.",
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="new, or empty")
    target = parser.parse_args(words).directory.absolute()
    scratch.heed_signals()
    progress = Progress()
    try:
        message = export(target, progress)
        progress.clear()
    except (LabError, MachineError) as error:
        progress.clear()
        print(f"export-course: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        progress.clear()
        print(f"export-course: {in_one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nexport-course: stopped; nothing is left of it", file=sys.stderr)
        return 130
    finally:
        scratch.remove_all()
    print(f"{target} is made: {message.splitlines()[-1]}")
    print("No line of a solution is in it. make test there tests it.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
