# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that the translated handouts agree with the English ones and are complete."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import polib
import pytest

from grader.base import paths
from grader.course import commands, records, skeleton, translation
from grader.course.export import command as export
from grader.course.export import leaks
from grader.course.texts import CHOICE
from grader.exercise.files import exercises, stages
from grader.tools import release_check
from tests.site_pages import (
    DOCUMENTS,
    dead_links,
    make_site,
    page_name,
    questions,
    read_pages,
    shown_answers,
    site_of_the_kit,
)

LANGUAGES = translation.languages()
MASTERS = [paths.shown(path) for path in translation.masters()]
# A translation must keep the number of these elements. The number of bold phrases may differ.
KEPT = ("Code", "Math", "Link", "Image", "Header", "CodeBlock", "Table")
# These documents are not pages of the site.
NO_PAGES = (translation.HANDOUTS / "answers.md", paths.ROOT / "README.md")
CHINESE = re.compile("[\u4e00-\u9fff]")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
FENCE = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)

pytestmark = [
    pytest.mark.once(all_files=True),
    pytest.mark.skipif(
        shutil.which("po4a") is None, reason="there is no po4a: scripts/setup.sh translations"
    ),
]


@pytest.fixture(scope="module")
def kit_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_of_the_kit(tmp_path_factory)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a folder with the translated handouts for each language."""
    found = {}
    for language in LANGUAGES:
        found[language] = tmp_path_factory.mktemp(language)
        translation.make(language, found[language])
    return found


def test_there_is_chinese() -> None:
    assert "zh-TW" in LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_stale_paragraph_is_listed_and_is_no_failure(language: str) -> None:
    """A stale paragraph causes a warning, but only make release-check fails because of it."""
    for one in translation.stale(language):
        warnings.warn(f"{language}: {one}", stacklevel=1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_translation_is_malformed(language: str) -> None:
    assert [str(one) for one in translation.malformed(language)] == []


@pytest.mark.parametrize("name", MASTERS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_sessions_and_code_are_the_same(made: dict[str, Path], language: str, name: str) -> None:
    """A translation keeps sessions, code, and the comments that control how sessions are run.

    Only the comments of code, and the hints, are translated.
    """
    texts = _english_and_translated(made[language], name)
    english, other = ([_without_prose(m[0]) for m in FENCE.finditer(text)] for text in texts)
    assert other == english
    marks = [
        [mark for mark in COMMENT.findall(text) if not mark.startswith("<!-- exported:")]
        for text in texts
    ]
    assert marks[1] == marks[0]


@pytest.mark.parametrize("name", MASTERS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_lost_on_the_way(made: dict[str, Path], language: str, name: str) -> None:
    """A translation contains the same code, links, pictures, formulas, headings and tables."""
    english, other = map(_parts, _english_and_translated(made[language], name))
    for kind in KEPT:
        assert other[kind] == english[kind], kind
    assert [text for text in other["Str"] if "**" in text or "](" in text] == []
    # A translation that omits paragraphs is too short.
    assert other["length"].total() > 0.2 * english["length"].total()


def _without_prose(block: str) -> str:
    """Return a block of code or of a session without comments and without the output of hint."""
    block = re.sub(r"/\*.*?\*/", "/**/", block, flags=re.DOTALL)
    return re.sub(r"(?<= hint\n)(task \d.*?\n)[^$`]*", r"\1", block)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_shown_hint_is_what_hint_prints(
    made: dict[str, Path], language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    page = (made[language] / "README.md").read_text()
    (shown,) = re.findall(r"^\$ make stage=1 hint\n(.*?)^```$", page, re.M | re.S)
    monkeypatch.setattr(skeleton, "WORK", tmp_path)
    monkeypatch.setattr(records, "_folder", lambda: tmp_path)
    (tmp_path / CHOICE).write_text(language)
    exercise = exercises.find(1)
    remark = shown.partition("compute: ")[2].partition("\n")[0]
    commands._next_hint(exercise, exercise.course.tasks[0], remark)
    assert capsys.readouterr().out == shown
    assert CHINESE.search(shown)


@pytest.mark.parametrize("language", LANGUAGES)
def test_comments_of_code_are_translated(made: dict[str, Path], language: str) -> None:
    """No comment of C code in a handout is left in English."""
    pages = [path for path in made[language].glob("*.md")]
    blocks = [m[4] for p in pages for m in translation.BLOCK.finditer(p.read_text()) if m[3] == "c"]
    comments = [x for block in blocks for x in re.findall(r"/\*.*?\*/", block, re.DOTALL)]
    assert len(comments) > 4
    assert [x for x in comments if not CHINESE.search(x) and " " in x[3:-3]] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_of_figures_are_translated(
    made: dict[str, Path], language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures keep all but their words; words without a translation are listed."""
    for path in sorted((translation.HANDOUTS / "figures").glob("*.svg")):
        english, other = path.read_text(), (made[language] / "figures" / path.name).read_text()
        assert CHINESE.search(other), path.name
        plain = [re.sub(r"(?<=>)[^<>\n]+(?=</t)", "", text) for text in (english, other)]
        assert plain[0] == plain[1]
    known = translation._words

    def without(wanted: str, table: str = "words") -> dict[str, str]:
        found = dict(known(wanted, table))
        if table == "figures":
            found.pop("read: how many times as fast as the stage before")
            found["words of no figure"] = "x"
        return found

    before = translation.stale_words(language)
    monkeypatch.setattr(translation, "_words", without)
    why = Counter(one.why for one in translation.stale_words(language) if one not in before)
    assert why == {"words in a figure": 2, "in no figure": 1}


def _english_and_translated(made: Path, name: str) -> tuple[str, str]:
    """Return both texts of a page of the kit."""
    master = paths.ROOT / name
    return translation.english(master), (made / translation.translated(master)).read_text()


def _parts(text: str) -> dict[str, Counter[str]]:
    """Count the pieces of code, links, formulas and other elements of a text, by kind."""
    if not shutil.which("pandoc"):
        pytest.skip("pandoc not found; run scripts/setup.sh book")
    converted = subprocess.run(
        ["pandoc", "-f", "gfm+tex_math_dollars", "-t", "json"],
        input=text,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found: dict[str, Counter[str]] = {kind: Counter() for kind in (*KEPT, "Str", "length")}

    def machine_finding(node: Any) -> None:
        if isinstance(node, dict):
            kind, what = node.get("t"), node.get("c")
            if kind in ("Link", "Image"):
                found[kind][what[2][0]] += 1
            elif kind == "Math":
                found[kind][re.sub(r"\\text\{[^}]*\}", "", what[1])] += 1
            elif kind in ("Code", "CodeBlock"):
                found[kind][_without_prose(what[1])] += 1
            elif kind == "Header":
                found[kind][str(what[0])] += 1
            elif kind == "Table":
                found[kind][f"{len(what[2])} columns"] += 1
            elif kind == "Str":
                found["Str"][what] += 1
                found["length"][what] += len(what)
            machine_finding(list(node.values()))
        elif isinstance(node, list):
            for one in node:
                machine_finding(one)

    machine_finding(json.loads(converted)["blocks"])
    return found


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two handouts and all pictures, which a test may change."""
    handouts = tmp_path / "handouts"
    (handouts / "zh-TW").mkdir(parents=True)
    for name in ("7-preallocation.md", "9-lucas-pairs.md"):
        shutil.copy(translation.HANDOUTS / name, handouts)
        shutil.copy(translation._po("zh-TW", translation.HANDOUTS / name), handouts / "zh-TW")
    shutil.copy(translation.HANDOUTS / "zh-TW/pictures.toml", handouts / "zh-TW")
    shutil.copy(translation.HANDOUTS / "zh-TW/tasks.po", handouts / "zh-TW")
    shutil.copytree(translation.HANDOUTS / "pictures", handouts / "pictures")
    shutil.copytree(translation.HANDOUTS / "warm-up", handouts / "warm-up")
    monkeypatch.setattr(translation, "HANDOUTS", handouts)
    return handouts


def new(known: list[translation.Stale]) -> list[translation.Stale]:
    """Return the paragraphs that are stale now and are not in `known`."""
    return [one for one in translation.stale("zh-TW") if one not in known]


def test_a_paragraph_that_has_changed_is_named(copy: Path, tmp_path: Path) -> None:
    """A changed paragraph is listed by line, and is in English until it is translated again."""
    handout = copy / "7-preallocation.md"
    known = translation.stale("zh-TW")
    text = handout.read_text()
    before, after = text.split("\n## The idea\n", 1)
    first = after.strip().split("\n\n")[0]
    handout.write_text(text.replace(first, f"{first} And one sentence more."))
    line = before.count("\n") + 4
    (one,) = new(known)
    assert str(one).startswith(f"{paths.shown(handout)}:{line}: its English has changed: ")
    for folder in ("before", "after"):
        translation.make("zh-TW", tmp_path / folder)
        made = (tmp_path / folder / handout.name).read_text()
        assert "And one sentence more." in made and CHINESE.search(made)
        translation.update("zh-TW")
        assert len(new(known)) == 1
    assert translation.malformed("zh-TW") == []


def test_a_release_waits_for_translations_and_commits(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make release-check` fails because of a stale paragraph or of an uncommitted file."""
    top = copy.parent
    (top / ".gitignore").write_text("*\n")
    subprocess.run(["git", "init", "--quiet", top], check=True)
    monkeypatch.setattr(release_check.paths, "ROOT", top)
    for file in (copy / "zh-TW").glob("*.po"):  # make all translations current
        texts = polib.pofile(str(file))
        for entry in texts:
            entry.flags, entry.msgstr = [], entry.msgstr or entry.msgid
        texts.save()
    monkeypatch.setattr(translation, "_drawn_words", list)
    assert release_check.main() == 0
    assert capsys.readouterr().out == "release-check: nothing is missing\n"
    (top / ".gitignore").write_text("handouts\n")
    with (copy / "9-lucas-pairs.md").open("a") as handout:
        handout.write("\nThe end.\n")
    assert release_check.main() == 1
    first, second, last = capsys.readouterr().out.splitlines()
    assert first == ".gitignore: not committed"
    assert re.fullmatch(r".*/9-lucas-pairs\.md:\d+: not translated: The end\. \(zh-TW\)", second)
    assert last == "release-check: 2 to do"


def test_a_new_paragraph_is_named_and_a_changed_session_is_not(copy: Path) -> None:
    handout = copy / "9-lucas-pairs.md"
    known = translation.stale("zh-TW")
    text = handout.read_text()
    handout.write_text(
        text.replace("```console\n$ make", "```console\n$ make -s", 1) + "\nThe end.\n"
    )
    assert [(one.path, one.why, one.text) for one in new(known)] == [
        (handout, "not translated", "The end.\n")
    ]


def wrapped(text: str) -> str:
    """Break most lines of paragraphs and list items at one more place; keep sessions and tables."""
    lines, fenced = [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        item = re.match(r" *(?:- (?:\[ \] )?|\d+\. )?", line)
        if item and not (fence or fenced or line.lstrip().startswith(("|", "#", "<!--"))):
            broken = f"\n{' ' * item.end()}"
            body = re.sub(r"^(.{20,50}\S) (?=[a-z])", rf"\1{broken}", line[item.end() :])
            lines.append(item[0] + body)
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", MASTERS)
def test_joined_lines_are_those_of_the_paragraph(name: str) -> None:
    text = translation.english(paths.ROOT / name)
    again = wrapped(text)
    assert again.count("\n") > text.count("\n") + 5
    assert translation.joined(again) == translation.joined(text)
    assert translation.joined(text).split() == text.split()


def test_lines_that_do_not_belong_together_stay_apart() -> None:
    apart = (
        "# a\nb\n\n- c\n- d\n1. e\n2. f\n\n| g |\n| h |\n\n```\ni\nj\n```\n<!-- k\nl -->\nm  \nn\n"
    )
    assert translation.joined(apart) == apart
    assert translation.joined("a\n2. b\n") == "a 2. b\n"  # as in CommonMark
    assert translation.joined("1. a\n   b\n2. c\n") == "1. a b\n2. c\n"


def test_breaking_lines_elsewhere_makes_nothing_stale(copy: Path, tmp_path: Path) -> None:
    known = translation.stale("zh-TW")
    translation.make("zh-TW", tmp_path / "before")
    for handout in copy.glob("*.md"):
        handout.write_text(wrapped(handout.read_text()))
    assert new(known) == []
    translation.make("zh-TW", tmp_path / "after")
    for handout in copy.glob("*.md"):
        before, after = (tmp_path / folder / handout.name for folder in ("before", "after"))
        assert after.read_text() == before.read_text()


def test_the_mark_of_a_stale_paragraph_is_a_line_of_its_own(copy: Path) -> None:
    """`fuzzy` is the only flag of a stale entry, so translators can delete the line of flags."""
    handout = copy / "7-preallocation.md"
    handout.write_text(handout.read_text().replace("the", "this", 1))
    translation.update("zh-TW")
    text = (copy / "zh-TW/7-preallocation.po").read_text()
    assert set(re.findall("^#,.*", text, re.MULTILINE)) == {"#, fuzzy"}


def test_a_word_in_a_picture_is_named(copy: Path) -> None:
    source = copy / "pictures/numbers.py"
    known = translation.stale("zh-TW")
    source.write_text(source.read_text().replace('"carry in"', '"carried in"'))
    assert [one.text for one in new(known)] == ["carried in"]


def test_what_is_translated_stays_when_nothing_has_changed(copy: Path) -> None:
    """`update` does not change a translation that is up to date."""
    files = sorted((copy / "zh-TW").glob("*.po"))
    translation.update("zh-TW")  # The first update may move shared entries.
    before = [file.read_text() for file in files]
    translation.update("zh-TW")
    assert [file.read_text() for file in files] == before


def test_two_lines_of_chinese_are_one(copy: Path) -> None:
    """`malformed` reports line breaks between Chinese characters: browsers show them as spaces."""
    file = copy / "zh-TW/9-lucas-pairs.po"
    texts = polib.pofile(str(file))
    entry = max(texts.translated_entries(), key=lambda one: len(one.msgstr))
    entry.msgstr = re.sub("([\u4e00-\u9fff])(?=[\u4e00-\u9fff])", r"\1\n", entry.msgstr, count=1)
    texts.save()
    assert "a line ends between two characters" in {
        one.why for one in translation.malformed("zh-TW")
    }


def test_the_pages_have_their_titles_and_say_their_language(
    kit_site: Path, made: dict[str, Path]
) -> None:
    for language, folder in made.items():
        pages = read_pages(kit_site / language)
        assert all(f'<html lang="{language}">' in page.text for page in pages.values())
        titles = {page.title for page in pages.values()}
        masters = [path for path in translation.masters() if path not in NO_PAGES]
        wanted = [folder / translation.translated(path) for path in masters]
        lines = [path.read_text().splitlines()[0].removeprefix("# ") for path in wanted]
        assert [line for line in lines if line not in titles] == []
        english = {name for name, page in pages.items() if '<main id="text" lang="en' in page.text}
        assert {page_name(path) for path in masters}.isdisjoint(english)
        assert pages["kbench.html"].title.endswith("（英文）") == (language == "zh-TW")
        assert "kbench.html" in english


@pytest.mark.skipif(not (paths.ROOT / ".git").exists(), reason="the kit is no git checkout")
def test_a_course_in_chinese(tmp_path: Path) -> None:
    """A course exported in Chinese has handouts, pictures and a site in Chinese only."""
    export._copy_kit(tmp_path, answers=False)
    export._translate(tmp_path, "zh-TW")
    handouts = tmp_path / "handouts"
    assert not (handouts / "zh-TW").exists() and not (handouts / "answers.md").exists()
    for name in MASTERS:
        if name != "handouts/answers.md":
            text = (tmp_path / name).read_text()
            assert CHINESE.search(text), name
            assert "not exported" not in text and "<!-- exported" not in text
    assert CHINESE.search((handouts / "pictures/limbs.svg").read_text())
    assert "language: zh-TW" in (handouts / "book/book.yaml").read_text()
    assert "Noto Serif CJK" in (handouts / "book/fonts.tex").read_text()


def test_the_site_of_the_kit_has_no_answers(kit_site: Path) -> None:
    assert [shown_answers(kit_site, folder) for folder in ("", *LANGUAGES)] == [0] * 2


def test_the_site_for_teachers_has_all_answers(tmp_path: Path) -> None:
    completed = make_site(tmp_path, "--site", "--pages", "--instructor")
    assert completed.returncode == 0, completed.stderr
    (site,) = tmp_path.glob("site*")
    assert site.name == "site-instructor"
    wanted = sum(map(questions, DOCUMENTS))
    assert wanted > 70
    assert [shown_answers(site, folder) for folder in ("", *LANGUAGES)] == [wanted] * 2


@pytest.mark.skipif(not (paths.ROOT / ".git").exists(), reason="the kit is no git checkout")
@pytest.mark.parametrize("answers", [False, True], ids=["", "answers"])
@pytest.mark.parametrize("language", [None, *LANGUAGES])
def test_the_site_of_a_course_has_all_answers_or_none(
    tmp_path: Path, language: str | None, answers: bool
) -> None:
    """The site of a course has one language and no page for teachers."""
    export._copy_kit(tmp_path / "course", answers)
    if language:
        export._translate(tmp_path / "course", language)
    completed = make_site(tmp_path, "--site", "--pages", kit=tmp_path / "course")
    assert completed.returncode == 0, completed.stderr
    assert dead_links(tmp_path / "site") == []
    assert shown_answers(tmp_path / "site") == (sum(map(questions, DOCUMENTS)) if answers else 0)
    pages = read_pages(tmp_path / "site")
    assert {"course.html", "7-preallocation.html", "kbench.html"} <= set(pages)
    assert {"instructor.html", "first-hour.html", "experiments.html"}.isdisjoint(pages)
    assert all(f'<html lang="{language or "en-GB"}">' in page.text for page in pages.values())
    text = "".join(page.text for page in pages.values())
    assert "hreflang" not in text and "first-hour" not in text


def test_a_heading_that_is_not_translated_keeps_its_answers(copy: Path, tmp_path: Path) -> None:
    """A page whose heading is still in English shows the answers below this heading."""
    for file in (copy / "zh-TW").glob("[0-9]*.po"):  # po4a takes translations from all .po files
        texts = polib.pofile(str(file))
        (entry,) = (one for one in texts if one.msgid == "Questions")
        entry.flags.append("fuzzy")
        texts.save()
    kit = tmp_path / "kit"
    shutil.copytree(paths.ROOT / "handouts", kit / "handouts")
    shutil.copytree(paths.SCRIPTS, kit / "scripts")
    translation.make("zh-TW", made := tmp_path / "made")
    text = (made / "7-preallocation.md").read_text()
    assert "## Questions" in text and CHINESE.search(text)
    (kit / "handouts/7-preallocation.md").write_text(text)
    shutil.copy(kit / "handouts/zh-TW/book.yaml", kit / "handouts/book/book.yaml")
    shutil.rmtree(kit / "handouts/zh-TW")
    completed = make_site(tmp_path / "build", "--site", "--pages", "--instructor", kit=kit)
    assert completed.returncode == 0, completed.stderr


@pytest.mark.skipif(stages.exported(), reason="the solutions are not here")
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_translation_of_a_task_shows_a_line_of_its_solution(
    language: str, tmp_path: Path
) -> None:
    shutil.copy(translation.HANDOUTS / language / "tasks.po", tmp_path)
    assert list(leaks.leaks(tmp_path)) == []


@pytest.mark.machine
@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.skipif(not (paths.ROOT / ".git").exists(), reason="the kit is no git checkout")
def test_the_sessions_of_a_course_in_chinese(tmp_path: Path) -> None:
    """In a course in Chinese, the console sessions run and the site can be built."""
    course = tmp_path / "course"
    keep = {k: v for k, v in os.environ.items() if k not in ("LAB_REF", "LAB_MACHINE", "LAB_BUILD")}
    for folder, call in (
        (paths.ROOT, ["scripts/export-course", "--lang", "zh-TW", str(course)]),
        (course, ["make", "test", "args=tests/test_handouts.py tests/test_pictures.py"]),
        (course, ["scripts/book.sh", "--site", "--pages"]),
    ):
        completed = subprocess.run(call, cwd=folder, env=keep, capture_output=True, text=True)
        assert completed.returncode == 0, completed.stdout[-5000:] + completed.stderr[-2000:]
    assert '<html lang="zh-TW">' in (course / "build/site/course.html").read_text()


@pytest.mark.parametrize(
    "call", [["scripts/book.sh", "--lang"], ["scripts/translate.sh", "check", "--lang"]]
)
def test_a_language_that_there_is_not(call: list[str]) -> None:
    completed = subprocess.run([*call, "tlh"], cwd=paths.ROOT, capture_output=True, text=True)
    assert completed.returncode == 2
    assert "there is no language tlh; choose one of zh-TW" in completed.stderr
