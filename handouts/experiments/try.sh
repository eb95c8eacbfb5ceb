#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# try.sh NAME [--against OTHER] [OPTION...]: apply NAME.patch to a copy of a stage in
# build/experiments/, and compare the stage with the copy. With --against, apply OTHER.patch to
# both. Pass further options to grader/compare.sh.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
made=${LAB_BUILD:-build}/experiments

# variant NAME PATCH...: copy the stage to $made/NAME, and apply the patches.
variant() {
	local name=$1 patch said
	shift
	rm -rf "${made:?}/$name"
	mkdir -p "$made"
	cp -r "$stage" "$made/$name"
	for patch in "$@"; do
		if ! said=$(cd "$made/$name" && busybox patch -p1 -i "$here/$patch.patch" 2>&1); then
			echo "try.sh: $patch.patch does not fit $stage ($said); run git checkout stages" >&2
			exit 2
		fi
	done
}

# known NAME: return if the patch exists; otherwise print the names of the patches and exit.
known() {
	local names
	[ -f "$here/$1.patch" ] && return
	names=$(cd "$here" && echo *.patch)
	echo "try.sh: there is no patch $1; choose one of ${names//.patch/}" >&2
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
