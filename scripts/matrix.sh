#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Verify the stages on every kernel that is available here, and print one table of the results:
# user-mode Linux built from each source that apt offers and each that KSRC=a:b names, and the
# distribution's own kernel in QEMU. Arguments are passed to grader/run.sh, for example --stage 1-5.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"

out=${LAB_BUILD:-$here/../build}/matrix
IFS=: read -ra sources <<<"${KSRC:-}"
unset KSRC
"$here/setup.sh" core qemu
make_cache

# Print the path of a linux-source package's tarball; get it from apt if it is not installed.
tarball() {
	local name=$1 kept=$LAB_CACHE/sources log=$LAB_CACHE/logs/$1.log there work
	for there in "/usr/src/$name".tar.* "/usr/src/$name/$name".tar.* "$kept/$name".tar.*; do
		[ ! -f "$there" ] || { printf '%s\n' "$there"; return; }
	done
	work=$(mktemp -d -- "$LAB_CACHE/$name.tmp.XXXXXX")
	LAB_SCRATCH+=("$work")
	run_step "$name: downloading" "$log" 0 . fetch "$name" "$work" || return 1
	mkdir -p -- "$kept"
	there=$(find "$work" -name "$name.tar.*" -type f -print -quit)
	[ -n "$there" ] || return 1
	mv -- "$there" "$kept/"
	rm -rf -- "$work"
	printf '%s\n' "$kept/${there##*/}"
}

fetch() {
	cd -- "$2"
	LC_ALL=C apt-get -q -o APT::Sandbox::User=root download "$1"
	dpkg-deb -x "$1"_*.deb .
}

# The lab uses the newest installed source by default.
default=$(find /usr/src -maxdepth 2 -name 'linux-source-*.tar.*' -printf '%f\n' | sort -V | tail -n 1)
if have apt-cache; then
	while read -r name; do
		[ "$name" != "${default%.tar*}" ] || continue
		if found=$(tarball "$name"); then
			sources+=("$found")
		else
			say "note: $name cannot be downloaded; continuing without it"
		fi
	done < <(apt-cache search --names-only '^linux-source-[0-9.]+$' | cut -d ' ' -f 1 | sort -V)
fi
rm -rf -- "$out"
mkdir -p -- "$out"
# verify NUMBER NAME COMMAND…: write a report into its folder, or the reason why it is missing.
verify() {
	local folder status=0
	folder=$out/$1
	mkdir -- "$folder"
	printf '%s\n' "$2" >"$folder/name"
	say "== $2"
	shift 2
	"$@" --no-measure --seed 1 --out "$folder/report" >"$folder/out" 2> >(tee "$folder/err" >&2) || status=$?
	[ "$status" -ne 130 ] || exit 130
}

number=1
verify 1 "uml, the distribution's" "$here/../grader/run.sh" --machine uml "$@"
for source in "${sources[@]}"; do
	number=$((number + 1))
	verify "$number" "uml ${source##*/}" env KSRC="$source" "$here/../grader/run.sh" --machine uml "$@"
done
verify $((number + 1)) "qemu, the distribution's" "$here/../grader/run.sh" --machine qemu "$@"
"$here/python.sh" "$here/module.py" grader.tools.matrix "$out"
