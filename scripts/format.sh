#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Format C and Python as scripts/lint.sh requires.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
git ls-files -co --exclude-standard -z -- '*.c' '*.h' |
	xargs -0 scripts/python.sh -c 'from clang_format import clang_format as format; format()' -i
scripts/python.sh -m ruff check --no-cache --fix --quiet . || true
scripts/python.sh -m ruff format --no-cache .
