#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Grade a class: set up what is missing, then let grader/class_door.py do it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case " $* " in
*" --help "* | *" -h "*) ;;
*" --one "*) "$root/scripts/setup.sh" core qemu sandbox ;;
*) "$root/scripts/setup.sh" core qemu sandbox class ;;
esac
exec "$root/scripts/python.sh" "$root/scripts/module.py" grader.class_door "$@"
