#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Draw the handouts' figures from build/report/report.json, build/compare-gmp/rows.tsv and new
# measurements. See draw.py.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
"$root/scripts/setup.sh" core qemu
PYTHONPATH=$root exec "$root/scripts/python.sh" "$root/handouts/figures/draw.py" "$@"
