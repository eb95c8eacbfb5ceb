# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Take the screenshots of first-hour.md, in headless Chromium: make screenshots.

Make a small class of invented students, grade it like an instructor, and open the pages of the
class and one page of the site. The results stay in build/screenshots/, so that a second run grades
nothing again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from grader.base import command, paths
from grader.base.errors import LabError
from tests.class_submissions import mistake, reference, solved

HERE = Path(__file__).parent
STAGE = 5
SEED = "7"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def make_class(folder: Path) -> None:
    """Write the submissions, one directory for each student."""
    reference(folder / "anna", STAGE)
    mistake(folder / "bob", STAGE, "half the triangle")
    solved(folder / "carol", STAGE, 1, 2)
    mistake(folder / "dave", STAGE, "no cast")
    solved(folder / "erin", STAGE)
    reference(folder / "frank", STAGE)
    broken = solved(folder / "grace", STAGE, 1, 2, 3) / "bignum.c"
    broken.write_text(broken.read_text().replace("carry = ", "carry == ", 1) + "\n}\n")


def shoot(browser: str, page: Path, size: str, picture: str) -> None:
    """Take a screenshot of the top of a page."""
    target = HERE / picture
    new = page.parent / f".{picture}"
    completed = subprocess.run(
        [
            browser,
            "--headless",
            "--disable-gpu",
            "--hide-scrollbars",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            f"--window-size={size}",
            f"--screenshot={new}",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if not page.is_file() or completed.returncode or not new.is_file():
        raise LabError(
            f"{browser} took no screenshot of {page}: {completed.stderr.strip()[-200:]}",
            "run the command again",
        )
    new.replace(target)
    print(f"{paths.shown(target)}: {target.stat().st_size:,} bytes")


def main() -> int:
    """Grade the class and take the screenshots."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise LabError("chromium not found", "run scripts/setup.sh browser")
    build = paths.ROOT / "build"
    site, folder = build / "site", build / "screenshots"
    if not (site / "index.html").is_file():
        raise LabError("build/site is missing", "run make site")
    if not (folder / "submissions").is_dir():
        make_class(folder / "submissions")
    out = folder / "class"
    completed = subprocess.run(
        [str(paths.ROOT / "grader/class.sh"), str(folder / "submissions")]
        + ["--stage", str(STAGE), "--seed", SEED, "--out", str(out), "--jobs", "1"]
    )
    if completed.returncode:
        raise LabError(
            "the class is not graded", "follow the message above, then run make screenshots again"
        )
    shoot(browser, out / "class.html", "900,1000", "class.png")
    (student,) = out.glob("students/bob-*/index.html")
    shoot(browser, student, "900,520", "student.png")
    shoot(browser, site / "zh-TW" / "5-schoolbook-squaring.html", "1100,620", "site.png")
    return 0


if __name__ == "__main__":
    sys.exit(command.end("screenshots", main, "the old screenshots are unchanged"))
