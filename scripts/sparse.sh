#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# sparse over the modules of all stages, as kbuild runs it (C=2).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHONPATH=$PWD exec scripts/python.sh -m grader.tools.sparse
