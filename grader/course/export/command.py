# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""scripts/export-course: make a student repository without solutions, also in its history.

The repository holds the kit's files as they are in the working tree, except those that
exclusions.py names and the parts between "not exported" marks. Task code of electives is left out.
stages/ holds skeletons; reference/ holds compiled objects in place of the solutions (objects.py).
Finally, all exported files are searched for every line of every solution.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from grader.base import command, marked_regions, paths, scratch
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.course import texts, translation
from grader.course.export.exclusions import EXPORTED_AS, excluded
from grader.course.export.leaks import refuse_leaks
from grader.course.export.marks import without_marked
from grader.course.export.objects import write_object
from grader.course.export.skeletons import write_skeletons
from grader.exercise.files import stages
from grader.lab import machines

MESSAGE = """\
The fibdrv lab, for students

Exported from commit {commit} of the kit{dirty} by scripts/export-course.
"""


def _git(folder: Path, *words: str) -> str:
    # Inside a git hook, for example, these variables would make git use another repository.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"  # take no lock, because other git commands may run
    completed = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, env=environment
    )
    if completed.returncode:
        output = (completed.stderr.strip() or f"status {completed.returncode}").splitlines()[0]
        raise LabError(f"git {words[0]}: {output}", "run the command in a git checkout of the kit")
    return completed.stdout


def _copy_kit(folder: Path, answers: bool) -> None:
    for name in _git(paths.ROOT, "ls-files", "-z").split("\0"):
        source = paths.ROOT / name
        if not name or excluded(name, answers) or not source.is_file():
            continue
        target = folder / EXPORTED_AS.get(name, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        try:
            text = source.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        made = without_marked(text, name)
        if name.startswith("electives/"):
            made = marked_regions.skeleton(made, name)
        if made != text:
            target.write_text(made, encoding="utf-8")


def _translate(folder: Path, language: str) -> None:
    """Replace the English handouts with those in another language."""
    handouts = folder / "handouts"
    with tempfile.TemporaryDirectory(prefix=f"{paths.KIT}-") as name:
        made = Path(name)
        translation.make(language, made)
        for source in sorted(made.rglob("*.*")):
            relative = source.relative_to(made)
            target = handouts / relative
            if target.is_file():
                text = source.read_text(encoding="utf-8")
                target.write_text(without_marked(text, str(relative)), encoding="utf-8")
        readme = (made / "repository/README.md").read_text(encoding="utf-8")
        (folder / "README.md").write_text(readme, encoding="utf-8")
    shutil.copyfile(translation.HANDOUTS / language / texts.CATALOGUE, handouts / texts.CATALOGUE)
    own = translation.HANDOUTS / language
    for source in (own / "book.yaml", *own.glob("*.tex")):
        text = without_marked(source.read_text(encoding="utf-8"), source.name)
        (handouts / "book" / source.name).write_text(text, encoding="utf-8")


def _texts(language: str | None) -> texts.Texts:
    return texts.available()[language] if language else texts.ENGLISH


def _write_objects(folder: Path, progress: Progress) -> None:
    """Write objects in place of the reference's sources, for each machine available here."""
    for machine in ("uml", "qemu"):
        try:
            kernel = machines.get(machine).kernel()
        except LabError as error:
            if machine == "uml":
                raise
            progress.say(f"note: {error}")
            progress.say(
                "note: the course has no objects to count; where expected/par.json does not know"
                " a student's kernel, compiler and emulator, speed is judged by time"
            )
            continue
        for stage in stages.find(paths.STAGES):
            progress.step(f"build the reference's object for {machine}, stage {stage.number}")
            write_object(stage, kernel, folder / stage.directory.name)


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
        raise LabError(f"{target} is inside the kit", "give a directory elsewhere")
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise LabError(f"{target} is not a directory", "give a new one")
    if target.is_dir() and any(target.iterdir()):
        raise LabError(f"{target} is not empty", "give a new directory, or empty that one")
    if not target.parent.is_dir():
        raise LabError(f"{target.parent} does not exist", "make it first")


def export(
    target: Path, progress: Progress, answers: bool = False, language: str | None = None
) -> str:
    """Make a complete student repository in target, or nothing. Return its commit message."""
    _usable(target)
    try:
        commit = _git(paths.ROOT, "rev-parse", "--short=12", "HEAD").strip()
        states = _git(paths.ROOT, "status", "--porcelain").splitlines()
    except LabError as error:
        raise LabError(
            f"the kit is not a git checkout ({error.problem})",
            "run the command in a clone of its repository",
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
        _copy_kit(half_made, answers)
        if language:
            progress.step(f"the handouts in {language}")
            _translate(half_made, language)
        write_skeletons(half_made, _texts(language))
        refuse_leaks(half_made)
        _write_objects(half_made / "reference", progress)
        progress.step("search it for solutions")
        refuse_leaks(half_made)
        _commit(half_made, message)
        scratch.check_stopped()
        half_made.rename(target)
    except BaseException:
        shutil.rmtree(half_made, ignore_errors=True)
        raise
    return message


def main(words: list[str]) -> int:
    """Run scripts/export-course with its arguments. Return its exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/export-course",
        description="Make DIR a git repository for students: the kit with skeletons in place of"
        " solutions, in one commit.",
        epilog="Exit status: 0 made, 2 not made, and why in one line.",
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="a new or empty directory")
    parser.add_argument(
        "--answers",
        action="store_true",
        help="include the answers to the handouts' questions",
    )
    parser.add_argument(
        "--lang",
        metavar="LANGUAGE",
        help=f"export the handouts in another language: {', '.join(translation.languages())}",
    )
    options = parser.parse_args(words)
    if options.lang:
        translation.known(options.lang)
    target = options.directory.absolute()
    progress = Progress()
    message = export(target, progress, options.answers, options.lang)
    progress.clear()
    print(f"{target} is made: {message.splitlines()[-1]}")
    print("It contains no line of a solution. Run make test there to test it.")
    return 0


if __name__ == "__main__":
    sys.exit(command.end("export-course", lambda: main(sys.argv[1:]), "nothing is left of it"))
