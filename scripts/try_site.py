# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""scripts/try-site: test a site in headless Chromium, as its readers use it.

Serve the folder below a path prefix. Use the site by keyboard, without JavaScript and from the
disk. Then open every page in three widths, light and dark, and report content that overflows,
serious faults found by axe-core, and requests to other servers. Screenshots are in build/try-site/.
(Links and anchors are checked by tests/test_site.py.)
"""

from __future__ import annotations

import argparse
import http.server
import re
import shutil
import sys
import tempfile
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PREFIX = "some/where"
WIDTHS = (390, 800, 1400)
SCHEMES = ("light", "dark")
FIRST_VIEW = 500_000
SERIOUS = ("serious", "critical")
SHOWN = ("index", "course", "3-bignum-u32", "instructor", "first-hour")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Return the focused element, and whether its focus is visible.
FOCUS = """(() => {
  const e = document.activeElement, box = e.getBoundingClientRect();
  const seen = box.width > 0 && box.height > 0 && box.right > 0;
  return e === document.body ? null
    : [e.outerHTML.slice(0, 90), seen && getComputedStyle(e).outlineStyle !== "none"];
})()"""
ON_SCREEN = """(() => {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  return place.getBoundingClientRect().top < innerHeight;
})()"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A static server that logs nothing."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def handle(self) -> None:
        """Serve a request; ignore that the browser has closed the connection."""
        with suppress(ConnectionError):
            super().handle()


class Trial:
    """A test of a site in a browser, and the faults that it has found."""

    def __init__(self, browser: Browser, site: Path, top: str, shots: Path) -> None:
        self.browser, self.site, self.top, self.shots = browser, site, top, shots
        self.faults: list[str] = []
        self.pages = sorted(str(p.relative_to(site)) for p in site.rglob("*.html"))

    def fault(self, where: str, what: str) -> None:
        """Report a fault."""
        self.faults.append(f"{where}: {what}")
        print(f"FAULT {where}: {what}", flush=True)

    def want(self, true: object, where: str, what: str) -> None:
        """Report a fault if a condition does not hold."""
        if not true:
            self.fault(where, what)

    def open(self, **options: object) -> Page:
        """Open a tab that reports errors and requests to other servers."""
        page = self.browser.new_context(**options).new_page()
        page.on("pageerror", lambda error: self.fault(page.url, str(error)))
        page.on(
            "console",
            lambda said: self.want(said.type != "error", page.url, f"console: {said.text}"),
        )
        page.on(
            "request",
            lambda asked: self.want(
                urlsplit(asked.url).scheme in ("data", "file") or asked.url.startswith(self.top),
                page.url,
                f"fetches {asked.url}",
            ),
        )
        return page

    def every_page(self) -> None:
        """Open every page in all widths and colour schemes."""
        for scheme in SCHEMES:
            page = self.open(color_scheme=scheme)
            for name in self.pages:
                page.goto(self.top + name)
                for width in WIDTHS:
                    page.set_viewport_size({"width": width, "height": 844 if width < 500 else 900})
                    where = f"{name}, {width} px, {scheme}"
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    self.want(wide <= width, where, f"is {wide} px wide")
                    if Path(name).stem in SHOWN:
                        picture = f"{name.replace('/', '-')}-{width}-{scheme}.png"
                        page.screenshot(path=self.shots / picture)
                self.accessible(page, f"{name}, {scheme}")
            page.set_viewport_size({"width": 390, "height": 844})
            page.goto(self.top + "3-bignum-u32.html")
            self.accessible(page, f"3-bignum-u32.html, 390 px, {scheme}")
            page.context.close()

    def accessible(self, page: Page, where: str) -> None:
        """Run axe-core on a page."""
        for found in Axe().run(page).response["violations"]:
            if found["impact"] in SERIOUS:
                nodes = found["nodes"]
                times = f"{len(nodes)} times, at {nodes[0]['target']}"
                self.fault(where, f"axe: {found['id']}: {found['help']}, {times}")

    def first_view(self) -> None:
        """Add up the bytes that the first page loads."""
        page = self.open()
        sizes: dict[str, int] = {}
        page.on("response", lambda answer: sizes.update({answer.url: len(answer.body())}))
        page.goto(self.top + "index.html", wait_until="networkidle")
        total = sum(sizes.values())
        print(f"first view: {len(sizes)} requests, {total:,} bytes")
        self.want(total < FIRST_VIEW, "index.html", f"its first view takes {total} bytes")
        page.set_viewport_size({"width": 1400, "height": 900})
        height = page.evaluate("document.documentElement.scrollHeight")
        self.want(height <= 900, "index.html", f"is {height} px high, more than a screen")
        page.context.close()

    def by_keyboard(self, name: str, word: str) -> None:
        """Search, follow a hit and change the language by keyboard alone."""
        page = self.open(viewport={"width": 1400, "height": 900})
        page.goto(self.top + name)
        page.keyboard.press("Tab")
        skip = page.evaluate("document.activeElement.className")
        self.want(skip == "skip", name, f"the first stop is {skip!r}, not the link to the text")
        stops = set()
        for _ in range(300):
            page.keyboard.press("Tab")
            stop = page.evaluate(FOCUS)
            if stop is None or stop[0] in stops:
                break
            stops.add(stop[0])
            self.want(stop[1], name, f"focus cannot be seen: {stop[0]}")
        print(f"{name}: {len(stops)} stops by Tab")
        page.keyboard.press("/")
        page.keyboard.type(word)
        page.wait_for_selector("#hits a")
        print(f"{name}: {word}: {page.locator('#count').inner_text()}")
        page.keyboard.press("ArrowDown")
        chosen = page.evaluate("document.activeElement.href")
        page.keyboard.press("Enter")
        page.wait_for_url(chosen)
        place = page.evaluate("location.hash.slice(1)")
        shown = place == "" or page.evaluate(ON_SCREEN)
        self.want(shown, name, f"the hit {chosen} is not on the screen")
        other = page.locator("header a[hreflang]")
        if other.count():
            page.goto(self.top + "3-bignum-u32.html#tasks")
            page.wait_for_function("scrollY > 100")
            other.first.focus()
            page.keyboard.press("Enter")
            page.wait_for_url(re.compile(r"/zh-TW/3-bignum-u32\.html#tasks$"))
            top = page.evaluate("document.getElementById('tasks').getBoundingClientRect().top")
            self.want(-100 < top < 300, name, f"the language switch lands {top} px away")
        page.context.close()

    def without_script(self) -> None:
        """Follow the links from the first page to the third without JavaScript."""
        page = self.open(java_script_enabled=False, viewport={"width": 390, "height": 844})
        page.goto(self.top + "index.html")
        page.click("#contents a >> nth=0")
        for _ in range(2):
            page.click("a[rel=next]")
        self.want(page.locator("main h1").count() == 1, page.url, "no text without JavaScript")
        self.want(
            not page.locator("#search").is_visible(), page.url, "shows a search without script"
        )
        page.screenshot(path=self.shots / "without-script-390.png")
        page.context.close()

    def from_disk(self, word: str) -> None:
        """Search in a page that is opened as a file."""
        page = self.open()
        page.goto((self.site / "course.html").as_uri())
        page.fill("#search input", word)
        page.wait_for_selector("#hits a")
        page.context.close()


def main() -> int:
    """Test a site and print the result."""
    parser = argparse.ArgumentParser(prog="scripts/try-site", description=__doc__.split("\n\n")[0])
    parser.add_argument("site", nargs="?", type=Path, default=ROOT / "build/site")
    parser.add_argument("--word", default="Karatsuba", help="a word that the search must find")
    options = parser.parse_args()
    site = options.site.resolve()
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not (site / "index.html").is_file():
        print(f"try-site: {site}/index.html is missing; run make site", file=sys.stderr)
        return 2
    shots = ROOT / "build/try-site"
    shutil.rmtree(shots, ignore_errors=True)
    shots.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        (Path(name) / PREFIX).parent.mkdir(parents=True)
        (Path(name) / PREFIX).symlink_to(site)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=name))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        top = f"http://127.0.0.1:{server.server_port}/{PREFIX}/"
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        trial = Trial(browser, site, top, shots)
        trial.first_view()
        trial.by_keyboard("course.html", options.word)
        if (site / "zh-TW").is_dir():
            trial.by_keyboard("zh-TW/course.html", "進位")
        trial.without_script()
        trial.from_disk(options.word)
        trial.every_page()
        browser.close()
        server.shutdown()
    print(f"try-site: {len(trial.pages)} pages, {len(trial.faults)} faults")
    return 1 if trial.faults else 0


if __name__ == "__main__":
    sys.exit(main())
