# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""scripts/translate.sh: translate the handouts with po4a.

handouts/LANGUAGE/ has a .po file for each handout, the words in pictures, and the words that the
book adds. Code and console sessions are in no .po file, because po4a copies them unchanged: they
are the same in every language. A paragraph is stale when its English has changed; it appears in
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

from grader.base import command, paths, toml
from grader.base.errors import LabError

HANDOUTS = paths.ROOT / "handouts"
# This handout is for teachers, who read the kit's English text anyway.
NOT_TRANSLATED = ("instructor.md",)
WORDS = "pictures.toml"
# The header of a .po file. Without dates and line numbers, a file changes only if a text changes.
HEADER = {
    "Project-Id-Version": "fibdrv lab",
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=UTF-8",
    "Content-Transfer-Encoding": "8bit",
}
# Comments that only the kit reads. The text of an "exported" comment is a paragraph for students.
MARKS = re.compile(r"(?:<!--(?! exported:)(?:(?!-->).)*-->\s*)+", re.DOTALL)
# Chinese, Japanese and Korean have no spaces between words. A line break between two of their
# characters would be shown as a space.
WIDE = "[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]"
BROKEN = re.compile(f"{WIDE}\n{WIDE}")


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
        raise LabError(f"no language {language!r}: there are {', '.join(languages()) or 'none'}")


def masters() -> list[Path]:
    """Return the English handouts that are translated."""
    return [path for path in sorted(HANDOUTS.glob("*.md")) if path.name not in NOT_TRANSLATED]


def _po(language: str, master: Path) -> Path:
    return HANDOUTS / language / f"{master.stem}.po"


@contextmanager
def _po4a(language: str, *options: str) -> Iterator[Path]:
    """Run po4a on copies of the .po files. Yield a folder with NAME.md.po and out/NAME.md."""
    if not shutil.which("po4a"):
        raise LabError("po4a is not there: scripts/setup.sh translations")
    with tempfile.TemporaryDirectory(prefix=f"{paths.KIT}-") as name:
        folder = Path(name)
        lines = [
            f"[po4a_langs] {language}",
            f"[po4a_paths] {folder}/$master.pot $lang:{folder}/$master.po",
        ]
        for master in masters():
            po, out = _po(language, master), folder / "out" / master.name
            if po.is_file():
                shutil.copyfile(po, folder / f"{master.name}.po")
            # -k 0: keep paragraphs in English that are not translated yet.
            how = '"-o markdown -o neverwrap -k 0"'
            source = f"handouts/{master.name}"
            lines.append(f"[type: text] {source} {language}:{out} opt:{how}")
        (folder / "po4a.cfg").write_text("\n".join(lines) + "\n")
        call = ["po4a", *options, "--quiet", "--msgmerge-opt", "--quiet", "-M", "UTF-8"]
        completed = subprocess.run(
            [*call, str(folder / "po4a.cfg")], cwd=HANDOUTS.parent, capture_output=True, text=True
        )
        if completed.returncode:
            output = (completed.stderr.strip() or f"status {completed.returncode}").splitlines()[-1]
            raise LabError(f"po4a: {output}")
        yield folder


def _translated(entry: polib.POEntry) -> bool:
    """Return whether an entry is text, which belongs in a .po file, and not code."""
    return not entry.comment.startswith("type: Fenced code") and not MARKS.fullmatch(entry.msgid)


def _entries(po: Path) -> list[polib.POEntry]:
    found = polib.pofile(str(po), wrapwidth=100)
    return [entry for entry in found if not entry.obsolete and _translated(entry)]


def update(language: str) -> None:
    """Update the .po files from the current handouts; mark changed paragraphs as fuzzy."""
    with _po4a(language, "--no-translations") as folder:
        for master in masters():
            new = polib.POFile(wrapwidth=100)
            new.metadata = {**HEADER, "Language": language.replace("-", "_")}
            for entry in _entries(folder / f"{master.name}.po"):
                entry.occurrences = []
                new.append(entry)
            _po(language, master).parent.mkdir(exist_ok=True)
            new.save(str(_po(language, master)))


def _paragraphs(language: str, fault: Callable[[polib.POEntry], str]) -> list[Stale]:
    """Return the paragraphs for which fault, given a current .po entry, returns a reason."""
    found = []
    with _po4a(language, "--no-translations") as folder:
        for master in masters():
            for entry in _entries(folder / f"{master.name}.po"):
                if why := fault(entry):
                    found.append(Stale(master, _line(master, entry.msgid), entry.msgid, why))
    return found


def malformed(language: str) -> list[Stale]:
    """Return the paragraphs whose translation would be displayed wrongly."""
    return _paragraphs(language, _malformed)


def stale(language: str) -> list[Stale]:
    """Return the paragraphs and picture words that have no current translation."""
    found = _paragraphs(language, _behind)
    known = _words(language)
    for words in _drawn_words():
        if words not in known:
            found.append(Stale(HANDOUTS / language / WORDS, 1, words, "words in a picture"))
    return found


def _line(master: Path, paragraph: str) -> int:
    """Return the line on which a paragraph begins; po4a reports the line after it."""
    text = master.read_text(encoding="utf-8")
    return text.count("\n", 0, max(text.find(paragraph.split("\n", 1)[0]), 0)) + 1


def _behind(entry: polib.POEntry) -> str:
    if entry.fuzzy:
        return "its English has changed"
    return "" if entry.msgstr else "not translated"


def _malformed(entry: polib.POEntry) -> str:
    if _behind(entry):
        return ""
    if entry.msgid.endswith("\n") != entry.msgstr.endswith("\n"):
        return "the ends of the lines differ"
    return "a line ends between two characters" if BROKEN.search(entry.msgstr) else ""


def _words(language: str) -> dict[str, str]:
    words: dict[str, str] = toml.read(HANDOUTS / language / WORDS)["words"]
    return words


def _draw(*arguments: str, table: dict[str, str] | None = None) -> str:
    completed = subprocess.run(
        [sys.executable, "-m", "handouts.pictures", *arguments],
        cwd=HANDOUTS.parent,
        input=json.dumps(table or {}),
        capture_output=True,
        text=True,
    )
    if completed.returncode:
        raise LabError(f"the pictures: {completed.stderr.strip().splitlines()[-1]}")
    return completed.stdout


def _drawn_words() -> list[str]:
    words: list[str] = json.loads(_draw("--words"))
    return words


def make(language: str, folder: Path) -> None:
    """Write the translated handouts and pictures into a folder laid out like handouts/."""
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    with _po4a(language, "--no-update") as made:
        for master in masters():
            shutil.copyfile(made / "out" / master.name, folder / master.name)
    _draw("--translated", str(folder / "pictures"), table=_words(language))


def main(words: list[str]) -> int:
    """Run scripts/translate.sh with its arguments. Return its exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/translate.sh",
        description="The handouts in another language; handouts/LANGUAGE/README.md says how.",
        epilog="Exit status: 0 done, 1 something is not translated, 2 not done, and why.",
    )
    parser.add_argument("verb", choices=("update", "check", "make"))
    parser.add_argument("folder", nargs="?", type=Path, help="of make: where to")
    parser.add_argument("--lang", default="zh-TW", metavar="LANGUAGE")
    options = parser.parse_args(words)
    if (options.verb == "make") != (options.folder is not None):
        parser.error("make takes a folder, update and check take none")
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
    sys.exit(command.end("translate", lambda: main(sys.argv[1:]), "what was there is there"))
