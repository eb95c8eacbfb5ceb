# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""similarity_compare.py FOLDER GIVEN LEAST: find similar files in a folder, inside the sandbox.

This program needs the environment of scripts/similarity.txt. Code of GIVEN, the skeleton, is
excluded. Print one line of JSON: [name, name, percent of the first, percent of the second] for each
pair.
"""

from __future__ import annotations

import json
import logging
import sys
from itertools import combinations
from pathlib import Path

# Sequences of equal tokens are ignored if they are shorter than NOISE, and are always found if they
# have at least GUARANTEE tokens. These are copydetect's defaults.
NOISE, GUARANTEE = 25, 30


def main(folder: Path, given: Path, least: float) -> None:
    """Compare each file with each other file."""
    logging.disable()
    import numpy as np
    from copydetect import CodeFingerprint, compare_files  # type: ignore[import-not-found]

    window = GUARANTEE - NOISE + 1
    common = np.array(sorted(CodeFingerprint(str(given), NOISE, 1, language="c").hashes))
    prints = [
        CodeFingerprint(str(path), NOISE, window, common, language="c")
        for path in sorted(folder.iterdir())
    ]
    found = []
    for one, other in combinations(prints, 2):
        # Skip a file without code of its own, such as an unchanged skeleton.
        if not (one.token_coverage and other.token_coverage):
            continue
        _, (of_one, of_other), _ = compare_files(one, other)
        if max(of_one, of_other) >= least:
            names = Path(one.filename).stem, Path(other.filename).stem
            found.append([*names, round(100 * of_one), round(100 * of_other)])
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
