# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the pictures of the handouts into this folder, or into a given folder.

With --words, print the words in the pictures, as JSON. With --translated FOLDER, read a translation
of these words from standard input, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from . import canvas, electives, memory, numbers, output, times, vectors

# The pictures of the course. Those of electives and experiments are only in English.
COURSE = [draw for module in (memory, numbers, output, times, vectors) for draw in module.PICTURES]
ENGLISH = ("experiment",)


def main(words: list[str]) -> None:
    """Draw all pictures, or print their words."""
    folders = [word for word in words if not word.startswith("--")]
    if len(folders) < len(words):
        draws = [draw for draw in COURSE if draw.__name__ not in ENGLISH]
    else:
        draws = [*COURSE, *electives.PICTURES]
    if "--translated" in words:
        canvas.translation.update(json.load(sys.stdin))
    pictures = [draw() for draw in draws]
    if "--words" in words:
        print(json.dumps(list(canvas.used)))
        return
    folder = Path(folders[0] if folders else __file__)
    for picture in pictures:
        picture.save(folder if folder.is_dir() else folder.parent)


main(sys.argv[1:])
