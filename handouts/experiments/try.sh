#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# try.sh NAME [--against OTHER] [OPTION...]: make a variant of a stage in build/experiments/
# by the patch NAME.patch, and compare the stage with it; with --against OTHER.patch is
# applied to both. Further options go to grader/compare.sh.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
made=${LAB_BUILD:-build}/experiments

# variant NAME PATCH...: NAME in $made, the stage with the patches applied.
variant() {
	local name=$1 patch said
	shift
	rm -rf "${made:?}/$name"
	mkdir -p "$made"
	cp -r "$stage" "$made/$name"
	for patch in "$@"; do
		if ! said=$(cd "$made/$name" && busybox patch -p1 -i "$here/$patch.patch" 2>&1); then
			echo "try.sh: $stage is not what $patch.patch was made for: $said" >&2
			exit 2
		fi
	done
}

# known NAME: there is such a patch, or the names of those there are are said.
known() {
	local names
	[ -f "$here/$1.patch" ] && return
	names=$(cd "$here" && echo *.patch)
	echo "try.sh: say which: ${names//.patch/}" >&2
	exit 2
}

name=${1:-}
known "$name"
shift
stage=$(echo stages/"${name%%-*}"-*)
before=$stage
patches=("$name")
if [ "${1:-}" = --against ]; then
	known "${2:-}"
	patches=("$2" "$name")
	variant "$2" "$2"
	before=$made/$2
	shift 2
fi
variant "$name" "${patches[@]}"
exec grader/compare.sh "$before" "$made/$name" "$@"
