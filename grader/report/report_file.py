# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write a report's directory atomically, and read its report.json."""

import json
import tempfile
from pathlib import Path

from grader.report.html import page
from grader.report.plots import PlotPicture, picture, require_gnuplot
from grader.report.schema import Report, ReportError, validate
from grader.report.stage_figures import figures

REPORT_FILE = "report.json"
PAGE_FILE = "index.html"
PICTURES = (
    "speedup",
    "steps-ns",
    "steps-instructions",
    "time",
    "instructions",
    "memory",
    "user-kernel",
)
FILES = {REPORT_FILE, PAGE_FILE} | {f"{p}.{kind}" for p in PICTURES for kind in ("svg", "png")}


def prepare(out: Path) -> None:
    """Raise ReportError, before the work begins, if write() cannot write a report to out.

    A report replaces the whole directory, so out must be missing, empty or an older report.
    """
    require_gnuplot()
    out = out.resolve()
    if out == Path.cwd() or (out.exists() and not out.is_dir()):
        raise ReportError(f"{out} cannot become the report", "give a directory of its own")
    try:
        others = sorted(p.name for p in out.iterdir() if p.name not in FILES)
    except FileNotFoundError:
        others = []
    except OSError as error:
        raise ReportError(
            f"{out} cannot be read: {error.strerror}", "give another directory"
        ) from None
    if others:
        raise ReportError(
            f"{out} holds {others[0]!r}, which is not part of a report", "give another directory"
        )


def write(report: Report, out: Path) -> None:
    """Write report.json, the pictures and index.html into the directory out.

    All files are made in a temporary directory next to out, which then replaces out. Until then,
    and after any error, out is unchanged. Raise ReportError on failure.
    """
    validate(report)
    prepare(out)
    out = out.resolve()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as name:
            fresh = Path(name) / "new"
            fresh.mkdir(mode=0o755)
            text = json.dumps(report, indent=1, sort_keys=True, allow_nan=False)
            (fresh / REPORT_FILE).write_text(text + "\n", encoding="utf-8")
            pictures = draw(report, fresh)
            (fresh / PAGE_FILE).write_text(page(report, pictures), encoding="utf-8")
            _swap(fresh, out, Path(name) / "old")
    except OSError as error:
        raise ReportError(
            f"{out} cannot be written: {error.strerror or error}", "give another directory"
        ) from None


def draw(report: Report, out: Path) -> list[PlotPicture]:
    """Draw every figure into out as NAME.svg and NAME.png. Return the pictures for the page.

    A figure without data has no file; the result then has the reason. Raise ReportError when
    gnuplot fails.
    """
    return [picture(figure, out) for figure in figures(report)]


def _swap(fresh: Path, out: Path, old: Path) -> None:
    """Rename the folder out to old, and fresh to out. If that fails, undo it."""
    try:
        if out.exists():
            out.rename(old)
        fresh.rename(out)
    except BaseException:
        if old.exists() and not out.exists():
            old.rename(out)
        raise


def read(out: Path) -> Report:
    """Return the validated report in the directory out. Raise ReportError if that fails."""
    path = out / REPORT_FILE
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ReportError(f"{path} does not exist", "run grader/run.sh first") from None
    except OSError as error:
        raise ReportError(
            f"{path} cannot be read: {error.strerror}", "run grader/run.sh again"
        ) from None
    except ValueError:
        raise ReportError(f"{path} is not valid JSON", "run grader/run.sh again") from None
    if not isinstance(report, dict):
        raise ReportError(f"{path} is not a report", "run grader/run.sh again")
    try:
        validate(report)
    except ReportError as error:
        raise ReportError(f"{path}: {error.problem}", error.action) from None
    return report
