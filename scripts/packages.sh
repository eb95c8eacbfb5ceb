# shellcheck shell=bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Functions that read scripts/packages.txt. Source this file after lib.sh.

package_list=$(dirname "${BASH_SOURCE[0]}")/packages.txt

package_groups() {
	awk '!/^#/ && NF { if (!($1 in seen)) print $1; seen[$1] = 1 }' "$package_list"
}

# probe_satisfied PROBE: return 0 if the probe succeeds, so that the package is not needed.
probe_satisfied() {
	case $1 in
	cmd:*) have "${1#cmd:}" ;;
	file:*) compgen -G "${1#file:}" >/dev/null ;;
	*) return 1 ;;
	esac
}

# missing_packages GROUP...: print missing packages, one "PACKAGE[|ALTERNATIVE]" a line. With KSRC
# set, the distribution's kernel source is not needed.
missing_packages() {
	local wanted installed='' group package probe names=()
	wanted=$(awk -v groups=" $* " '!/^#/ && NF && index(groups, " " $1 " ")' "$package_list")
	if have dpkg-query; then
		while read -r group package probe; do
			IFS='|' read -ra probe <<<"$package"
			names+=("${probe[@]}")
		done <<<"$wanted"
		installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' "${names[@]}" 2>/dev/null || true)"
	fi
	while read -r group package probe; do
		[ -n "$group" ] || continue
		[ "$package" != linux-source ] || [ -z "${KSRC:-}" ] || continue
		package_installed "$package" "$installed" || probe_satisfied "$probe" ||
			printf '%s\n' "$package"
	done <<<"$wanted"
}

package_installed() {
	local name names
	IFS='|' read -ra names <<<"$1"
	for name in "${names[@]}"; do
		[[ $2 != *" installed:$name "* ]] || return 0
	done
	return 1
}
