# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The book of the handouts: complete, without a dead link, readable with no network."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from grader.base import paths

HANDOUTS = paths.ROOT / "handouts"
INSTRUCTOR = HANDOUTS / "instructor.md"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
VOID = {"meta", "img", "br", "hr", "input", "col", "link"}

pytestmark = pytest.mark.skipif(
    shutil.which("pandoc") is None, reason="there is no pandoc: scripts/setup.sh book"
)


def make_book(
    build: Path, *options: str, kit: Path = paths.ROOT, path: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(kit / "scripts/book.sh"), *options],
        capture_output=True,
        text=True,
        timeout=300,
        env={
            **os.environ,
            "LAB_BUILD": str(build),
            "PATH": path + os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
        },
    )


@dataclass
class Chapter:
    """A chapter of the book: its words (those of code apart), and what is clicked in it."""

    title: str = ""
    prose: str = ""
    code: str = ""
    formulas: int = 0


@dataclass
class Page(HTMLParser):
    """What is to be known of a page."""

    text: str
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    contents: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    chapters: dict[str, Chapter] = field(default_factory=dict)
    style: str = ""
    policy: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, str]] = []
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {k: v or "" for k, v in attrs}
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a":
            self.links.append(given["href"])
            if any(name == "contents" for _, name in self.open):
                self.contents.append(given["href"])
        else:
            names = ("src", "href", "srcset", "data", "poster", "action")
            self.fetched += [given[x] for x in names if x in given]
        self.style += given.get("style", "")
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if tag == "section" and "level1" in given.get("class", ""):
            self.chapters[given["id"]] = Chapter()
        if tag == "math" and self.chapters:
            self.last().formulas += 1
        if tag not in VOID:
            self.open.append((tag, given.get("id", "")))

    def handle_endtag(self, tag: str) -> None:
        while tag not in VOID and self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tags = {tag for tag, _ in self.open}
        if "style" in tags:
            self.style += data
        elif "main" in tags and self.chapters and "math" not in tags:
            if "h1" in tags:
                self.last().title += data
            if tags & {"pre", "code"}:
                self.last().code += data
            else:
                self.last().prose += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def last(self) -> Chapter:
        return list(self.chapters.values())[-1]


def source(document: Path) -> tuple[str, int]:
    """A handout without its code and comments, and how many formulas it has."""
    text = re.sub(r"^```math\n(.*?)^```", r"$$\1$$", document.read_text(), flags=re.M | re.S)
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`]*`|<!--.*?-->|!\[[^]]*\]|(?<=\])\([^)]*\)", "", text, flags=re.S)
    return re.subn(r"\$\$.*?\$\$|\$[^$\s][^$]*\$", "", text, flags=re.S)


def name(document: Path) -> str:
    inner = str(document.relative_to(HANDOUTS).with_suffix(""))
    return "course" if inner == "README" else inner.removesuffix("/README")


ANSWERS = HANDOUTS / "answers.md"
TRANSLATIONS = [x.with_name("README.md") for x in HANDOUTS.glob("*/pictures.toml")]
NOT_IN_THE_BOOK = (INSTRUCTOR, ANSWERS, *TRANSLATIONS)
DOCUMENTS = [x for x in sorted(HANDOUTS.rglob("*.md")) if x not in NOT_IN_THE_BOOK]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = tmp_path_factory.mktemp("book")
    done = make_book(build, "--html")
    assert done.returncode == 0, done.stderr
    return build / "book/index.html"


@pytest.fixture(scope="module")
def page(file: Path) -> Page:
    return Page(file.read_text())


def test_nothing_is_fetched(page: Page) -> None:
    assert [x[:60] for x in page.fetched if not x.startswith("data:")] == []
    assert re.findall(r"@import|url\((?!['\"]?data:)", page.style) == []
    assert page.policy.startswith("default-src 'none'")
    assert "http" not in page.policy


def test_every_link_leads_somewhere(page: Page) -> None:
    ids = set(page.ids)
    assert len(ids) == len(page.ids), "an id is there twice"
    inside = [x for x in page.links if not re.match(r"https?://", x)]
    assert [x for x in inside if x[0] != "#" or x[1:] not in ids] == []


def test_every_chapter_is_there_in_the_course_s_order(page: Page) -> None:
    assert sorted(page.chapters) == sorted(map(name, DOCUMENTS))
    course = (HANDOUTS / "README.md").read_text()
    linked = [name(HANDOUTS / x) for x in re.findall(r"\]\(([^)#]*\.md)", course)]
    assert list(page.chapters) == [
        "course",
        *(x for x in dict.fromkeys(linked) if x in page.chapters),
    ]
    top = [x[1:] for x in page.contents if x[1:] in page.chapters]
    assert top == list(page.chapters)
    assert len(page.contents) > 3 * len(top), "sections are missing in the contents"


@pytest.mark.parametrize("document", DOCUMENTS, ids=paths.shown)
def test_a_chapter_is_whole(document: Path, page: Page) -> None:
    chapter = page.chapters[name(document)]
    text, formulas = source(document)
    assert chapter.title == document.read_text().split("\n")[0].removeprefix("# ")
    assert chapter.formulas == formulas
    lost = [x for x in re.findall(r"[a-zA-Z]{6,}", text) if x not in chapter.prose + chapter.code]
    assert lost == []
    assert re.findall(r"\$|\\[a-zA-Z]+|check:", chapter.prose) == []


def test_no_comment_shows(page: Page) -> None:
    assert page.comments == []
    assert not any("<!--" in x.prose for x in page.chapters.values())


def test_files_of_the_kit_are_named_from_its_top(page: Page) -> None:
    code = page.chapters["0-first-module"].code
    assert "common/driver.c" in code
    assert "../common" not in page.text


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Path]:
    """What the book is made of, to be changed."""
    top = tmp_path / "a kit"
    shutil.copytree(HANDOUTS, top / "handouts")
    (top / "scripts").mkdir()
    for script in ("book.sh", "lib.sh", "setup.sh", "packages.sh", "packages.txt"):
        shutil.copy2(paths.ROOT / "scripts" / script, top / "scripts")
    yield top


def test_a_student_s_kit_without_answers_and_experiments(kit: Path) -> None:
    shutil.rmtree(kit / "handouts/experiments", ignore_errors=True)
    (kit / "handouts/instructor.md").unlink(missing_ok=True)
    (kit / "handouts/answers.md").unlink(missing_ok=True)
    done = make_book(kit / "build", "--html", kit=kit)
    assert done.returncode == 0, done.stderr
    page = Page((kit / "build/book/index.html").read_text())
    assert {"experiments", "instructor"}.isdisjoint(page.chapters)
    assert set(page.chapters) >= {"course", "7-preallocation"}
    test_every_link_leads_somewhere(page)


def an_answer() -> str:
    """A passage of an answer without marks, since a page has none."""
    answers = ANSWERS.read_text().split("\n## ", 1)[1].replace("\n   ", " ")
    return max(re.findall(r"[A-Za-z0-9 ,]+", answers), key=len).strip()


def questions(text: Path) -> int:
    """How many questions a handout asks."""
    section = re.search(r"^## Questions\n(.*?)(?=^## |\Z)", text.read_text(), re.M | re.S)
    return len(re.findall(r"^\d+\. ", section[1], re.M)) if section else 0


def test_the_answers_are_in_the_book_only_on_demand(kit: Path, page: Page) -> None:
    answer = an_answer()
    assert len(answer) > 30
    assert "instructor" not in page.chapters
    assert answer not in " ".join(page.text.split())
    done = make_book(kit / "build", "--html", "--instructor", kit=kit)
    assert done.returncode == 0, done.stderr
    whole = Page((kit / "build/book/index.html").read_text())
    assert list(whole.chapters)[-1] == "instructor"
    assert answer in " ".join(whole.text.split())
    assert whole.text.count('<details class="answer">') == sum(map(questions, DOCUMENTS)) > 70


def test_a_student_s_book_has_answers_if_the_kit_was_exported_with_them(kit: Path) -> None:
    (kit / "handouts/instructor.md").unlink()
    done = make_book(kit / "build", "--html", kit=kit)
    assert done.returncode == 0, done.stderr
    assert an_answer() in " ".join((kit / "build/book/index.html").read_text().split())


def test_a_question_without_its_answer_is_refused(kit: Path) -> None:
    text = kit / "handouts/5-schoolbook-squaring.md"
    text.write_text(text.read_text().replace("\nGo deeper", "7. And why is that?\n\nGo deeper"))
    done = make_book(kit / "build", "--html", "--instructor", kit=kit)
    assert done.returncode == 2
    assert "5-schoolbook-squaring.md: 7 questions, and 6 answers" in done.stderr


@pytest.mark.parametrize("fault", ["$\\frac{1}$", "![gone](figures/gone.svg)"])
def test_what_cannot_be_shown_is_refused_and_the_old_book_stays(fault: str, kit: Path) -> None:
    book = kit / "build/book"
    book.mkdir(parents=True)
    (book / "index.html").write_text("old")
    with (kit / "handouts/measuring.md").open("a") as text:
        text.write(f"\nThe fault is {fault} here.\n")
    done = make_book(kit / "build", "--html", kit=kit)
    assert done.returncode == 2
    assert "handouts/measuring.md" in done.stderr
    assert [x.name for x in book.iterdir()] == ["index.html"]
    assert (book / "index.html").read_text() == "old"


def test_an_interrupted_run_leaves_the_old_book(kit: Path) -> None:
    book = kit / "build/book"
    book.mkdir(parents=True)
    (book / "index.html").write_text("old")
    (kit / "bin").mkdir()
    (kit / "bin/pandoc").write_text(f'#!/bin/sh\necho $$ >"{kit}/pid"\nexec sleep 300\n')
    (kit / "bin/pandoc").chmod(0o755)
    run = subprocess.Popen(
        [str(kit / "scripts/book.sh"), "--html"],
        stderr=subprocess.DEVNULL,
        env={
            **os.environ,
            "LAB_BUILD": str(kit / "build"),
            "PATH": f"{kit}/bin:{os.environ['PATH']}",
        },
    )
    while run.poll() is None and not ((kit / "pid").exists() and (kit / "pid").read_text().strip()):
        time.sleep(0.05)
    run.send_signal(signal.SIGTERM)
    assert run.wait(60) == 143
    assert not Path("/proc", (kit / "pid").read_text().strip()).exists()
    assert [x.name for x in book.iterdir()] == ["index.html"]
    assert (book / "index.html").read_text() == "old"


def test_without_latex_there_is_html_and_a_word_about_it(kit: Path) -> None:
    book = kit / "build/book"
    book.mkdir(parents=True)
    (book / "fibdrv-lab.pdf").write_text("of an older text")
    (kit / "scripts/setup.sh").write_text('#!/bin/sh\n[ "$1" != pdf ]\n')
    done = make_book(kit / "build", kit=kit)
    assert done.returncode == 0, done.stderr
    assert "the PDF is left out: LaTeX" in done.stderr
    assert [x.name for x in book.iterdir()] == ["index.html"]


def in_browser(file: Path, value: str, folder: Path) -> Any:
    """What an expression of JavaScript comes to in the book."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("there is no browser: none of " + ", ".join(BROWSERS))
    script = f"""<script>
      const said = JSON.stringify({value});
      document.body.textContent = "said" + said + "said";
    </script></body>"""
    copy = folder / "book.html"
    copy.write_text(file.read_text().replace("</body>", script))
    done = subprocess.run(
        [
            browser,
            "--headless",
            "--disable-gpu",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            f"--user-data-dir={folder / 'profile'}",
            "--dump-dom",
            copy.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if not re.search(r"<main|said\[", done.stdout):
        pytest.skip(f"{browser} shows no page: {done.stderr[-300:]}")
    found = re.search(r"said(\[.*\])said", done.stdout, re.S)
    assert found, done.stdout[-500:] + done.stderr[-500:]
    return json.loads(html.unescape(found[1]))


def test_the_search_finds_a_word_of_each_chapter(file: Path, page: Page, tmp_path: Path) -> None:
    """In a browser: its rarest long word is looked for in each chapter."""
    words: dict[str, str] = {}
    for here, chapter in page.chapters.items():
        mine = sorted(set(re.findall(r"\b[a-z]{7,}\b", chapter.prose)))
        others = " ".join(x.prose for k, x in page.chapters.items() if k != here)
        words[here] = min(mine, key=others.count)
    asked = json.dumps([*words.values(), "nosuchword"])
    ask = """((word) => {
        const field = document.querySelector("#search input");
        field.value = word;
        field.dispatchEvent(new Event("input"));
        return [...document.querySelectorAll("#hits a")].map((hit) => {
          const place = document.getElementById(hit.hash.slice(1));
          return [place?.closest(".level1").id, hit.textContent];
        });
      })"""
    answers: list[list[list[str]]] = in_browser(file, f"{asked}.map({ask})", tmp_path)
    for (here, word), hits in zip(words.items(), answers):
        assert here in [place for place, _ in hits], f"{word} is not found in {here}"
        assert all(word in text.lower() for _, text in hits), f"{word}: {hits}"
    assert answers[-1] == []


def test_a_checklist_can_be_ticked_and_is_kept(file: Path, tmp_path: Path) -> None:
    tick = """(() => {
      const boxes = [...document.querySelectorAll("main input[type=checkbox]")];
      const seen = [boxes.length, boxes[0].getAttribute("aria-label")];
      return [...seen, ...[1, 2].map(() => (boxes[0].click(), Object.keys(localStorage)))];
    })()"""
    boxes, label, ticked, not_ticked = in_browser(file, tick, tmp_path)
    assert boxes > 30
    assert ticked == [f"fibdrv 1-iterative-u64-done: {label}"]
    assert not_ticked == []


@pytest.mark.long
def test_the_pdf(tmp_path: Path) -> None:
    if shutil.which("lualatex") is None:
        pytest.skip("there is no LaTeX: scripts/setup.sh pdf")
    done = make_book(tmp_path)
    assert done.returncode == 0, done.stderr
    pdf = (tmp_path / "book/fibdrv-lab.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    log = (tmp_path / "book.log").read_text()
    assert "Missing character" not in log
