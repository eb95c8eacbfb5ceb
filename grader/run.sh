#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Grade the stages: set up what is missing, then let grader/__main__.py do it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" core
exec "$root/scripts/python.sh" "$root/scripts/module.py" grader "$@"
