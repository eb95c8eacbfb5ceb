#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Install the distribution's packages that the lab needs and that are missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"
# shellcheck source=SCRIPTDIR/packages.sh
. "$here/packages.sh"

case ${1:-} in
-h | --help)
	cat <<-END
		usage: scripts/setup.sh [GROUP...]
		  Installs what is missing of the groups (default: core); "all" is every group.
		  Groups: $(package_groups | xargs), listed in scripts/packages.txt.
		  Silent when nothing is missing. Uses sudo unless run by root.
	END
	exit 0
	;;
esac

groups=("${@:-core}")
[ "${groups[*]}" != all ] || mapfile -t groups < <(package_groups)
for group in "${groups[@]}"; do
	# An elective without packages has no group.
	package_groups | grep -qxF -- "$group" || [ -f "$here/../electives/$group/exercise.toml" ] ||
		die "there is no package group $group" "choose one of $(package_groups | xargs) or all"
done

known() { apt-cache show --no-all-versions -- "$1" >/dev/null 2>&1; }

# Set packages: for each entry of missing, the first alternative that apt knows. Return 1 if apt
# knows none of the alternatives of an entry.
choose() {
	local item name names found status=0
	packages=()
	for item in "${missing[@]}"; do
		IFS='|' read -ra names <<<"$item"
		found=
		for name in "${names[@]}"; do
			if have apt-cache && known "$name"; then
				found=$name
				break
			fi
		done
		[ -n "$found" ] || status=1
		packages+=("${found:-${names[0]}}")
	done
	return "$status"
}

# Print the reason why nothing can be installed, and the command that would install it.
give_up() {
	die "$1 (missing for ${groups[*]})" \
		"run sudo apt-get update && sudo apt-get install --no-install-recommends ${packages[*]}"
}

apt() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
		apt-get -q -y -o DPkg::Lock::Timeout=600 "$@"
}

# Repeat the update while the lists are locked, because apt-get itself does not wait for their lock.
update_lists() {
	local try
	for ((try = 0; try < 60; try++)); do
		run_step "apt-get update" "$log" 0 . apt update && return 0
		grep -q 'Could not get lock' "$log" || break
		[ "$try" -gt 0 ] || say "waiting for another apt-get"
		sleep 5
	done
	log_tail "$log"
	return 1
}

install_packages() {
	local count megabytes
	# apt-get prints a line 'URL' FILE BYTES HASH for each package.
	read -r count megabytes < <(LC_ALL=C apt-get --print-uris -qq install \
		--no-install-recommends "${packages[@]}" 2>/dev/null |
		awk '{ bytes += $3 } END { print NR, int(bytes / 1e6 + 1) }')
	run_step "apt-get install (${#packages[@]} packages, $count with what they need, $megabytes MB)" "$log" \
		$((3 * count)) '^(Get:|Unpacking |Setting up )' \
		apt install --no-install-recommends "${packages[@]}"
}

# Use a function, so that bash has read all of this file before the first step begins.
main() {
	mapfile -t missing < <(missing_packages "${groups[@]}")
	[ ${#missing[@]} -gt 0 ] || exit 0

	make_cache
	lock 8 setup "it installs packages"
	mapfile -t missing < <(missing_packages "${groups[@]}")
	[ ${#missing[@]} -gt 0 ] || exit 0

	all_known=1
	choose || all_known=0
	if ! have apt-get || ! have dpkg-query; then
		give_up "this is not a Debian or Ubuntu system (no apt-get)"
	fi
	as_root=()
	if [ "$EUID" -ne 0 ]; then
		have sudo || give_up "packages are missing, and there is no sudo"
		if ! sudo -n true 2>/dev/null; then
			if ! { [ -t 0 ] && [ -t 2 ]; }; then
				give_up "packages are missing, and sudo wants a password but there is no terminal"
			fi
			say "missing packages: ${packages[*]}"
			say "apt-get installs them, with sudo:"
			sudo -v || give_up "packages are missing, and sudo did not let us install them"
		fi
		as_root=(sudo -n)
	fi
	say "installing ${packages[*]} (apt-get${as_root[0]:+, with sudo})"

	# Stop apt-get by INT and wait for it: while dpkg runs, apt-get finishes the current work
	# and leaves the package database consistent.
	LAB_STEP_SIGNAL=INT
	LAB_STEP_AS_ROOT=("${as_root[@]}")
	log=$LAB_CACHE/logs/setup.log

	fresh=$(find /var/lib/apt/lists -maxdepth 1 -name '*Packages*' -mtime -3 -print -quit 2>/dev/null || true)
	updated=
	if [ "$all_known" -eq 0 ] || [ -z "$fresh" ]; then
		updated=1
		update_lists || say "apt-get update failed; using the existing lists"
		choose || true
	fi
	for package in "${packages[@]}"; do
		known "$package" ||
			give_up "apt does not know the package $package, which may be in a component that is switched off"
	done
	if ! install_packages; then
		# Outdated lists name files that are no longer in the archive.
		if [ -n "$updated" ] || ! { update_lists && install_packages; }; then
			log_tail "$log"
			give_up "apt-get install failed"
		fi
	fi
	mapfile -t missing < <(missing_packages "${groups[@]}")
	[ ${#missing[@]} -eq 0 ] || die "still missing after apt-get install: ${missing[*]}" "install them by hand"
}

main; exit
