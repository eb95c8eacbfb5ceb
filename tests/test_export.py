# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test scripts/export-course: the student repository works and contains no solution.

LAB_TESTS=long also runs the tests of the exported repository, which takes minutes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import paths
from grader.base.errors import LabError
from grader.course import carry_forward, skeleton
from grader.course.export import command as export
from grader.course.export import exclusions, leaks, objects, skeletons
from grader.exercise.build import stage_module
from grader.exercise.files import stages, tasks
from grader.exercise.static_contract import elf

STAGES = sorted(stages.manifests())

pytestmark = [
    pytest.mark.once(all_files=True),
    pytest.mark.skipif(not (paths.ROOT / ".git").exists(), reason="the kit is no git checkout"),
]


def call(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    keep = {k: v for k, v in os.environ.items() if k not in ("LAB_REF", "LAB_MACHINE", "LAB_TESTS")}
    return subprocess.run(
        words,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env={**keep, "MAKEFLAGS": "", **more},
    )


def run_export(target: Path) -> subprocess.CompletedProcess[str]:
    return call(paths.ROOT, "scripts/export-course", str(target))


@pytest.fixture(scope="module")
def exported() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="x"))
    (folder / "x").mkdir()  # the target may exist if it is empty
    completed = run_export(folder / "x")
    assert completed.returncode == 0, completed.stderr
    assert "It contains no line of a solution" in completed.stdout
    yield folder / "x"
    shutil.rmtree(folder)


@pytest.fixture
def student(exported: Path) -> Iterator[Path]:
    """Yield a clone of the exported repository that a test may change."""
    folder = Path(tempfile.mkdtemp(prefix="x"))
    completed = call(folder, "git", "clone", "--quiet", str(exported), "x")
    assert completed.returncode == 0, completed.stderr
    yield folder / "x"
    shutil.rmtree(folder)


def solution_of(stage: int, function: str) -> str:
    lines = [k for k, v in leaks.solution_lines().items() if v.startswith(f"stage {stage},")]
    return next(x for x in lines if leaks.solution_lines()[x].endswith(f" {function}"))


@pytest.mark.machine
def test_no_line_of_a_solution_is_in_it_nor_in_its_history(exported: Path) -> None:
    assert list(leaks.leaks(exported)) == []
    log = call(exported, "git", "log", "--patch", "--all", "--text").stdout
    assert "+static limb_t limbs_add(" in log
    text = "\n".join(" ".join(line.lstrip("+").split()) for line in log.splitlines())
    assert [line for line in leaks.solution_lines() if line in text] == []
    assert call(exported, "git", "log", "--format=%s", "--all").stdout.count("\n") == 1
    assert call(exported, "git", "remote").stdout == ""
    assert call(exported, "git", "status", "--porcelain", "--ignored").stdout == ""


def test_every_solution_is_looked_for() -> None:
    owners = set(leaks.solution_lines().values())
    for stage in STAGES:
        for task in tasks.course(stage).tasks:
            for part in task.parts:
                # Leave out bn_replace, whose only line is a call that reveals nothing of the
                # solution.
                if (stage, part.function) != (3, "bn_replace"):
                    assert f"stage {stage}, task {task.number}, {part.function}" in owners


@pytest.mark.machine
@pytest.mark.parametrize(
    ("name", "stage", "function"),
    [
        ("README.md", 1, "fib_decimal"),
        ("stages/4-allocation-free-api/bignum.c", 3, "limbs_add"),
        ("stages/7-preallocation/bignum.h", 6, "limb_mul"),
        ("reference/5-schoolbook-squaring/uml.o_shipped", 5, "bn_square"),
        ("reference/5-schoolbook-squaring/qemu.o_shipped", 5, "bn_square"),
    ],
)
def test_the_search_finds_a_planted_line(
    name: str, stage: int, function: str, student: Path
) -> None:
    line = solution_of(stage, function)
    with (student / name).open("a") as file:
        file.write(f"\nas in   {line.replace(' ', '   ')} // it says\n")
    (leak,) = leaks.leaks(student)
    assert (leak.file, leak.text) == (name, line)
    assert function in leak.owner
    with pytest.raises(LabError, match=f"{name}:.* would reveal .*{function}"):
        leaks.refuse_leaks(student)


@pytest.mark.machine
def test_it_opens_in_codespaces(exported: Path) -> None:
    """The exported course contains the scripts that the container runs."""
    settings = json.loads((exported / ".devcontainer/devcontainer.json").read_text())
    scripts = re.findall(r"scripts/\S+", settings["onCreateCommand"])
    assert scripts and all(os.access(exported / script, os.X_OK) for script in scripts)


@pytest.mark.machine
def test_what_is_left_out_is_not_spoken_of(exported: Path) -> None:
    gone = ("instructor.md", "experiments/", "CONTRIBUTING", "export-course", "tests/faults")
    gone += ("make par", "make mutation", "not exported")
    for path in [*exported.rglob("*.md"), exported / "Makefile"]:
        text = path.read_text()
        assert [word for word in gone if word in text] == [], path
        assert path.name == "Makefile" or "instructor" not in text
        for target in re.findall(
            r"\]\(([^)\s#]+)[^)]*\)", re.sub(r"```.*?```", "", text, flags=re.S)
        ):
            if not re.match(r"[a-z]+:", target):
                assert (path.parent / target).exists(), f"{path}: {target}"
    for pattern in exclusions.LEFT_OUT:
        if not pattern.startswith("stages"):
            assert not list(exported.glob(pattern)), pattern
            # Each pattern must match a file of the kit.
            assert list(paths.ROOT.glob(pattern)), pattern


@pytest.mark.machine
@pytest.mark.parametrize("number", STAGES)
def test_its_skeletons_compile(number: int, exported: Path, tmp_path: Path) -> None:
    (directory,) = (exported / "stages").glob(f"{number}-*")
    completed = call(
        exported,
        *("make", "-s", "-C", "common/userspace", f"STAGE_DIR={directory}", f"OUT={tmp_path}"),
    )
    assert completed.returncode == 0, completed.stderr


# This script starts each stage, saves the new copy, and then solves the stage with the reference's
# files.
A_LEARNER = """
import shutil, sys
from pathlib import Path
from grader.course import carry_forward, commands, skeleton
from grader.exercise.files import exercises, stages
for number in sorted(stages.manifests()):
    commands.start(exercises.find(number))
    own = skeleton.learner_directory(number)
    shutil.copytree(own, Path(sys.argv[1]) / own.name)
    commands.start(exercises.find(number))
    print("missing", *sorted(one.function for one in carry_forward.missing(number, own)))
    for file in own.iterdir():
        stub = file.read_text()
        solved = (Path(sys.argv[2]) / own.name / file.name).read_text()
        # The comment with the task stays where it is, above what is written below it.
        for name, there in reversed(skeleton.functions(solved).items()):
            here = skeleton.functions(stub).get(name)
            note = here and stub[here.body : stub.find("*/\\n", here.body) + 3]
            if note and note.lstrip("\\t/* \\n").startswith(("Task ", "You wrote this in stage ")):
                solved = solved[: there.body] + note + solved[there.body :]
                print("kept", name)
        file.write_text(solved)
"""


@pytest.mark.machine
def test_start_brings_over_what_was_written(student: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-c", A_LEARNER, str(tmp_path), str(paths.STAGES)]
    completed = call(student, *words, PYTHONPATH=str(student))
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.count("exists and is unchanged; begin with task 1") == len(STAGES)
    _, *said = re.split(r"^work/.* is yours\. Tasks:$", completed.stdout, flags=re.M)
    for number in STAGES:
        left = sorted(one.function for one in skeletons.carried(number) if not one.fits)
        assert " ".join(["missing", *left]) in said[number - 1].splitlines()
        reference = skeleton.reference(number)
        for one in skeletons.carried(number):
            made, wanted = (
                carry_forward._text((folder / reference.name / one.file).read_text(), one.function)
                for folder in (tmp_path, paths.STAGES)
            )
            assert (made == wanted) == bool(one.fits), (number, one)
            assert f"kept {one.function}" in completed.stdout
            what = re.escape(f"{one.function} ({one.file})")
            how = "brought over from .*" if one.fits else "not brought over: "
            assert re.search(f"^{how}{what}", said[number - 1], re.M), said[number - 1]


@pytest.mark.machine
def test_start_brings_helpers_and_leaves_what_is_not_written(student: Path, tmp_path: Path) -> None:
    environment = {"LAB_BUILD": str(tmp_path)}
    assert call(student, "make", "stage=1", "start", **environment).returncode == 0
    second = call(student, "make", "stage=2", "start", **environment).stdout
    assert (
        "not brought over: fib_decimal (decimal.c); yours of stage 1 is not in work/ yet" in second
    )
    assert "do stage 1 first, then make stage=2 start again; or write here" in second
    # While a function is missing, `make hint` names it, because no hint of a task would help.
    hint = call(student, "make", "stage=2", "hint", **environment).stdout
    assert re.match(r"task 1, \w+: ", hint)
    assert "because of what is missing; make stage=2 hint task=1 gives its hint\n" in hint
    assert hint.endswith(
        "\nnext: write fib_decimal (decimal.c): your stage 1 does not have it;"
        " see the comment there\n"
    )
    aside = student / "work" / "aside"
    (student / "work" / "1-iterative-u64").rename(aside)
    hint = call(student, "make", "stage=2", "hint", **environment).stdout
    assert hint.endswith(
        "\nnext: do stage 1 first (make stage=1 start), which has fib_decimal (decimal.c);"
        " or write it here\n"
    )
    aside.rename(student / "work" / "1-iterative-u64")
    shutil.rmtree(student / "work" / "2-fast-doubling-clz")
    file = student / "work" / "1-iterative-u64" / "decimal.c"
    before, _, after = file.read_text().partition("ssize_t fib_decimal")
    body = after.index("{\n") + 2
    file.write_text(
        f"{before}/* Of one digit. */\nstatic char digit(u64 x)\n{{\n\treturn '0' + x;\n}}\n\n"
        f"ssize_t fib_decimal{after[:body]}\tdigits[0] = digit(f->word);\n\treturn 1;\n}}\n"
    )
    second = call(student, "make", "stage=2", "start", **environment).stdout
    assert "brought over from work/1-iterative-u64: fib_decimal (decimal.c)" in second
    made = (student / "work" / "2-fast-doubling-clz" / "decimal.c").read_text()
    assert made == file.read_text()


# This script starts each stage and solves it with the reference's files, in which each function of
# a task uses additional definitions: a macro, a type, a table, a static function, and a function
# that a header declares. A helper is declared above its caller and defined below it.
AN_OWN_LEARNER = """
import sys
from pathlib import Path
from grader.course import carry_forward, commands, skeleton
from grader.exercise.files import exercises, stages, tasks

OWN = '''
#define OWN_MASK_{0} \\
	3u

/* Its own type. */
struct own_{0} {{
	unsigned int value;
}};

static const unsigned int own_table_{0}[] = {{
	1, 2, 3, 4,
}};

static unsigned int own_first_{0}(unsigned int i)
{{
	struct own_{0} found = {{ own_table_{0}[i & OWN_MASK_{0}] }};

	return found.value;
}}

static unsigned int own_helper_{0}(unsigned int i);

'''
BELOW = '''
static unsigned int own_helper_{0}(unsigned int i)
{{
	return own_first_{0}(i);
}}
'''
SHARED = "unsigned int own_shared_{0}(unsigned int i);"

for number in sorted(stages.manifests()):
    commands.start(exercises.find(number))
    own = skeleton.learner_directory(number)
    for file in own.iterdir():
        file.write_text((Path(sys.argv[1]) / own.name / file.name).read_text())
    if not exercises.find(number).arithmetic:
        continue
    for task in tasks.course(number).tasks:
        for part in task.parts:
            file = own / part.file
            text = file.read_text()
            there = skeleton.functions(text)[part.function]
            above = skeleton.comment_above(text, there)
            name = f"{part.function}_{number}"
            body = text[there.body : there.end + 2]
            call = f"\\tif (own_helper_{name}(1) == 9)\\n\\t\\tfib_assert(0);\\n"
            shared = (own / "bignum.h").is_file() and part.file.endswith(".c")
            if shared:
                call += call.replace("own_helper", "own_shared")
            below = BELOW.format(name)
            if shared:
                header = (own / "bignum.h").read_text()
                begin, end, behind = header.rpartition("#endif")
                (own / "bignum.h").write_text(begin + SHARED.format(name) + "\\n\\n" + end + behind)
                below += SHARED.format(name)[:-1]
                below += f"\\n{{\\n\\treturn own_first_{name}(i);\\n}}\\n"
            # A declaration may follow a statement.
            file.write_text(
                text[:above] + OWN.format(name).lstrip() + text[above : there.body]
                + call + body + below + text[there.end + 2 :]
            )
"""


# This script writes the files of a newly started stage to a folder.
START = """
import sys
from pathlib import Path
from grader.course import carry_forward, skeleton
for number in map(int, sys.argv[2:]):
    files, _ = carry_forward.begin(number)
    skeleton.write(number, Path(sys.argv[1]) / str(number), files=files)
"""


def text_of(directory: Path) -> str:
    return "".join(path.read_text() for path in directory.iterdir())


@pytest.mark.machine
@pytest.mark.timeout(300)
def test_what_is_brought_over_compiles_with_a_learners_own_definitions(
    student: Path, tmp_path: Path
) -> None:
    words = [sys.executable, "-c", AN_OWN_LEARNER, str(paths.STAGES)]
    completed = call(student, *words, PYTHONPATH=str(student))
    assert completed.returncode == 0, completed.stderr
    assert "does not compile" not in completed.stdout
    words = [sys.executable, "-c", START, str(tmp_path), *map(str, STAGES)]
    made = call(student, *words, PYTHONPATH=str(student))
    assert made.returncode == 0, made.stderr
    for number in STAGES:
        folder = tmp_path / str(number)
        if number:
            (directory,) = folder.iterdir()
            built = call(student, "make", "-s", "-C", "common/userspace",
                         f"STAGE_DIR={directory}", f"OUT={folder}/out")  # fmt: skip
            assert built.returncode == 0, built.stderr
            fits = [one for one in skeletons.carried(number) if one.fits[:1] == (one.stage,)]
            assert text_of(directory).count("own_helper_") == 3 * len(fits)


@pytest.mark.machine
def test_what_does_not_compile_in_a_stage_is_not_brought_over(
    student: Path, tmp_path: Path
) -> None:
    """A learner's function is not copied if it uses a type that the next stage does not have."""
    words = [sys.executable, "-c", A_LEARNER, str(tmp_path / "begun"), str(paths.STAGES)]
    (tmp_path / "begun").mkdir()
    assert call(student, *words, PYTHONPATH=str(student)).returncode == 0
    (own,) = (student / "work").glob("5-*")
    file = own / "bignum.c"
    file.write_text(file.read_text().replace("limbs_add_squares", "square_rows"))
    shutil.rmtree(next((student / "work").glob("6-*")))
    done = call(student, "make", "stage=6", "start", LAB_BUILD=str(tmp_path / "build"))
    (line,) = (line for line in done.stdout.splitlines() if "compile" in line)
    assert re.fullmatch(
        r"not brought over: bn_square \(bignum\.c\); yours of stage 5 does not compile in stage 6"
        r" \(.*dlimb_t.*\); copy it into the stub and correct that",
        line,
    )
    assert "brought over from work/5-schoolbook-squaring: bn_reserve (bignum.c)" in done.stdout
    (made,) = (student / "work").glob("6-*")
    built = call(student, "make", "-s", "-C", "common/userspace",
                 f"STAGE_DIR={made}", f"OUT={tmp_path}/out")  # fmt: skip
    assert built.returncode == 0, built.stderr
    assert "square_rows" not in (made / "bignum.c").read_text()


@pytest.mark.machine
def test_without_a_copy_it_says_what_to_do(student: Path, tmp_path: Path) -> None:
    completed = call(student, "make", "check", LAB_BUILD=str(tmp_path))
    assert "there is no stage in work/ yet; run make stage=1 start" in completed.stderr
    assert completed.returncode == 2
    completed = call(student, "make", "stage=2", "ref=1", "profile", LAB_BUILD=str(tmp_path))
    assert "stage 2 is here without its source" in completed.stderr


def test_an_object_is_for_one_kind_of_kernel(tmp_path: Path) -> None:
    stage = replace(stages.kit(3), shipped=tmp_path)
    (tmp_path / "uml.o_shipped").touch()
    assert stage.fits("um")
    kernel = stage_module.Kernel("qemu-1", Path("/nowhere"), "x86", "6.1", "gcc")
    with pytest.raises(LabError, match="stage 3 .* has no object for kernels of x86"):
        stage_module.build(stage, kernel)


@pytest.mark.machine
def test_the_counted_objects_name_nothing_but_the_contract(exported: Path) -> None:
    found = sorted(exported.glob("reference/*/qemu.o_shipped"))
    assert len(found) == len(STAGES)
    for path in found:
        names = {s.name for s in elf.read(path).symbols if s.kind != "SECTION"} - {""}
        own = {name for name in names if re.fullmatch(r"f\d+|\.LC\d+", name)}
        assert {"fib_compute", "fib_decimal", "fib_limbs", "fib_release"} <= names
        assert all(
            objects.PORTABLE_IMPORTS.fullmatch(name) or name in objects.CONTRACT
            for name in names - own
        ), path


# This script counts the instructions of the reference. It ignores earlier counts in
# expected/par.json and in the cache.
COUNT = """
from pathlib import Path
from grader.lab import machines
from grader.scoring import par
par.FILE = Path("none")
places = {(1, "compute", 90), (2, "compute", 90)}
found = par.counts(machines.counting(), places)
print(*(found[place] for place in sorted(places)))
"""


@pytest.mark.machine
def test_a_student_can_count_the_reference(student: Path, tmp_path: Path) -> None:
    """Counts from the shipped object files equal those from the sources within 1 %."""
    own = {"LAB_CACHE": str(tmp_path / "cache"), "LAB_BUILD": str(tmp_path / "build")}
    words = (sys.executable, "-c", COUNT)
    counted = []
    for folder in (student, paths.ROOT):
        completed = call(folder, *words, PYTHONPATH=str(folder), **own)
        assert completed.returncode == 0, completed.stderr
        counted.append([float(word) for word in completed.stdout.split()])
    by_object, by_source = counted
    assert by_object == pytest.approx(by_source, rel=0.01)
    (student / "reference" / "1-iterative-u64" / "qemu.o_shipped").unlink()
    completed = call(student, *words, PYTHONPATH=str(student), **own)
    assert "reference/ has no object of stage 1 that machine qemu can measure" in completed.stderr


@pytest.mark.machine
def test_a_directory_in_use_is_refused(exported: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for target, says in (
        (exported, "is not empty"),
        (file, "is not a directory"),
        (paths.ROOT / "build" / "x", "is inside the kit"),
        (tmp_path / "no" / "x", "does not exist"),
    ):
        completed = run_export(target)
        assert completed.returncode == 2
        assert re.fullmatch(rf"export-course: .*{says}.*\n", completed.stderr), completed.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.always
@pytest.mark.machine
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_a_stopped_export(number: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        ["scripts/export-course", str(tmp_path / "x")],
        cwd=paths.ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    for line in process.stderr:
        if "reference's object for uml, stage 1" in line:
            assert list(tmp_path.iterdir())
            process.send_signal(number)
            break
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 130
    assert "stopped; nothing is left of it" in said
    assert list(tmp_path.iterdir()) == []


def test_marked_passages_go() -> None:
    text = "a\n<!-- not exported -->\nb\n<!-- /not exported -->\nc <!-- exported: d\ne -->\n"
    assert export.without_marked(text, "x") == "a\nc d\ne\n"
    assert export.without_marked("a <!-- not exported -->b <!-- /not exported -->c", "x") == "a c"
    assert export.without_marked("a\n# not exported\nb\n# /not exported\nc\n", "x") == "a\nc\n"
    # No blank line is left over.
    part = "<!-- not exported -->\nb\n\n<!-- /not exported -->\n"
    assert export.without_marked(f"a\n\n{part}\nc\n{part}d\n", "x") == "a\n\nc\nd\n"
    assert export.without_marked("a\n\n\n# not exported\nb\n# /not exported\n", "x") == "a\n"
    for wrong in ("<!-- not exported -->\nb\n", "b\n# /not exported\n", "<!-- exported: b\n"):
        with pytest.raises(LabError, match="end mark of a part that is not exported is missing"):
            export.without_marked(wrong, "x")


@pytest.mark.machine
@pytest.mark.timeout(1800)
@pytest.mark.long
def test_its_own_tests_pass(student: Path) -> None:
    begin = time.monotonic()
    completed = call(student, "make", "test", LAB_BUILD="")
    assert completed.returncode == 0, completed.stdout[-5000:]
    print(f"{time.monotonic() - begin:.0f} s: {completed.stdout.splitlines()[-1]}")
    completed = call(student, "make", "lint", LAB_BUILD="")
    assert completed.returncode == 0, completed.stdout[-5000:]


def test_answers_are_given_on_demand_only(tmp_path: Path) -> None:
    for answers in (False, True):
        folder = tmp_path / str(answers)
        folder.mkdir()
        export._copy_kit(folder, answers)
        given = folder / "handouts/answers.md"
        assert given.exists() == answers
    text = given.read_text()
    assert [x for x in ("instructor", "not exported", "export-course") if x in text] == []
    found = [leak for leak in leaks.leaks(folder) if leak.file == "handouts/answers.md"]
    assert found == []
