#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Unpack the distribution's own kernel image and the headers of the same build
# into the cache, and print their directory there:
#   vmlinuz    the image
#   config     its configuration
#   build      for building out-of-tree modules: make -C build M=DIR modules
#   info.json  the packages it was made from
# Install nothing, because an image package would change the boot menu.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"

usage() {
	cat <<'END'
usage: scripts/distro-kernel.sh [--print] [--update]
  Prints the directory of the distribution's kernel, after fetching it if there
  is none. A kernel that is there is kept, so that figures stay comparable.
  --print   never fetch: status 1 if no kernel is in the cache
  --update  fetch the kernel that the distribution offers now, and use that
END
}

print='' update=''
for arg; do
	case $arg in
	--print) print=1 ;;
	--update) update=1 ;;
	-h | --help)
		usage
		exit 0
		;;
	*) die "unknown argument $arg" "see --help" ;;
	esac
done

complete() {
	[[ -s $1/vmlinuz && -f $1/info.json && -f $1/.complete && -f $1/build/Makefile &&
		-f $1/build/Module.symvers && -f $1/build/scripts/Makefile.build ]]
}

# Set entry to the cache entry that was fetched last.
find_entry() {
	local candidate
	for candidate in "$LAB_CACHE"/distro-*/; do
		candidate=${candidate%/}
		complete "$candidate" || continue
		[ -n "$entry" ] && [ ! "$candidate/.complete" -nt "$entry/.complete" ] || entry=$candidate
	done
	[ -n "$entry" ]
}

# depends PACKAGE[=VERSION]: print the package's dependencies, one "NAME[=VERSION]" a line; the
# version only if exactly one satisfies the dependency.
depends() {
	LC_ALL=C apt-cache show --no-all-versions -- "$1" 2>/dev/null |
		sed -n 's/^Depends: //p' | tr ',' '\n' |
		sed -E 's/^ +//; s/ *\|.*//; s/:any//; s/ \(= ([^)]*)\)/=\1/; s/ \(.*//'
}

# Set image, release and wanted (the image and the headers, with versions).
choose_packages() {
	local meta headers binary
	for meta in linux-image-cloud-amd64 linux-image-virtual linux-image-amd64 linux-image-generic; do
		image=$(depends "$meta" | grep -m 1 -E '^linux-image-(unsigned-)?[0-9]' || true)
		[ -z "$image" ] || break
	done
	[ -n "$image" ] ||
		die "apt knows no kernel image package" "run apt-get update as root, or choose machine=uml"
	[[ $image == *=* ]] || image+=$(LC_ALL=C apt-cache show --no-all-versions -- "$image" |
		sed -n 's/^Version: /=/p')
	release=${image%%=*}
	release=${release#linux-image-}
	release=${release#unsigned-}
	version=${image#*=}
	headers=linux-headers-$release=$version
	# From Debian 14 on, the image is in a separate package, on which the named package depends.
	binary=$(depends "$image" | grep -m 1 '^linux-binary-' || true)
	mapfile -t wanted < <(
		printf '%s\n' "${binary:-$image}" "$headers"
		depends "$headers" | grep -E '^linux-(.*headers|kbuild)-' || true
	)
}

download() {
	cd -- "$1"
	# As root, apt would warn that its own user cannot write here.
	LC_ALL=C apt-get -q -o APT::Sandbox::User=root download "${wanted[@]}"
}

unpack() {
	local deb
	for deb in "$1"/*.deb; do
		case ${deb##*/} in
		linux-image-* | linux-binary-*) dpkg-deb --fsys-tarfile "$deb" |
			tar -x -v -C "$2" --transform 's,.*/,,' --no-anchored --wildcards 'vmlinuz*' ;;
		*) dpkg-deb --fsys-tarfile "$deb" |
			tar -x -v -C "$2" --no-same-owner --wildcards --exclude='./usr/share/*' \
				--exclude='*/include/dt-bindings' --exclude='./lib/*' ;;
		esac
	done
}

# The headers refer to each other by absolute paths: change these to paths in the cache entry.
relocate() {
	local root=$1 final=$2 link target file
	while IFS= read -r link; do
		target=$(readlink -- "$link")
		ln -sfn -- "$final$target" "$link"
	done < <(find "$root/usr" -type l -lname '/usr/*')
	for file in "$root"/usr/src/*/Makefile; do
		[ -f "$file" ] || continue
		sed -i -E "s#(^|[ =(])/usr/(src|lib)/#\1$final/usr/\2/#g" "$file"
	done
}

fetch() {
	local name=distro-$release tmp log final cc
	final=$LAB_CACHE/$name tmp=$LAB_CACHE/$name.tmp.$$ log=$LAB_CACHE/logs/$name.log
	case $LAB_CACHE in
	*[[:space:]:#]*) die "modules cannot be built under $LAB_CACHE (space, colon or # in the path)" "set XDG_CACHE_HOME" ;;
	esac
	if complete "$final" && [ "$(cat -- "$final/.complete")" = "$image" ]; then
		touch -- "$final/.complete"
		entry=$final
		return
	fi
	rm -rf -- "$LAB_CACHE"/distro-*.tmp.*
	LAB_SCRATCH+=("$tmp")
	mkdir -- "$tmp" "$tmp/deb" "$tmp/entry"
	run_step "distribution kernel $release: downloading" "$log" 0 . download "$tmp/deb" ||
		failed "$log" "cannot download ${wanted[*]}: no network, or an old package list" "run apt-get update as root"
	run_step "distribution kernel $release: unpacking" "$log" 30000 . unpack "$tmp/deb" "$tmp/entry" ||
		failed "$log" "cannot unpack $image" "run make doctor"
	[ -e "$tmp/entry/vmlinuz" ] || mv -- "$tmp/entry/vmlinuz-$release" "$tmp/entry/vmlinuz"
	chmod 644 "$tmp/entry/vmlinuz"
	relocate "$tmp/entry" "$final"
	ln -s "usr/src/linux-headers-$release" "$tmp/entry/build"
	cp -- "$tmp/entry/build/.config" "$tmp/entry/config" ||
		die "linux-headers-$release has no configuration" "choose machine=uml"
	cc=$(sed -n -E 's/^CC *=.*[ )]([^ )]*gcc[^ )]*)$/\1/p' "$tmp/entry/build/.kernelvariables" 2>/dev/null || true)
	cc=${cc:-gcc}
	cat >"$tmp/entry/info.json" <<-END
		{
		  "flavour": "distro",
		  "kernel_release": "$release",
		  "source": "${image/=/ }",
		  "cc": "$cc",
		  "vmlinuz_sha256": "$(sha256sum <"$tmp/entry/vmlinuz" | cut -c1-64)"
		}
	END
	printf '%s\n' "$image" >"$tmp/entry/.complete"
	[ ! -e "$final" ] || mv -- "$final" "$tmp/old"
	mv -T -- "$tmp/entry" "$final"
	# Check the entry only now, because its files refer to each other by their final paths.
	if ! complete "$final"; then
		rm -rf -- "$final"
		die "${wanted[*]} do not make a kernel to build modules for" "choose machine=uml"
	fi
	rm -rf -- "$tmp"
	entry=$final
}

entry=
if [ -n "$update" ] || ! find_entry; then
	[ -z "$print" ] || exit 1
	[ "$(uname -m)" = x86_64 ] ||
		die "machine qemu runs an x86-64 kernel, this is $(uname -m)" "use an x86-64 computer"
	{ have apt-get && have dpkg-deb; } ||
		die "machine qemu takes Debian's or Ubuntu's kernel, and there is no apt-get here" "choose machine=uml"
	make_cache
	lock 9 distro "it fetches the distribution's kernel"
	entry=
	if [ -n "$update" ] || ! find_entry; then
		choose_packages
		fetch
	fi
fi
printf '%s\n' "$entry"
