# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the site of the handouts: complete, without dead links, usable without network or scripts.

scripts/try-site runs more tests in a browser.
"""

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
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import jsonschema
import pytest

from grader.base import paths
from grader.exercise.files import stages
from tests.site_pages import (
    DOCUMENTS,
    HANDOUTS,
    Page,
    dead_links,
    make_site,
    page_name,
    read_pages,
    site_of_the_kit,
    source,
)

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="browser not found; run scripts/setup.sh browser"
)
FIRST_VIEW = 500_000

pytestmark = [
    pytest.mark.once(all_files=True),
    pytest.mark.skipif(
        shutil.which("pandoc") is None or shutil.which("po4a") is None,
        reason="there is no pandoc or po4a: scripts/setup.sh book translations",
    ),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_of_the_kit(tmp_path_factory)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return read_pages(site)


def test_nothing_is_fetched(site: Path, pages: dict[str, Page]) -> None:
    for page in pages.values():
        assert [x for x in page.fetched if re.match(r"\w+:|//", x) and x != "data:,"] == []
        assert "Content-Security-Policy\" content=\"default-src 'self' file:;" in page.text
    assert re.findall(r"@import|url\(", (site / "site.css").read_text()) == []


def test_every_link_leads_somewhere(site: Path, pages: dict[str, Page]) -> None:
    assert dead_links(site) == []
    assert [x for x, page in pages.items() if len(set(page.ids)) < len(page.ids)] == []


@pytest.mark.parametrize("link", ["measuring.html#gone", "gone.html", "/course.html", "#gone"])
def test_a_dead_link_is_found(link: str, site: Path, tmp_path: Path) -> None:
    shutil.copytree(site, tmp_path / "site")
    with (tmp_path / "site/course.html").open("a") as page:
        page.write(f'<a href="{link}">')
    assert dead_links(tmp_path / "site") == [f"course.html: {link}"]


@pytest.mark.parametrize("folder", ["", "zh-TW/"])
def test_next_leads_through_all_handouts_in_the_course_s_order(
    folder: str, pages: dict[str, Page]
) -> None:
    course = (HANDOUTS / "README.md").read_text()
    linked = [page_name(HANDOUTS / x) for x in re.findall(r"\]\(([^)#]*\.md)", course)]
    way = ["course.html"]
    while following := pages[folder + way[-1]].next:
        way.append(following)
    assert way == ["course.html", *dict.fromkeys(linked)]
    assert sorted(way) == sorted(map(page_name, DOCUMENTS))
    for page in way:
        assert set(way) <= set(pages[folder + page].links), f"{page} does not lead to all pages"


@pytest.mark.parametrize("document", DOCUMENTS, ids=paths.shown)
def test_a_page_is_whole(document: Path, pages: dict[str, Page]) -> None:
    page = pages[page_name(document)]
    text, formulas = source(document)
    assert page.title == document.read_text().split("\n")[0].removeprefix("# ")
    assert page.formulas == formulas
    lost = [x for x in re.findall(r"[a-zA-Z]{6,}", text) if x not in page.prose + page.code]
    assert lost == []
    assert re.findall(r"\$|\\[a-zA-Z]+|check:|<!--", page.prose) == []
    assert page.comments == []


def test_files_of_the_kit_are_named_from_its_top(pages: dict[str, Page]) -> None:
    assert "common/driver.c" in pages["0-first-module.html"].code
    assert [x for x, page in pages.items() if "../common" in page.text] == []


def test_a_heading_has_the_same_address_in_both_languages(pages: dict[str, Page]) -> None:
    for document in DOCUMENTS:
        page, other = pages[page_name(document)], pages[f"zh-TW/{page_name(document)}"]
        assert page.ids == other.ids and len(page.ids) > 3
        assert (
            f"zh-TW/{page_name(document)}" in page.links
            and f"../{page_name(document)}" in other.links
        )


def test_a_page_can_be_used_without_a_script(pages: dict[str, Page]) -> None:
    for page in pages.values():
        assert '<details id="menu" open>' in page.text
        assert re.search(r'<form id="search"[^>]* hidden>', page.text)


def test_the_first_view_is_small(site: Path, pages: dict[str, Page]) -> None:
    for name in ("index.html", "zh-TW/index.html"):
        folder = (site / name).parent
        files = {(folder / x).resolve() for x in pages[name].fetched if x != "data:,"}
        assert len(files) >= 5
        assert sum(x.stat().st_size for x in {*files, site / name}) < FIRST_VIEW


def test_the_sample_report_is_one() -> None:
    report = json.loads((HANDOUTS / "figures/report.json").read_text())
    schema = json.loads((paths.ROOT / "grader/report/schema.json").read_text())
    number = schema["properties"]["schema"]["const"]
    assert report["schema"] == number, "the sample report is of an older schema; run make figures"
    jsonschema.validate(report, schema)
    assert len(report["stages"]) == len(stages.manifests()) and not report["quick"]


def in_browser(file: Path, value: str) -> Any:
    """Open the page in a browser and return the value of a JavaScript promise."""
    assert BROWSER
    script = f"""<script>
      addEventListener("load", async () => {{
        const said = JSON.stringify(await {value});
        document.body.textContent = "said" + said + "said";
      }});
    </script></body>"""
    copy = file.with_name("copy.html")
    policy = re.compile(r"<meta http-equiv[^>]*>")
    copy.write_text(policy.sub("", file.read_text()).replace("</body>", script))
    completed = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--disable-gpu",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            f"--user-data-dir={file.parent / 'profile'}",
            "--virtual-time-budget=5000",
            "--dump-dom",
            copy.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    copy.unlink()
    if not re.search(r"<main|said\[", completed.stdout):
        pytest.skip(f"{BROWSER} shows no page: {completed.stderr[-300:]}")
    found = re.search(r"said(\[.*\])said", completed.stdout, re.S)
    assert found, completed.stdout[-500:] + completed.stderr[-500:]
    return json.loads(html.unescape(found[1]))


SEARCH = """new Promise((done) => {
  const field = document.querySelector("#search input");
  field.dispatchEvent(new Event("focus"));
  const script = document.querySelector("script[data-text]");
  script.addEventListener("load", () => done(WORDS.map((word) => {
    field.value = word;
    field.dispatchEvent(new Event("input"));
    return [...document.querySelectorAll("#hits a")].map((hit) =>
      [hit.getAttribute("href"), hit.textContent, hit.querySelectorAll("mark").length]);
  })));
})"""


@needs_browser
def test_the_search_finds_a_word_of_each_page(
    site: Path, pages: dict[str, Page], tmp_path: Path
) -> None:
    """The search finds the rarest long word of each page, and a Chinese word, from local files."""
    shutil.copytree(site, tmp_path / "site")
    prose = {page_name(x): pages[page_name(x)].prose for x in DOCUMENTS}
    words = {}
    for here, text in prose.items():
        others = " ".join(x for k, x in prose.items() if k != here)
        words[here] = min(sorted(set(re.findall(r"\b[a-z]{7,}\b", text))), key=others.count)
    asked = json.dumps([*words.values(), "nosuchword"])
    answers = in_browser(tmp_path / "site/course.html", SEARCH.replace("WORDS", asked))
    for (here, word), hits in zip(words.items(), answers):
        assert here in [hit.split("#")[0] for hit, _, _ in hits], f"{word} is not found in {here}"
        assert all(word in text.lower() for _, text, _ in hits), f"{word}: {hits}"
    assert answers[-1] == []
    (hits,) = in_browser(tmp_path / "site/zh-TW/course.html", SEARCH.replace("WORDS", '["進位"]'))
    assert sum("#" in link for link, *_ in hits) > 10 and sum(marks for *_, marks in hits) > 10
    for link, *_ in hits:
        page, anchor = urldefrag(link)
        assert not anchor or anchor in pages[f"zh-TW/{page}"].ids


@needs_browser
def test_the_search_shows_what_it_has_found(site: Path, tmp_path: Path) -> None:
    """Each excerpt contains the word, also in Chinese, where no space marks where it can begin."""
    shutil.copytree(site, tmp_path / "site")
    texts = (tmp_path / "site/zh-TW/search.js").read_text()
    words = sorted(set(re.findall("[\u4e00-\u9fff]{4}，", texts)))[::10]
    assert len(words) > 100
    asked = SEARCH.replace("WORDS", json.dumps(words))
    without = []
    for word, hits in zip(words, in_browser(tmp_path / "site/zh-TW/course.html", asked)):
        assert hits, word
        without += [(word, text) for _, text, marks in hits if not marks or word not in text]
    assert without == []


@needs_browser
def test_an_excerpt_begins_close_before_the_word(site: Path, tmp_path: Path) -> None:
    shutil.copytree(site, tmp_path / "site")
    rows = [
        ["a.html", "spaces", "word " * 40 + "needle " + "word " * 40],
        ["b.html", "no spaces", "字" * 200 + "needle" + "字" * 200],
        ["c.html", "one space", "字" * 180 + "字 " + "字" * 20 + "needle" + "字 " * 40],
        ["d.html", "needle", "字" * 200],
    ]
    (tmp_path / "site/search.js").write_text(f"window.searchIndex = {json.dumps(rows)};")
    asked = SEARCH.replace("WORDS", '["needle"]')
    (hits,) = in_browser(tmp_path / "site/course.html", asked)
    shown = {link: text for link, text, _ in hits}
    assert re.match(r"spaces… (word ){7,8}needle word", shown["a.html"])
    assert re.match("no spaces… 字{40}needle字", shown["b.html"])
    assert re.match("one space… 字{20}needle字", shown["c.html"])
    assert re.match("needle字{140} …", shown["d.html"])


@pytest.mark.parametrize("folder", ["", "zh-TW/"])
def test_a_formula_keeps_its_punctuation(folder: str, pages: dict[str, Page]) -> None:
    """A formula and its punctuation share a span, so that no line ends between them."""
    kept, apart = 0, []
    for name, page in pages.items():
        if name.startswith("zh-TW/") == bool(folder):
            text = re.sub(
                r'<span class="together">[(“（「]*<math.*?</math>[^<]*</span>', "", page.text
            )
            kept += page.text.count('<span class="together">')
            apart += re.findall(r"</math>[,.;:)，。：；、）」].{9}|.{9}[（「(]<math", text)
    assert apart == []
    assert kept > 50


@needs_browser
def test_a_checklist_can_be_ticked_and_is_kept(site: Path, tmp_path: Path) -> None:
    shutil.copytree(site, tmp_path / "site")
    tick = """(() => {
      const boxes = [...document.querySelectorAll("main input[type=checkbox]")];
      const seen = [boxes.length, boxes[0].getAttribute("aria-label")];
      return [...seen, ...[1, 2].map(() => (boxes[0].click(), Object.keys(localStorage)))];
    })()"""
    count, label, ticked, not_ticked = in_browser(tmp_path / "site/1-iterative-u64.html", tick)
    assert count > 2
    assert ticked == [f"fibdrv copy.html: {label}"]
    assert not_ticked == []


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Path]:
    """Yield a copy of the sources of an English site, with an old site, that a test may change."""
    top = tmp_path / "a kit"
    shutil.copytree(HANDOUTS, top / "handouts", ignore=lambda *_: {"zh-TW"})
    (top / "scripts").mkdir()
    for script in ("book.sh", "lib.sh", "setup.sh", "packages.sh", "packages.txt"):
        shutil.copy2(paths.ROOT / "scripts" / script, top / "scripts")
    old = top / "build/site"
    old.mkdir(parents=True)
    (old / "index.html").write_text("old")
    yield top


def assert_old(kit: Path) -> None:
    """Assert that the old site is unchanged and that no part of a new site exists."""
    assert [x.name for x in (kit / "build/site").iterdir()] == ["index.html"]
    assert (kit / "build/site/index.html").read_text() == "old"
    assert [x.name for x in (kit / "build").iterdir() if x.name not in ("site", "book.log")] == []


def test_a_site_in_one_language_has_no_switch(kit: Path) -> None:
    completed = make_site(kit / "build", "--site", "--pages", kit=kit)
    assert completed.returncode == 0, completed.stderr
    assert dead_links(kit / "build/site") == []
    assert "hreflang" not in (kit / "build/site/course.html").read_text()
    assert (kit / "build/site").stat().st_mode & 0o777 == 0o755


def test_a_question_without_its_answer_is_refused(kit: Path) -> None:
    text = kit / "handouts/5-schoolbook-squaring.md"
    text.write_text(text.read_text().replace("\nGo deeper", "7. And why is that?\n\nGo deeper"))
    completed = make_site(kit / "build", "--site", "--pages", "--instructor", kit=kit)
    assert completed.returncode == 2
    assert "5-schoolbook-squaring.md: 7 questions, and 6 answers" in completed.stderr
    assert_old(kit)


@pytest.mark.parametrize("fault", ["$\\frac{1}$", "![gone](figures/gone.svg)"])
def test_what_cannot_be_shown_is_refused_and_the_old_site_stays(fault: str, kit: Path) -> None:
    with (kit / "handouts/measuring.md").open("a") as text:
        text.write(f"\nThe fault is {fault} here.\n")
    completed = make_site(kit / "build", "--site", "--pages", kit=kit)
    assert completed.returncode == 2
    assert "handouts/measuring.md" in completed.stderr
    assert_old(kit)


@pytest.mark.always
def test_an_interrupted_run_leaves_the_old_site(kit: Path) -> None:
    (kit / "bin").mkdir()
    (kit / "bin/pandoc").write_text(f'#!/bin/sh\necho $$ >"{kit}/pid"\nexec sleep 300\n')
    (kit / "bin/pandoc").chmod(0o755)
    path = f"{kit}/bin:{os.environ['PATH']}"
    run = subprocess.Popen(
        [str(kit / "scripts/book.sh"), "--site", "--pages"],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LAB_BUILD": str(kit / "build"), "PATH": path},
    )
    while run.poll() is None and not ((kit / "pid").exists() and (kit / "pid").read_text().strip()):
        time.sleep(0.05)
    run.send_signal(signal.SIGTERM)
    assert run.wait(60) == 143
    assert not Path("/proc", (kit / "pid").read_text().strip()).exists()
    assert_old(kit)


def test_no_line_of_the_pdf_begins_after_the_last_slash_of_a_path() -> None:
    """A line may end within a path, but not between a path and the punctuation after it."""
    book = HANDOUTS / "book"
    given = (f"root={paths.ROOT}", "instructor=0", "translated=")
    latex = subprocess.run(
        [
            *("pandoc", "--from", "markdown", "--to", "latex", "--lua-filter", book / "book.lua"),
            *("--metadata-file", book / "book.yaml", *(x for y in given for x in ("-M", y))),
        ],
        check=True,
        input="",
        capture_output=True,
        text=True,
    ).stdout
    assert latex.count("/\\allowbreak{}") > 50
    assert r"\texttt{Documentation/\allowbreak{}driver-api/}" in latex


def test_without_latex_there_is_no_book_and_the_old_one_stays(kit: Path) -> None:
    (kit / "scripts/setup.sh").write_text('#!/bin/sh\n[ "$1" != pdf ]\n')
    completed = make_site(kit / "build", kit=kit)
    assert completed.returncode == 2
    assert "LaTeX is missing" in completed.stderr
    assert_old(kit)


def test_a_site_has_its_languages_all_at_once(tmp_path: Path) -> None:
    completed = make_site(tmp_path, "--site", "--lang", "zh-TW")
    assert completed.returncode == 2
    assert completed.stderr == "book.sh: a site always has all languages; omit --lang\n"


@pytest.mark.long
def test_the_pdf(tmp_path: Path) -> None:
    if shutil.which("lualatex") is None:
        pytest.skip("LaTeX not found; run scripts/setup.sh pdf")
    completed = make_site(tmp_path, "--site")
    assert completed.returncode == 0, completed.stderr
    assert dead_links(tmp_path / "site") == []
    for folder in ("site", "site/zh-TW"):
        pdf = (tmp_path / folder / "fibdrv-lab.pdf").read_bytes()
        assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")
    assert "Missing character" not in (tmp_path / "book.log").read_text()
