#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Test which metrics detect one percent: see grader/sensitivity.py.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" core
exec "$root/scripts/python.sh" "$root/scripts/module.py" grader.sensitivity "$@"
