#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# try.sh NAME [OPTION...]: make a variant of a stage in build/experiments/ by the
# patch NAME.patch, and compare the stage with it; options go to grader/compare.sh.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..

patch=$here/${1:-}.patch
if [ ! -f "$patch" ]; then
	names=$(cd "$here" && echo *.patch)
	echo "try.sh: say which: ${names//.patch/}" >&2
	exit 2
fi
number=${1%%-*}
stage=$(cd "$root" && echo stages/"$number"-*)
variant=build/experiments/$1
shift

cd "$root"
rm -rf "$variant"
mkdir -p build/experiments
cp -r "$stage" "$variant"
if ! said=$(cd "$variant" && busybox patch -p1 -i "$patch" 2>&1); then
	echo "try.sh: $stage is not what ${patch##*/} was made for: $said" >&2
	exit 2
fi
exec grader/compare.sh "$stage" "$variant" "$@"
