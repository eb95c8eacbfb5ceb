# shellcheck shell=bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Find the kernel source that the lab uses. Source this file after lib.sh; the results are in the
# variables source, version, identity and number.
# shellcheck disable=SC2034 # used by the scripts that source this file

# Set source (tree or tarball), version (a label, x.y.z) and identity.
find_source() {
	local candidate package
	if [ -n "${KSRC:-}" ]; then
		source=$(realpath -e -- "$KSRC" 2>/dev/null) || die "KSRC=$KSRC does not exist" "set KSRC to a kernel tree or tarball"
		if [ -d "$source" ]; then
			[ -f "$source/arch/um/Makefile" ] ||
				die "KSRC=$KSRC has no arch/um" "set KSRC to a kernel source tree"
			version=$(awk -F' *= *' '
				$1 == "VERSION" { v = $2 } $1 == "PATCHLEVEL" { p = $2 }
				$1 == "SUBLEVEL" { s = $2 } $1 == "EXTRAVERSION" { e = $2; exit }
				END { print v "." p "." s e }' "$source/Makefile")
			identity="$source $(stat -c %Y -- "$source/Makefile")"
			if [ -e "$source/.git" ] && have git; then
				identity+=" $(git -C "$source" rev-parse HEAD 2>/dev/null || true)"
			fi
		else
			version=${source##*/}
			version=${version%.tar*}
			version=${version##*-}
			identity=$(stat -c '%n %s %Y' -- "$source")
		fi
	else
		source=
		for candidate in /usr/src/linux-source-*.tar.* /usr/src/linux-source-*/linux-source-*.tar.*; do
			[ -f "$candidate" ] || continue
			if [ -z "$source" ] || [ "$(printf '%s\n%s\n' "${source##*/}" "${candidate##*/}" |
				sort -V | tail -n 1)" != "${source##*/}" ]; then
				source=$candidate
			fi
		done
		[ -n "$source" ] || return 1
		package=${source##*/}
		package=${package%.tar*}
		version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null || true)
		identity="$package $version $(stat -L -c %s -- "$source")"
		version=${version:-${package#linux-source-}}
		version=${version%%-*}
	fi
	[[ $version =~ ^([0-9]+)\.([0-9]+) ]] ||
		die "the name of $source has no kernel version" "name it like linux-6.12.tar.xz"
	number=$((BASH_REMATCH[1] * 1000 + BASH_REMATCH[2]))
	((number >= 6001)) || die "$source is Linux $version" "set KSRC to Linux 6.1 or later"
}
