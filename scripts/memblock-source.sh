#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Unpack the files that the elective memblock needs from the lab's kernel source, unless the cache
# has them, and print their directory: mm/memblock.c, tools/testing/memblock and the headers.
#   KSRC=PATH  a kernel tree or tarball, 6.1 or later, instead of the distribution's linux-source
# shellcheck disable=SC2154 # find_source sets source, version, identity
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"
# shellcheck source=SCRIPTDIR/kernel-source.sh
. "$here/kernel-source.sh"

# Increase this number when the same inputs produce a different entry.
layout=1
# Take all headers and all of tools/lib, because the tests of each kernel need different ones.
parts=(mm/memblock.c 'include/linux/*.h' tools/include tools/arch/x86/include 'tools/lib/*.c'
	tools/testing/memblock tools/testing/selftests/kselftest.h)

# Archive the parts of a tree, without the results of earlier builds in it.
of_tree() {
	(
		shopt -s nullglob
		cd -- "$source"
		# shellcheck disable=SC2068 # the patterns are to be expanded
		set -- ${parts[@]}
		tar -c --exclude='*.o' --exclude=tools/testing/memblock/main \
			--exclude=tools/testing/memblock/memblock.c \
			--exclude=tools/testing/memblock/linux/memblock.h \
			--exclude=tools/testing/memblock/asm/asm.h \
			--exclude=tools/testing/memblock/asm/cmpxchg.h -- "$@"
	)
}

of_tarball() {
	tar -x -v -f "$source" -C "$1" --strip-components=1 --no-same-owner --wildcards \
		--no-wildcards-match-slash "${parts[@]/#/*/}"
}

unpack() {
	if [ -d "$source" ]; then
		of_tree | tar -x -v -C "$1" --no-same-owner
	else
		of_tarball "$1"
	fi
}

complete() { [ -f "$1/.complete" ] && [ -f "$1/mm/memblock.c" ]; }

# Remove directories of runs that were killed; the lock ensures that no other run is active.
remove_leftovers() {
	rm -rf -- "$LAB_CACHE/$entry".tmp.*
}

make_entry() {
	local tmp=$LAB_CACHE/$entry.tmp.$$ log=$LAB_CACHE/logs/$entry.log
	need_space 50 "what memblock needs of the kernel source"
	LAB_SCRATCH+=("$tmp")
	mkdir -- "$tmp"
	run_step "memblock of Linux $version: unpacking" "$log" 1900 . unpack "$tmp" ||
		failed "$log" "cannot unpack $source" "set KSRC to another kernel source"
	if ! [ -f "$tmp/tools/testing/memblock/Makefile" ] || ! [ -f "$tmp/mm/memblock.c" ]; then
		die "$source has no tools/testing/memblock" "set KSRC to the source of Linux 6.1 or later"
	fi
	printf '%s\n' "$version" >"$tmp/version"
	: >"$tmp/.complete"
	rm -rf -- "${LAB_CACHE:?}/$entry"
	mv -T -- "$tmp" "$LAB_CACHE/$entry"
}

# Use a function, so that bash has read all of this file before the first step begins.
main() {
	if ! find_source; then
		"$here/setup.sh" core
		find_source || die "no kernel source in /usr/src" "install linux-source, or set KSRC=/path/to/linux"
	fi
	if [ -d "$source" ]; then
		[ -f "$source/mm/memblock.c" ] || die "KSRC=$KSRC has no mm/memblock.c" "set KSRC to a kernel source"
		# Identify a tree by the content of these parts, because one of them may change
		# alone.
		identity=$(of_tree | sha256sum)
	fi
	entry=memblock-$version-$(printf '%s\n' "$layout" "$identity" "${parts[@]}" | sha256sum | cut -c1-12)
	if ! complete "$LAB_CACHE/$entry"; then
		make_cache
		lock 9 "$entry" "it unpacks $entry"
		if ! complete "$LAB_CACHE/$entry"; then
			remove_leftovers
			make_entry
		fi
	fi
	printf '%s\n' "$LAB_CACHE/$entry"
}

main
exit
