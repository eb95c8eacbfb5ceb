#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Run sparse on the modules of all stages and electives, as kbuild does (C=2).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PYTHONPATH=$PWD
status=0
scripts/python.sh -m grader.tools.sparse || status=1
scripts/python.sh -m electives.sparse || status=1
exit "$status"
