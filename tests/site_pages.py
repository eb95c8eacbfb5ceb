# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read the pages of a site for tests: links, headings and words."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from grader.base import paths

HANDOUTS = paths.ROOT / "handouts"
ANSWERS = HANDOUTS / "answers.md"
VOID = {"meta", "img", "br", "hr", "input", "col", "link"}
TRANSLATIONS = [x.with_name("README.md") for x in HANDOUTS.glob("*/pictures.toml")]
# Each handout is a page of the site.
DOCUMENTS = [x for x in sorted(HANDOUTS.rglob("*.md")) if x not in (ANSWERS, *TRANSLATIONS)]


def make_site(
    build: Path, *options: str, kit: Path = paths.ROOT
) -> subprocess.CompletedProcess[str]:
    """Run scripts/book.sh and return the finished process."""
    return subprocess.run(
        [str(kit / "scripts/book.sh"), *options],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "LAB_BUILD": str(build), "LC_ALL": "C.UTF-8"},
    )


def site_of_the_kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, without sample report and PDFs. All tests and workers share one build."""
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent  # a folder that all test workers share
    build = folder / "kit-site"
    with (folder / "kit-site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (build / "made").exists():
            completed = make_site(build, "--site", "--pages")
            assert completed.returncode == 0, completed.stderr
            (build / "made").touch()
    return build / "site"


class Page(HTMLParser):
    """A page of the site: its links, its anchors, and its prose without code."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.text = file.read_text()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.next = ""
        self.fetched: list[str] = []
        self.comments: list[str] = []
        self.title = self.prose = self.code = ""
        self.formulas = 0
        self.open: list[str] = []
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {k: v or "" for k, v in attrs}
        self.ids += [given["id"]] if "id" in given else []
        if tag == "a":
            self.links.append(given["href"])
            self.next = given["href"] if given.get("rel") == "next" else self.next
        elif given.get("rel") not in ("prev", "next"):
            names = ("src", "href", "srcset", "data", "poster", "action")
            self.fetched += [given[x] for x in names if x in given]
        self.formulas += tag == "math"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while tag not in VOID and self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "main" in self.open and "math" not in self.open:
            if "h1" in self.open:
                self.title += data
            if {"pre", "code"} & set(self.open):
                self.code += data
            else:
                self.prose += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def read_pages(site: Path) -> dict[str, Page]:
    """Return the pages of a site by path, without those of the sample report."""
    names = sorted(str(x.relative_to(site)) for x in site.rglob("*.html"))
    return {name: Page(site / name) for name in names if not name.startswith("report/")}


def dead_links(site: Path) -> list[str]:
    """Return dead links, missing pictures, and links and pictures outside of the site."""
    pages = read_pages(site)
    found = []
    for name, page in pages.items():
        for link in page.links + page.fetched:
            if re.match(r"https?://|data:", link):
                continue
            target, anchor = urldefrag(link)
            there = os.path.normpath(Path(name).parent / unquote(target)) if target else name
            good = not target.startswith("/") and (site / there).is_file()
            if good and anchor and there in pages:
                good = unquote(anchor) in pages[there].ids
            if not good:
                found.append(f"{name}: {link}")
    return found


def page_name(document: Path) -> str:
    """Return the name of a handout's page."""
    if document.name != "README.md":
        return f"{document.stem}.html"
    return "course.html" if document.parent == HANDOUTS else f"{document.parent.name}.html"


def source(document: Path) -> tuple[str, int]:
    """Return a handout without its code and comments, and the number of its formulas."""
    text = re.sub(r"^```math\n(.*?)^```", r"$$\1$$", document.read_text(), flags=re.M | re.S)
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`]*`|<!--.*?-->|!\[[^]]*\]|(?<=\])\([^)]*\)", "", text, flags=re.S)
    return re.subn(r"\$\$.*?\$\$|\$[^$\s][^$]*\$", "", text, flags=re.S)


def questions(document: Path) -> int:
    """Return the number of questions that a handout asks."""
    section = re.search(r"^## Questions\n(.*?)(?=^## |\Z)", document.read_text(), re.M | re.S)
    return len(re.findall(r"^\d+\. ", section[1], re.M)) if section else 0


def shown_answers(site: Path, folder: str = "") -> int:
    """Return the number of answers on the pages of one language."""
    pages = [x.read_text() for x in (site / folder).glob("*.html")]
    return sum(text.count('<details class="answer">') for text in pages)
