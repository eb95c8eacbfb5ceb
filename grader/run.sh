#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Grade the stages: set up what is missing, then let grader/__main__.py do it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Before the first run on the usual machines, set up everything that the run needs at once.
first=1
[ -z "${LAB_MACHINE:-}" ] || first=
for word; do
	case $word in
	-h | --help | --machine* | --tree*) first= ;;
	esac
done
# It then compiles, verifies and measures all stages, in about 160 seconds.
[ -z "$first" ] || "$root/scripts/first-run.sh" 160
"$root/scripts/setup.sh" core
exec "$root/scripts/python.sh" "$root/scripts/module.py" grader "$@"
