#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Build a lab kernel (User-mode Linux) unless the cache has it, and print its
# directory in the cache:
#   linux      the executable
#   build/     for building out-of-tree modules: make -C build M=DIR ARCH=um modules
#   config     the kernel's configuration
#   info.json  the source, compiler and options it was made from
# With --tree, build/ is the complete tree with all objects, so that a copy with a changed file can
# be built quickly.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"
# shellcheck source=SCRIPTDIR/kernel-source.sh
. "$here/kernel-source.sh"

# Increase this number when the same inputs produce a different entry.
layout=1
wide_registers=$here/kernel/uml-wide-registers.patch

usage() {
	cat <<'END'
usage: scripts/lab-kernel.sh [uml|uml-debug] [--print] [--rebuild] [--tree]
  Prints the directory of the lab kernel, after building it if need be.
  --print    never build: status 1 if the kernel is not in the cache
  --rebuild  build it again
  --tree     with all of the tree that was built, in an entry of its own
  KSRC=PATH  a kernel tree or tarball, 6.1 or later, instead of the
             distribution's linux-source; it is never written to
END
}

flavour=uml print='' rebuild='' tree=''
for arg; do
	case $arg in
	uml | uml-debug) flavour=$arg ;;
	--print) print=1 ;;
	--rebuild) rebuild=1 ;;
	--tree) tree=-tree ;;
	-h | --help)
		usage
		exit 0
		;;
	*) die "unknown argument $arg" "see --help" ;;
	esac
done

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
	die "the UML lab kernel needs x86-64 Linux, this is $(uname -s) on $(uname -m)" "choose machine=qemu"

# Print the requested options, one a line. A line "6.12+ CONFIG_X=y" applies from that version on;
# of two lines for one option, the later one applies.
fragment() {
	local files=("$here/kernel/uml.config")
	[ "$flavour" = uml ] || files+=("$here/kernel/$flavour.config")
	awk -v number="$number" '
		/^[0-9]+\.[0-9]+\+ / {
			split($1, v, /[.+]/)
			if (v[1] * 1000 + v[2] > number) next
			sub(/^[^ ]+ /, "")
		}
		/^CONFIG_/ { name = $0; sub(/=.*/, "", name) }
		/^# CONFIG_.* is not set$/ { name = $2 }
		name != "" {
			if (!(name in line)) order[++count] = name
			line[name] = $0; name = ""
		}
		END { for (i = 1; i <= count; i++) print line[order[i]] }' "${files[@]}"
}

# Print the sizes of the files that every entry needs, and the number of all files.
entry_facts() {
	(
		cd -- "$1" &&
			stat -c '%n %s' linux config info.json build/Makefile build/.config \
				build/Module.symvers build/include/generated/autoconf.h \
				build/include/config/auto.conf build/scripts/mod/modpost \
				build/scripts/basic/fixdep &&
			find build -type f | wc -l
	) 2>/dev/null
}

entry_complete() {
	[ -x "$1/linux" ] && [ -f "$1/.complete" ] &&
		[ "$(entry_facts "$1")" = "$(cat -- "$1/.complete")" ]
}

# Compilers of a killed run may still write to the directory for a moment.
remove_dead() {
	local i
	for ((i = 0; i < 50; i++)); do
		rm -rf -- "$1" 2>/dev/null && return 0
		sleep 0.2
	done
	say "cannot remove $1, which a killed run left behind"
}

# Remove directories of runs that were killed: their locks are free.
remove_leftovers() {
	local dir name
	for dir in "$LAB_CACHE"/uml-*.tmp.*; do
		[ -d "$dir" ] || continue
		name=${dir##*/}
		name=${name%.tmp.*}
		if [ "$name" = "$entry" ]; then
			remove_dead "$dir"
		else
			(flock -n 7 && remove_dead "$dir") 7>>"$LAB_CACHE/locks/$name" || true
		fi
	done
}

unpack() {
	if [ -d "$source" ]; then
		tar -C "$source" -c -X "$here/kernel/unpack.exclude" \
			--exclude=include/config --exclude=include/generated \
			--exclude=.config --exclude='.tmp_*' \
			--anchored --exclude=./vmlinux --exclude='./vmlinux.*' . |
			tar -x -v -C "$1" --no-same-owner
	else
		tar -x -v -f "$source" -C "$1" --strip-components=1 --no-same-owner \
			-X "$here/kernel/unpack.exclude"
	fi
}

# Fix the bug that keeps User-mode Linux from running on some processors; later kernels have the
# fix. The patch describes the bug.
mend() {
	grep -q 'HOST_FP_SIZE, 2696' "$1/arch/x86/um/user-offsets.c" || return 0
	# Keep git from using a repository that contains the cache.
	GIT_CEILING_DIRECTORIES=$(dirname -- "$1") git -C "$1" apply "$wide_registers"
}

# Run the kernel's make without variables from the caller's make or environment.
kmake() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u O -u M -u V -u C -u W \
		-u KBUILD_OUTPUT -u KBUILD_EXTMOD -u CROSS_COMPILE -u LLVM -u CC -u LD \
		-u CFLAGS -u CPPFLAGS -u LDFLAGS -u KCFLAGS -u KAFLAGS -u SUBARCH \
		LC_ALL=C KBUILD_BUILD_USER=lab KBUILD_BUILD_HOST=fibdrv \
		make -C "$1" ARCH=um "${@:2}"
}

# Print the compiler flags of the debug kernel. With its code model, GCC 14 and later put objects
# above 64 KB into .lbss, after the end of .bss. kmemleak does not search for pointers there, and
# would report all memory that the kernel's serial lines own.
compiler_flags() {
	[ "$flavour" = uml ] || echo -mlarge-data-threshold=2147483647
}

configure() {
	kmake "$1" KCONFIG_ALLCONFIG="$2" allnoconfig
}

# Check that every option of the fragment is in the final configuration.
check_config() {
	local line lost=()
	while IFS= read -r line; do
		case $line in
		'#'*)
			line=${line#\# }
			! grep -q "^${line%% *}=" "$2" || lost+=("${line%% *} (wanted: not set)")
			;;
		*) grep -qxF -- "$line" "$2" || lost+=("$line") ;;
		esac
	done <"$1"
	[ ${#lost[@]} -eq 0 ] && return 0
	say "these options of the lab kernel's fragment are unknown to Linux $version:"
	printf '    %s\n' "${lost[@]}" >&2
	die "the configuration of $flavour lost ${#lost[@]} option(s)" "correct scripts/kernel/*.config"
}

# Copy the parts of the built tree $1 that modules need to $2.
prune() (
	mkdir -p -- "$2"
	cd -- "$1"
	shopt -s nullglob
	keep=(Makefile .config Module.symvers include scripts
		Kbuil[d] arch/um/Makefile* arch/um/includ[e] arch/um/script[s]
		arch/x86/Makefile* arch/x86/includ[e] arch/x86/um/as[m] arch/x86/um/share[d]
		tools/includ[e] tools/script[s])
	tar -c --exclude='*.o' --exclude='*.a' --exclude='.*.cmd' --exclude=scripts/kconfig \
		--exclude=scripts/dtc --exclude=scripts/gdb --exclude=scripts/coccinelle \
		--exclude=include/dt-bindings "${keep[@]}" | tar -x -C "$2"
)

# The pattern of the line that kbuild prints for each file.
LINE='^  [A-Z]'

# Print the expected number of such lines: as many as in the latest complete log; without a log, the
# number for Linux 6.1 or 6.12 (estimated for the debug kernel 6.12).
build_lines() {
	local log
	for log in "$LAB_CACHE/logs/$flavour-$version-"*.log "$LAB_CACHE/logs/$flavour-tree-$version-"*.log; do
		if [ -f "$log" ] && grep -q '^  LINK linux' "$log"; then
			grep -cE "$LINE" "$log"
			return
		fi
	done
	case $flavour-$((number >= 6012)) in
	uml-0) echo 878 ;;
	uml-1) echo 936 ;;
	*-0) echo 934 ;;
	*) echo 995 ;;
	esac
}

build_entry() {
	local tmp=$LAB_CACHE/$entry.tmp.$$ log=$LAB_CACHE/logs/$entry.log begun=$SECONDS
	local what="lab kernel $flavour $version" lines
	lines=$(build_lines)
	case $LAB_CACHE in
	*[[:space:]:#]*) die "the kernel cannot be built under $LAB_CACHE (space, colon or # in the path)" "set XDG_CACHE_HOME" ;;
	esac
	need_space 1200 "the lab kernel's build"

	LAB_SCRATCH+=("$tmp")
	mkdir -- "$tmp" "$tmp/src" "$tmp/entry"
	printf '%s\n' "$options" >"$tmp/fragment"
	run_step "$what: unpacking" "$log" 21500 . unpack "$tmp/src" ||
		failed "$log" "cannot unpack $source" "set KSRC to another kernel source"
	mend "$tmp/src" ||
		die "$wide_registers cannot be applied to $source" "set KSRC to another kernel source"
	run_step "$what: configuring" "$log" 0 . configure "$tmp/src" "$tmp/fragment" ||
		failed "$log" "cannot configure Linux $version" "set KSRC to another kernel source"
	check_config "$tmp/fragment" "$tmp/src/.config"
	LAB_LAST_PART='^  (AR|LD) +vmlinux\.[ao]$' LAB_LAST_PART_NAME=linking
	run_step "$what: compiling" "$log" "$lines" "$LINE" \
		kmake "$tmp/src" KCFLAGS="$(compiler_flags)" -j"$(nproc)" linux modules ||
		failed "$log" "cannot build Linux $version for UML" "run make doctor, or set KSRC to another source"
	LAB_LAST_PART=

	cp -- "$tmp/src/linux" "$tmp/src/.config" "$tmp/entry/"
	mv -- "$tmp/entry/.config" "$tmp/entry/config"
	if [ -n "$tree" ]; then
		mv -- "$tmp/src" "$tmp/entry/build"
	else
		prune "$tmp/src" "$tmp/entry/build"
	fi
	cat >"$tmp/entry/info.json" <<-END
		{
		  "flavour": "$flavour",
		  "kernel_release": "$(cat "$tmp/entry/build/include/config/kernel.release")",
		  "source": "${identity//[\"\\]/}",
		  "compiler": "${compiler//[\"\\]/}",
		  "fragment_sha256": "$(sha256sum <"$tmp/fragment" | cut -c1-64)",
		  "build_seconds": $((SECONDS - begun))
		}
	END
	entry_facts "$tmp/entry" >"$tmp/entry/.complete" || die "the build of $entry left files out" "see $log"
	rm -rf -- "$tmp/src"
	if [ -e "$LAB_CACHE/$entry" ]; then
		mv -- "$LAB_CACHE/$entry" "$tmp/old"
	fi
	mv -T -- "$tmp/entry" "$LAB_CACHE/$entry"
	rm -rf -- "$tmp"
}

# Print error lines first: with parallel compilers, the last lines need not show the cause.
failed() {
	grep -m 5 -E 'error:|No rule to make|cannot |No such file' -- "$1" | sed 's/^/    /' >&2 || true
	log_tail "$1"
	die "$2" "$3"
}

# Use a function, so that bash has read all of this file before a build begins, and an update of the
# checkout during the build has no effect.
main() {
	local hash
	if ! find_source || ! have gcc; then
		[ -z "$print" ] || exit 1
		"$here/setup.sh" core
		find_source || die "no kernel source in /usr/src" "install linux-source, or set KSRC=/path/to/linux"
	fi
	compiler=$(gcc --version | head -n 1)
	options=$(fragment)
	hash=$(printf '%s\n' "$layout $flavour$tree $identity $compiler" "$options$(compiler_flags)" \
		"$(cat -- "$wide_registers")" | sha256sum | cut -c1-12)
	entry=$flavour$tree-$version-$hash

	if [ -n "$print" ]; then
		printf '%s\n' "$LAB_CACHE/$entry"
		entry_complete "$LAB_CACHE/$entry" || exit 1
		exit 0
	fi
	if [ -n "$rebuild" ] || ! entry_complete "$LAB_CACHE/$entry"; then
		make_cache
		lock 9 "$entry" "it builds $entry"
		if [ -n "$rebuild" ] || ! entry_complete "$LAB_CACHE/$entry"; then
			"$here/setup.sh" core
			[ ! -e "$LAB_CACHE/$entry" ] || [ -n "$rebuild" ] ||
				say "the cache entry $entry is damaged: building it again"
			remove_leftovers
			build_entry
		fi
	fi
	printf '%s\n' "$LAB_CACHE/$entry"
}

main; exit
