#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Translate the handouts with po4a: grader/course/translation.py does it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh" core translations
PYTHONPATH=$root exec "$root/scripts/python.sh" -m grader.course.translation "$@"
