#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Unpack the kernel's own checks of kernel code from the source that the lab uses, unless the cache
# has them, and print their directory: scripts/checkpatch.pl, scripts/coccinelle.
#   KSRC=PATH  a kernel tree or tarball, 6.1 or later, instead of the distribution's linux-source
# shellcheck disable=SC2154 # find_source sets source and identity
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"
# shellcheck source=SCRIPTDIR/kernel-source.sh
. "$here/kernel-source.sh"

parts=(scripts/checkpatch.pl scripts/spelling.txt scripts/const_structs.checkpatch scripts/coccinelle)

main() {
	local directory tmp
	find_source || die "no kernel source in /usr/src" "install linux-source, or set KSRC=/path/to/linux"
	directory=$LAB_CACHE/kernel-checks-$(printf '%s' "$identity" | sha256sum | cut -c1-12)
	if ! [ -d "$directory" ]; then
		make_cache
		tmp=$(mktemp -d -- "$directory.tmp.XXXXXX")
		LAB_SCRATCH+=("$tmp")
		if [ -d "$source" ]; then
			tar -c -C "$source" -- "${parts[@]}" | tar -x -C "$tmp"
		else
			tar -x -f "$source" -C "$tmp" --strip-components=1 --no-same-owner --wildcards \
				"${parts[@]/#/*/}"
		fi
		mv -T -- "$tmp" "$directory" 2>/dev/null || [ -d "$directory" ] ||
			die "cannot make $directory" "delete it"
	fi
	printf '%s\n' "$directory"
}

main
exit
