# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""scripts/translate.sh: translate the handouts with po4a.

handouts/LANGUAGE/ has a .po file for each handout and for the README of a course, the words in
pictures and figures, and the words that the book adds. tasks.po has the texts and hints of tasks
(texts.py), the comments of the programs in PROGRAMS, and the comments of C code in handouts. po4a
copies code and console sessions unchanged. Afterwards, comments and shown hints are translated by
tasks.po; the code and all other output are the same in every language. po4a reads copies of the
handouts in which each paragraph is one line, so a .po file does not depend on where an author
breaks the lines. A paragraph is stale when the words of its English have changed; it appears in
English until it is translated again. Only make release-check fails then, so that an author can
change a handout without knowing a second language. A malformed translation fails make test.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polib

from grader.base import command, object_store, paths, toml, wrapping
from grader.base.errors import LabError
from grader.course import texts
from grader.course.export.marks import without_marked

HANDOUTS = paths.ROOT / "handouts"
# Do not translate this handout, because teachers read the kit's English texts anyway.
NOT_TRANSLATED = ("instructor.md",)
WORDS = "pictures.toml"
# Programs whose comments are translated, and their comments, except for the licence.
PROGRAMS = ("warm-up/owners.c",)
OF_PROGRAM = "comment of a program"
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
# The header of a .po file. Without dates and line numbers, a file changes only if a text changes.
HEADER = {
    "Project-Id-Version": "fibdrv lab",
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=UTF-8",
    "Content-Transfer-Encoding": "8bit",
}
# Comments that only the kit reads. The text of an "exported" comment is a paragraph for students.
MARKS = re.compile(r"(?:<!--(?! exported:)(?:(?!-->).)*-->\s*)+", re.DOTALL)
# Chinese, Japanese and Korean have no spaces between words. A line break between two such
# characters would be shown as a space.
WIDE = "[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]"
BROKEN = re.compile(f"{WIDE}\n{WIDE}")
FENCE = re.compile(r" *(?:```|~~~)")
BLOCK = re.compile(r"(^( *)```(c|console)\n)(.*?)(?=^\2```$)", re.DOTALL | re.MULTILINE)
# The output of make hint in a session, up to the next command.
SHOWN_HINT = re.compile(
    r"^hint (\d+) of (\d+)( \(.*?\))?: (.*?)\n(?=\$ |\Z)", re.DOTALL | re.MULTILINE
)
FIGURE_TEXT = re.compile(r"(<text>(?:<tspan[^>]*>)?)([^<]+)")
# Two words in a row are text to translate. A single word is the name of a stage or a program.
PROSE = re.compile(r"\b[a-z]{2,} [a-z]{2,}\b")
# Lines that are not a continuation of a paragraph, and lines that cannot be continued.
FIRST = re.compile(r"\s*(?:$|[|#>]|<!--|```|~~~|(?:[-*+]|1[.)])\s)")
LAST = re.compile(r"\s*(?:$|[|#]|<!--)|.*(?:  |\\|-->)$")
NUMBERED = re.compile(r"(\s*)\d+[.)]\s")


@dataclass(frozen=True)
class Stale:
    """A paragraph whose translation is missing, out of date or malformed."""

    path: Path  # path of the English handout
    line: int
    text: str
    why: str  # for example "not translated" or "its English has changed"

    def __str__(self) -> str:
        first = " ".join(self.text.split())
        cut = first if len(first) <= 70 else f"{first[:69]}…"
        return f"{paths.shown(self.path)}:{self.line}: {self.why}: {cut}"


def languages() -> list[str]:
    """Return the languages of the handouts besides English."""
    return sorted(path.parent.name for path in HANDOUTS.glob(f"*/{WORDS}"))


def known(language: str) -> None:
    """Raise LabError if the handouts are not available in this language."""
    if language not in languages():
        raise LabError(
            f"there is no language {language}",
            f"choose one of {', '.join(languages()) or 'none'}",
        )


def masters() -> list[Path]:
    """Return the English pages that are translated: the handouts, and the README for students."""
    handouts = [path for path in sorted(HANDOUTS.glob("*.md")) if path.name not in NOT_TRANSLATED]
    others = [HANDOUTS / "figures/README.md", HANDOUTS.parent / "README.md"]
    return [*handouts, *(path for path in others if path.is_file())]


def _name(master: Path) -> str:
    """Return a unique name for a page. A README gets the name of its folder."""
    if master.parent == HANDOUTS:
        return master.stem
    return "repository" if master.parent == HANDOUTS.parent else master.parent.name


def english(master: Path) -> str:
    """Return the English text to translate. For the kit's README, it is the students' version."""
    text = master.read_text(encoding="utf-8")
    return without_marked(text, master.name) if master.parent == HANDOUTS.parent else text


def _po(language: str, master: Path) -> Path:
    return HANDOUTS / language / f"{_name(master)}.po"


def joined(markdown: str) -> str:
    """Return a text with each paragraph and each list item on one line."""
    lines: list[str] = []
    fenced = commented = continues = False
    numbered = None  # the indentation of the numbered list that the last line is part of
    for line in markdown.splitlines():
        fence = not commented and bool(FENCE.match(line))
        number = NUMBERED.match(line)
        # As in CommonMark, only the number 1 can begin a list within a paragraph.
        first = FIRST.match(line) or (number and number[1] == numbered)
        if continues and not first:
            lines[-1] += f" {line.lstrip()}"
        else:
            lines.append(line)
            if number:
                numbered = number[1]
            elif line.strip() and numbered is not None and not line.startswith(f"{numbered} "):
                numbered = None
        fenced ^= fence
        if not fenced:
            commented = line.rfind("<!--") > line.rfind("-->") or (commented and "-->" not in line)
        continues = not (fenced or fence or commented or LAST.match(line))
    return "\n".join(lines) + ("\n" if markdown.endswith("\n") else "")


@contextmanager
def _po4a(language: str, option: str, merging: str = "--quiet") -> Iterator[Path]:
    """Run po4a on copies with joined paragraphs. Yield a folder with NAME.po and out/NAME.

    po4a takes seconds, so its files for the same input are taken from the cache.
    merging: options for msgmerge, which updates the copies.
    """
    program = shutil.which("po4a")
    if not program:
        raise LabError("po4a not found", "run scripts/setup.sh translations")
    with tempfile.TemporaryDirectory(prefix=f"{paths.KIT}-") as temporary:
        folder = Path(temporary)
        lines = [
            f"[po4a_langs] {language}",
            f"[po4a_paths] {folder}/$master.pot $lang:{folder}/$master.po",
        ]
        (folder / "in").mkdir()
        for master in masters():
            po, name = _po(language, master), _name(master)
            (folder / "in" / name).write_text(joined(english(master)), encoding="utf-8")
            if po.is_file():
                entries = polib.pofile(str(po))
                for entry in entries:
                    entry.msgid = joined(entry.msgid)
                entries.save(str(folder / f"{name}.po"))
            # -k 0: keep paragraphs in English that are not translated yet.
            how = '"-o markdown -o neverwrap -k 0"'
            lines.append(f"[type: text] in/{name} {language}:{folder}/out/{name} opt:{how}")
        call = [program, option, "--quiet", "--msgmerge-opt", merging, "-M", "UTF-8"]
        made_of = [line.replace(temporary, "") for line in lines], _contents(folder)
        key = object_store.key(call, Path(program).stat().st_mtime_ns, *made_of)
        stored = object_store.fetch(key)
        (folder / "out").mkdir()
        for name, content in stored.items():
            (folder / name).write_bytes(content)
        if not stored:
            (folder / "po4a.cfg").write_text("\n".join(lines) + "\n")
            completed = subprocess.run(
                [*call, str(folder / "po4a.cfg")], cwd=folder, capture_output=True, text=True
            )
            if completed.returncode:
                said = (completed.stderr.strip() or f"status {completed.returncode}").splitlines()
                raise LabError(f"po4a: {said[-1]}", "correct the .po file")
            object_store.keep(key, {**_contents(folder, "*.po"), **_contents(folder, "out/*")})
        yield folder


def _contents(folder: Path, pattern: str = "**/*") -> dict[str, bytes]:
    """Return the contents of the files in a folder, by their names below it."""
    found = (path for path in sorted(folder.glob(pattern)) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


# Options for msgmerge: do not search for the old text of a new paragraph. This search takes
# seconds, because code is not translated, so all code is new.
EXACT = "--quiet --no-fuzzy-matching"


def _translated(entry: polib.POEntry) -> bool:
    """Return whether an entry is text, which belongs in a .po file, and not code."""
    return not entry.comment.startswith("type: Fenced code") and not MARKS.fullmatch(entry.msgid)


def _entries(po: Path) -> list[polib.POEntry]:
    found = polib.pofile(str(po), wrapwidth=100)
    return [entry for entry in found if not entry.obsolete and _translated(entry)]


def update(language: str) -> None:
    """Update the .po files from the current handouts; mark changed paragraphs as fuzzy.

    Remove po4a's flag no-wrap, which no program here reads, so that fuzzy is the only flag.
    """
    with _po4a(language, "--no-translations") as folder:
        for master in masters():
            new = polib.POFile(wrapwidth=100)
            new.metadata = {**HEADER, "Language": language.replace("-", "_")}
            for entry in _entries(folder / f"{_name(master)}.po"):
                entry.occurrences = []
                entry.flags = [flag for flag in entry.flags if flag == "fuzzy"]
                new.append(entry)
            _po(language, master).parent.mkdir(exist_ok=True)
            new.save(str(_po(language, master)))
    _task_entries(language).save(str(HANDOUTS / language / texts.CATALOGUE))


def _task_strings() -> dict[str, Path]:
    """Return the texts of tasks and the comments of programs, each with its file, in order."""
    found: dict[str, Path] = {}
    for path, text in texts.strings():
        found.setdefault(text, path)
    programs = {HANDOUTS / name: "" for name in PROGRAMS}
    programs = {path: path.read_text(encoding="utf-8") for path in programs if path.is_file()}
    for master in masters():
        blocks = BLOCK.finditer(english(master))
        programs[master] = "".join(block[4] for block in blocks if block[3] == "c")
    for path, code in programs.items():
        for mark in COMMENT.finditer(code):
            found.setdefault(_uncommented(mark[1]), path)
    return {text: path for text, path in found.items() if text and "SPDX" not in text}


def _uncommented(text: str) -> str:
    """Return the text of a C comment."""
    return re.sub(r"^ \*[ ]?", "", text, flags=re.MULTILINE).strip()


def _commented(text: str) -> str:
    """Return the C comment of a text."""
    if "\n" not in text:
        return f"/* {text} */"
    lines = (f" *{line}" if line[:1] in ("", "\t") else f" * {line}" for line in text.splitlines())
    return "\n".join(("/*", *lines, " */"))


def _task_entries(language: str, merging: str = "--quiet") -> polib.POFile:
    """Return the catalogue of tasks, merged with the current English texts by msgmerge."""
    new = polib.POFile(wrapwidth=100)
    new.metadata = {**HEADER, "Language": language.replace("-", "_")}
    for text, path in _task_strings().items():
        new.append(
            polib.POEntry(
                msgid=text,
                comment=OF_PROGRAM if path.suffix in (".c", ".md") else path.parent.name,
            )
        )
    old = HANDOUTS / language / texts.CATALOGUE
    if not old.is_file():
        return new
    with tempfile.TemporaryDirectory(prefix=f"{paths.KIT}-") as folder:
        template, merged = Path(folder) / "tasks.pot", Path(folder) / texts.CATALOGUE
        new.save(str(template))
        call = [
            "msgmerge",
            *merging.split(),
            "--no-wrap",
            "-o",
            str(merged),
            str(old),
            str(template),
        ]
        completed = subprocess.run(call, capture_output=True, text=True)
        if completed.returncode:
            output = (completed.stderr.strip() or f"status {completed.returncode}").splitlines()[0]
            raise LabError(f"msgmerge: {output}", "correct the .po file")
        found = {entry.msgid: entry for entry in polib.pofile(str(merged)) if not entry.obsolete}
    for i, entry in enumerate(new):
        new[i] = found[entry.msgid]
    return new


def _paragraphs(
    language: str, fault: Callable[[polib.POEntry], str], merging: str = "--quiet"
) -> list[Stale]:
    """Return the paragraphs for which fault, given a current .po entry, returns a reason."""
    found = []
    with _po4a(language, "--no-translations", merging) as folder:
        for master in masters():
            for entry in _entries(folder / f"{_name(master)}.po"):
                if why := fault(entry):
                    found.append(Stale(master, _line(master, entry.msgid), entry.msgid, why))
    files = _task_strings()
    for entry in _task_entries(language, merging):
        if why := fault(entry):
            path = files[entry.msgid]
            found.append(Stale(path, _line(path, entry.msgid), entry.msgid, why))
    return found


def malformed(language: str) -> list[Stale]:
    """Return the paragraphs whose translation would be displayed wrongly."""
    return _paragraphs(language, _malformed, EXACT)


def stale(language: str) -> list[Stale]:
    """Return the paragraphs, and the words in pictures, that have no current translation."""
    found = _paragraphs(language, _behind, EXACT)
    if found:
        found = _paragraphs(language, _behind)  # with the old text of each paragraph
    return found + stale_words(language)


def stale_words(language: str) -> list[Stale]:
    """Return the words in pictures and figures that have no current translation."""
    found = []
    known = _words(language)
    for words in _drawn_words():
        if words not in known:
            found.append(Stale(HANDOUTS / language / WORDS, 1, words, "words in a picture"))
    known = _words(language, "figures")
    drawn = {path: path.read_text(encoding="utf-8") for path in _figures()}
    for path, picture in drawn.items():
        left = [x for _, x in FIGURE_TEXT.findall(_in_figure(picture, known)) if PROSE.search(x)]
        found += [Stale(path, 1, words, "words in a figure") for words in left]
    written = [x for picture in drawn.values() for _, x in FIGURE_TEXT.findall(picture)]
    for words in known:
        if drawn and not any(words in x for x in written):
            found.append(Stale(HANDOUTS / language / WORDS, 1, words, "in no figure"))
    return found


def _line(master: Path, paragraph: str) -> int:
    """Return the line number at which a text begins in a file that may have other line breaks.

    Search only for the first words, because the rest of a task's text may differ from the file.
    """
    text = master.read_text(encoding="utf-8")
    for words in (paragraph.split(), paragraph.split()[:5]):
        if found := re.search(r"\s+".join(map(re.escape, words)), text):
            return text.count("\n", 0, found.start()) + 1
    return 1


def _behind(entry: polib.POEntry) -> str:
    if entry.fuzzy:
        return "its English has changed"
    return "" if entry.msgstr else "not translated"


def _malformed(entry: polib.POEntry) -> str:
    if _behind(entry):
        return ""
    if entry.comment == OF_PROGRAM:  # keep line numbers, which tools print
        same = entry.msgid.count("\n") == entry.msgstr.count("\n")
        return "" if same else "the number of lines differs"
    if entry.msgid.endswith("\n") != entry.msgstr.endswith("\n"):
        return "the ends of the lines differ"
    return "a line ends between two characters" if BROKEN.search(entry.msgstr) else ""


def _words(language: str, table: str = "words") -> dict[str, str]:
    words: dict[str, str] = toml.read(HANDOUTS / language / WORDS)[table]
    return words


def _figures() -> list[Path]:
    """Return the measured figures."""
    return sorted((HANDOUTS / "figures").glob("*.svg"))


def _in_figure(picture: str, known: dict[str, str]) -> str:
    """Return a gnuplot figure with its words translated."""
    phrases = sorted(known, key=len, reverse=True)

    def text(mark: re.Match[str]) -> str:
        words = mark[2]
        for phrase in phrases:
            words = words.replace(phrase, known[phrase])
        return mark[1] + re.sub(f"(?<={WIDE}) (?={WIDE})", "", words)

    return FIGURE_TEXT.sub(text, picture)


def _draw(*arguments: str, table: dict[str, str] | None = None) -> str:
    completed = subprocess.run(
        [sys.executable, "-m", "handouts.pictures", *arguments],
        cwd=HANDOUTS.parent,
        input=json.dumps(table or {}),
        capture_output=True,
        text=True,
    )
    if completed.returncode:
        raise LabError(
            f"the pictures cannot be drawn: {completed.stderr.strip().splitlines()[-1]}",
            "correct handouts/pictures",
        )
    return completed.stdout


def _drawn_words() -> list[str]:
    words: list[str] = json.loads(_draw("--words"))
    return words


def translated(master: Path) -> Path:
    """Return the path of a translated page in the folder that make() writes."""
    if master.parent == HANDOUTS.parent:
        return Path("repository/README.md")
    return master.relative_to(HANDOUTS)


def _in_comments(source: str, known: texts.Texts) -> str:
    """Return a program with its comments in another language."""

    def comment(mark: re.Match[str]) -> str:
        english_text = _uncommented(mark[1])
        other = known(english_text)
        return mark[0] if other == english_text else _commented(other)

    return COMMENT.sub(comment, source)


def in_blocks(page: str, known: texts.Texts) -> str:
    """Return a page with the comments of its C code, and its hints, in another language."""

    def hint(shown: re.Match[str]) -> str:
        line = texts.HINT_AFTER_FAILURE if shown[3] else texts.HINT
        words = known(" ".join(shown[4].split()))
        whole = known(line).format(number=shown[1], count=shown[2], hint=words)
        return "\n".join([*wrapping.wrapped(whole, texts.WIDTH, break_long_words=False), ""])

    def block(found: re.Match[str]) -> str:
        if found[3] == "c":
            return found[1] + _in_comments(found[4], known)
        return found[1] + SHOWN_HINT.sub(hint, found[4])

    return BLOCK.sub(block, page)


def make(language: str, folder: Path) -> None:
    """Write the translated handouts and pictures into a folder laid out like handouts/."""
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    known = texts.read(HANDOUTS / language / texts.CATALOGUE)
    with _po4a(language, "--no-update") as made:
        for master in masters():
            target = folder / translated(master)
            target.parent.mkdir(exist_ok=True)
            page = (made / "out" / _name(master)).read_text(encoding="utf-8")
            target.write_text(in_blocks(page, known), encoding="utf-8")
    for name in PROGRAMS:
        source = (HANDOUTS / name).read_text(encoding="utf-8")
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(_in_comments(source, known), encoding="utf-8")
    _draw("--translated", str(folder / "pictures"), table=_words(language))
    for path in _figures():
        (folder / "figures").mkdir(exist_ok=True)
        picture = _in_figure(path.read_text(encoding="utf-8"), _words(language, "figures"))
        (folder / "figures" / path.name).write_text(picture, encoding="utf-8")


def main(words: list[str]) -> int:
    """Run scripts/translate.sh with its arguments. Return its exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/translate.sh",
        description="Translate the handouts; handouts/LANGUAGE/README.md explains the steps.",
        epilog="Exit status: 0 done, 1 something is not translated, 2 not done, and why.",
    )
    parser.add_argument("verb", choices=("update", "check", "make"))
    parser.add_argument("folder", nargs="?", type=Path, help="for make: the folder to write to")
    parser.add_argument("--lang", default="zh-TW", metavar="LANGUAGE")
    options = parser.parse_args(words)
    if (options.verb == "make") != (options.folder is not None):
        parser.error("make needs a folder, update and check take none; change the arguments")
    known(options.lang)
    if options.verb == "make":
        make(options.lang, options.folder)
        return 0
    if options.verb == "update":
        update(options.lang)
    found, wrong = stale(options.lang), malformed(options.lang)
    for one in (*wrong, *found):
        print(one)
    print(f"{options.lang}: {len(found) or 'nothing'} to translate")
    return 1 if found or wrong else 0


if __name__ == "__main__":
    sys.exit(command.end("translate", lambda: main(sys.argv[1:]), "existing files are unchanged"))
