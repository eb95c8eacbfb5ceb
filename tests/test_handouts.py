# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the handouts and the README: run their console sessions and check their links.

A session is a block marked console. Lines that begin with "$ " are commands, and the lines after a
command are its expected output. "..." within a line stands for any text, and "..." alone on a line
for any lines. A comment before the block controls the session:

    <!-- check: numbers vary -->    each number may differ from the shown one by a factor of FACTOR
    <!-- check: needs valgrind -->  skip the session, with a warning, if valgrind is missing
    <!-- check: before 7.0 -->      skip the session if the lab kernel is Linux 7.0 or later
    <!-- check: needs source -->    skip the session in a student repository, without a reference
    <!-- check: exit 1 or 2 -->     the commands may fail
    <!-- check: solved 0 -->        the reference is the learner's copy of stage 0 in this session
    <!-- check: long -->            run the session in the long form only: LAB_TESTS=long make test

The sessions of the experiments all belong to the long form.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.base import paths
from grader.course import texts
from grader.exercise.files import exercises, stages
from grader.lab import machines

HANDOUTS = paths.ROOT / "handouts"
# Handouts of exercises whose folders have been deleted. Their links are not checked, because the
# targets are gone.
ORPHANS = {*HANDOUTS.glob("[0-9]*-*.md"), *HANDOUTS.glob("electives/*.md")} - {
    exercises.find(name).handout for name in exercises.names()
}
DOCUMENTS = sorted({paths.ROOT / "README.md", *HANDOUTS.rglob("*.md")} - ORPHANS)
ALL_TEXT = sorted([*DOCUMENTS, *paths.ROOT.glob("CONTRIBUTING.md"), *paths.EXPECTED.glob("*.md")])
# Sessions must not run the commands in NOT_RUN, which would start these tests again. The commands
# in LONG_RUN take minutes, so only the long form runs them.
NOT_RUN = ("make test",)
LONG_RUN = ("grader/run.sh", "make elective=fibers check long=1")
# The handout whose sessions show races. What passes once may fail the next time.
RACES = "concurrency"
FACTOR = 60.0
# Numbers up to SMALL are not compared, because the clock resolution (256 ns) or other load may
# distort them.
SMALL = 1100.0
SECONDS = 400
LONG_SECONDS = 1500

NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
# Output that does not come from the program: progress lines and messages of make.
NOISE = re.compile(r"\[ *\d+ s\] .*|make(\[\d+\])?: .*|.*: (creating|installing|unpacking)\b.*")


@dataclass(frozen=True)
class Block:
    """A console session: its document and line, its check comment, and its text."""

    document: Path
    line: int
    check: str
    text: str

    def steps(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each command with the output that the document shows for it."""
        lines = self.text.splitlines()
        i = 0
        while i < len(lines):
            assert lines[i].startswith("$ "), f"{self}: {lines[i]!r} is no command"
            command = [lines[i][2:]]
            here = re.search(r"<<'?(\w+)'?", lines[i])
            i += 1
            while here and command[-1] != here[1]:
                command.append(lines[i])
                i += 1
            begin = i
            while i < len(lines) and not lines[i].startswith("$ "):
                i += 1
            yield "\n".join(command), lines[begin:i]

    def __str__(self) -> str:
        return f"{paths.shown(self.document)}:{self.line}"


def blocks(document: Path) -> list[Block]:
    pattern = re.compile(r"^(?:<!-- check: ([^\n]*) -->\n)?```console\n(.*?)^```$", re.M | re.S)
    text = document.read_text()
    found = [
        Block(document, text.count("\n", 0, m.start()) + 1, m[1] or "", m[2])
        for m in pattern.finditer(text)
    ]
    assert len(found) == len(re.findall(r"^```console", text, re.M)), document
    return found


def squeezed(line: str) -> str:
    return " ".join(line.split())


def mismatch(shown: list[str], said: str, vary: bool) -> str:
    """Return the difference between the shown output and the actual output, or an empty string."""
    came = [line.rstrip() for line in said.splitlines() if not NOISE.fullmatch(line.strip())]
    if vary:
        shown, came = [squeezed(x) for x in shown], [squeezed(x) for x in came]
    pattern, numbers = "", []
    for line in shown:
        if line == "...":
            pattern += r"(?:.*\n)*?"
            continue
        parts = []
        for piece in line.rstrip().split("..."):
            if vary:
                numbers += [float(x.replace(",", "")) for x in NUMBER.findall(piece)]
                words = [re.escape(x) for x in NUMBER.split(piece)]
                parts.append(r"(\d[\d,]*(?:\.\d+)?)".join(words))
            else:
                parts.append(re.escape(piece))
        pattern += ".*".join(parts) + r"\n"
    text = "".join(f"{line}\n" for line in came)
    match = re.fullmatch(pattern, text)
    if not match:
        return "shown:\n  " + "\n  ".join(shown) + "\ncame:\n  " + "\n  ".join(came)
    for want, word in zip(numbers, match.groups()):
        got = float(word.replace(",", ""))
        if max(want, got) > SMALL and not want / FACTOR <= got <= want * FACTOR:
            return f"{want:g} is shown, {got:g} came"
    return ""


def version(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", release)[:2])


def missing(check: str) -> str:
    """Return the program or version that a block needs and this computer lacks, or ""."""
    for release in re.findall(r"before (\d+\.\d+)", check):
        lab = machines.get("uml").kernel().release
        if version(lab) >= version(release):
            return f"Linux before {release}"
    for need in re.findall(r"needs ([\w-]+)", check):
        if need == "uml-debug":
            cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
            if not list((cache / "fibdrv-lab").glob("uml-debug-*")):
                return need
        elif need == "source":
            if stages.exported():
                return "source of the reference"
        elif need == "qemu":
            if shutil.which("qemu-system-x86_64") is None:
                return need
        elif shutil.which(need) is None:
            return need
    return ""


@pytest.fixture(scope="module")
def checkout() -> Iterator[Path]:
    """Yield a copy of the checkout that has neither build/ nor work/, as a learner gets it."""
    folder = Path(tempfile.mkdtemp(prefix="h"))
    copy = folder / "kit"
    files = subprocess.run(
        ["git", "-C", str(paths.ROOT), "ls-files", "-co", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in files:
        if (paths.ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(paths.ROOT / name, copy / name)
    (folder / "t").mkdir()
    yield copy
    run(copy, "make unload")
    shutil.rmtree(folder)


def run(checkout: Path, command: str) -> subprocess.CompletedProcess[str]:
    keep = {k: v for k, v in os.environ.items() if k not in ("LAB_BUILD", "LAB_REF", "LAB_MACHINE")}
    return subprocess.run(
        ["bash", "-c", command],
        cwd=checkout,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONG_SECONDS if command in LONG_RUN else SECONDS,
        env={
            **keep,
            "MAKEFLAGS": "",
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": str(checkout.parent / "t"),
            "LC_ALL": "C.UTF-8",
        },
    )


@pytest.mark.machine
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(
    "document",
    [
        pytest.param(one, marks=[] if one.stem == RACES else pytest.mark.once(all_files=True))
        for one in DOCUMENTS
    ],
    ids=paths.shown,
)
def test_the_sessions_are_as_shown(document: Path, checkout: Path) -> None:
    long = os.environ.get("LAB_TESTS") == "long"
    if not long and (document.parent.name == "experiments" or document.name[:3] in ("10-", "11-")):
        pytest.skip("takes minutes; part of the long form: LAB_TESTS=long make test")
    shutil.rmtree(checkout / "work", ignore_errors=True)
    (checkout / "build").mkdir(exist_ok=True)
    (checkout / "work").mkdir()
    for block in blocks(document):
        if "long" in block.check and not long:
            continue
        need = missing(block.check)
        if need:
            warnings.warn(f"{block}: not run, because {need} is missing", stacklevel=1)
            continue
        for number in re.findall(r"solved (\d+)", block.check):
            (solution,) = (checkout / "stages").glob(f"{number}-*")
            shutil.copytree(solution, checkout / "work" / solution.name, dirs_exist_ok=True)
        vary = "numbers vary" in block.check
        for command, shown in block.steps():
            if command in NOT_RUN or (command in LONG_RUN and not long):
                continue
            # Retry, because other load rarely distorts the measured time three times in a row.
            for _ in range(3 if vary or command.startswith("grader/compare.sh") else 1):
                completed = run(checkout, command)
                # Allow any output of a command that is shown without output.
                wrong = shown and mismatch(shown, completed.stdout, vary)
                if not wrong:
                    break
            assert not wrong, f"{block}: $ {command}\n{wrong}"
            if "exit" not in block.check:
                assert completed.returncode == 0, (
                    f"{block}: $ {command}: status {completed.returncode}"
                )


def dangerous(command: str) -> bool:
    """Return True if a command could destroy a learner's work.

    A command may write to build/ and /tmp, which hold generated files only. Quoted text is ignored,
    because it goes to a machine or to sed. A session that patches a file of the checkout also
    reverts the patch.
    """
    if re.search(r"sed -i", command) and not re.search(r" build/\S+$", command.splitlines()[0]):
        return True
    line = re.sub(r"'[^']*'|\"[^\"]*\"", "", command.splitlines()[0])
    if re.search(
        r"\b(rm|mv|dd|truncate|unlink|shred)\b|\bgit (?!log|diff|status|show)|--force", line
    ):
        return True
    copied = re.search(r"\bcp\b.* (\S+)$", line)
    if copied and not re.match(r"build/|/tmp/", copied[1]) and "[ -e " not in line:
        return True
    return bool(re.search(r">>?\s*(?!/dev/null|build/|/tmp/|&\d)[^\s>&]", line))


@pytest.mark.parametrize("document", DOCUMENTS, ids=paths.shown)
def test_no_session_destroys_work(document: Path) -> None:
    for block in blocks(document):
        for command, _ in block.steps():
            assert not dangerous(command), f"{block}: {command}"


@pytest.mark.parametrize(
    "command",
    ["rm -r work/1-iterative-u64 && make stage=1 start", "git checkout .", "git clean -fdx",
     "sed -i 's/a/b/' work/1-iterative-u64/fib.c", "cat > work/x.c <<'END'", "echo x >> README.md",
     "cp a.c work/1-x/fib.c", "mv work/1-x work/2-x"],
)  # fmt: skip
def test_a_command_that_destroys_is_found(command: str) -> None:
    assert dangerous(command)


def test_no_session_asks_the_reference_for_its_source() -> None:
    """No session builds the reference from its source, which a student repository does not have."""
    for document in DOCUMENTS:
        for block in blocks(document):
            for command, _ in block.steps():
                asks = re.search(r"\bref=1\b.*\b(user|memcheck|sanitize|profile)\b", command)
                assert not asks, f"{block}: {command}"


@pytest.mark.parametrize("document", ALL_TEXT, ids=paths.shown)
def test_links_within_the_repository_lead_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path = document.parent / target.split("#")[0]
        assert path.exists(), f"{paths.shown(document)}: {target} does not exist"


@pytest.mark.once(all_files=True)
@pytest.mark.parametrize("document", DOCUMENTS, ids=paths.shown)
def test_the_formulas_can_be_read(document: Path) -> None:
    if shutil.which("pandoc") is None:
        pytest.skip("pandoc not found; run scripts/setup.sh book")
    assert bad_formulas(document.read_text()) == ""


def bad_formulas(text: str) -> str:
    """Return pandoc's errors, and the lines with dollar signs that pandoc reads as text."""
    command = ["pandoc", "-f", "gfm+tex_math_dollars", "-t", "html", "--mathml"]
    completed = subprocess.run(command, input=text, capture_output=True, text=True)
    shown_as_is = r"<(pre|code)\b.*?</\1>|<!--.*?-->|<annotation.*?</annotation>"
    page = re.sub(shown_as_is, "", completed.stdout, flags=re.S)
    # pandoc 3.9 renamed the option and warns about the old name.
    said = re.sub(r"^\[WARNING\] Deprecated: --mathml\..*\n", "", completed.stderr, flags=re.M)
    return said + "".join(re.findall(r"^.*\$.*$", page, re.M))


@pytest.mark.parametrize(
    ("text", "good"),
    [("$x^2$", True), ("$$\\frac{1}{2}$$", True), ("$x", False), ("$\\frac{1$", False)],
)
def test_a_bad_formula_is_found(text: str, good: bool) -> None:
    if shutil.which("pandoc") is None:
        pytest.skip("pandoc not found; run scripts/setup.sh book")
    assert (bad_formulas(text) == "") == good


# A figure must not be larger than this. A larger file would contain unnecessary data.
FIGURE_BYTES = 100_000


def test_the_figures_are_small_and_say_where_they_come_from() -> None:
    figures = sorted((paths.ROOT / "handouts" / "figures").glob("*.svg"))
    assert figures
    for figure in figures:
        text = figure.read_text()
        assert len(text.encode()) <= FIGURE_BYTES, figure
        # In a translated course the words of a figure are translated, but not the names.
        translated = (HANDOUTS / texts.CATALOGUE).is_file()
        machine = ".*gcc" if translated else r"(uml \d+\.\d+|user space).*gcc"
        assert re.search(machine, text, re.S), f"{figure} names no machine"
        wide = figure.name.replace("-narrow.svg", ".svg")
        places = [d for d in DOCUMENTS if f"figures/{wide}" in d.read_text()]
        assert places, f"no page shows {figure}"
        assert (figure.parent / wide.replace(".svg", "-narrow.svg")).is_file(), f"{wide} alone"


# These words are correct, but aspell does not know them.
WORDS = paths.ROOT / "tests" / "words.txt"
NOT_PROSE = re.compile(
    r"^```.*?^```$|<!--.*?-->|`[^`]*`|\$\$.*?\$\$|\$[^$\n]*\$|(?<=\])\([^)]*\)", re.M | re.S
)


def prose(text: str) -> str:
    """Return the text without code, formulas, comments and addresses."""
    return NOT_PROSE.sub(" ", text)


def misspelt(text: str) -> set[str]:
    """Return the words that are neither in aspell's British dictionary nor in words.txt."""
    if shutil.which("aspell") is None:
        pytest.skip("aspell not found; run scripts/setup.sh test")
    command = ["aspell", "list", "--lang=en_GB", "--encoding=utf-8"]
    completed = subprocess.run(
        command, input=prose(text), capture_output=True, text=True, check=True
    )
    return {word.removesuffix("'s") for word in completed.stdout.split()} - set(
        WORDS.read_text().split()
    )


@pytest.mark.parametrize("document", ALL_TEXT, ids=paths.shown)
def test_spelling(document: Path) -> None:
    assert not misspelt(document.read_text())


def test_a_typo_is_found() -> None:
    assert misspelt("The kernel recieves a measurment; `teh` $teh$ is code.") == {
        "recieves",
        "measurment",
    }


@pytest.mark.skipif(stages.exported(), reason="some texts are not for students")
def test_no_word_of_the_list_is_idle() -> None:
    text = " ".join(prose(document.read_text()) for document in ALL_TEXT)
    assert not [word for word in WORDS.read_text().split() if word not in text]


@pytest.mark.parametrize(
    ("shown", "said", "vary", "matches"),
    [
        (["55"], "55\n", False, True),
        (["55"], "56\n", False, False),
        (["55"], "55\n56\n", False, False),
        (["...", "b"], "a\na\nb\n", False, True),
        (["a ... c"], "a x c\n", False, True),
        (["a ... c"], "a x d\n", False, False),
        (["5000.0 ns"], "  20000.1  ns\n", True, True),
        (["5000.0 ns"], "9000000.0 ns\n", True, False),
        (["5000.0 ns"], "5000.0 cycles\n", True, False),
        (["x"], "[   3 s] build\nx\n", False, True),
    ],
)
def test_the_comparison_can_fail(shown: list[str], said: str, vary: bool, matches: bool) -> None:
    assert (mismatch(shown, said, vary) == "") == matches
