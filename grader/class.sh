#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Grade a class: set up what is missing, then let grader/class_command.py do it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
groups=(core qemu sandbox)
[[ " $* " == *" --one "* ]] || groups+=(class)
# The packages of an elective are a setup group with the same name.
elective=
for word; do
	case $elective:$word in
	next:*) elective=$word ;;
	:--elective) elective=next ;;
	:--elective=*) elective=${word#*=} ;;
	esac
done
[ ! -f "$root/electives/$elective/exercise.toml" ] || groups+=("$elective")
case " $* " in
*" --help "* | *" -h "*) ;;
*) "$root/scripts/setup.sh" "${groups[@]}" ;;
esac
exec "$root/scripts/python.sh" "$root/scripts/module.py" grader.class_command "$@"
