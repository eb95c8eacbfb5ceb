# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""python -m grader.report [DIR]: draw the report in DIR again from its report.json."""

import argparse
import sys
from pathlib import Path

from grader.base import command
from grader.report.report_file import PAGE_FILE, read, write
from grader.report.terminal import summary


def main() -> int:
    """Draw the report and print its summary."""
    parser = argparse.ArgumentParser(
        prog="python -m grader.report",
        description="Draw pictures and page again from the report.json in a directory.",
    )
    parser.add_argument("dir", nargs="?", type=Path, default=Path("build/report"), metavar="DIR")
    out: Path = parser.parse_args().dir
    report = read(out)
    write(report, out)
    print(summary(report), end="")
    print(out / PAGE_FILE)
    return 0


if __name__ == "__main__":
    sys.exit(command.end("report", main, "nothing is changed"))
