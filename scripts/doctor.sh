#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Report what this computer can and cannot do for the lab, with advice for each problem. Change
# nothing. Return status 1 if the default machine (uml) cannot work here.
set -euo pipefail

# Print why the lab kernel cannot run on this computer at all, and what to do. Run this before
# reading lib.sh, which needs a newer bash than macOS has.
unsuitable() {
	local codespaces="or open the repository in GitHub Codespaces, which .devcontainer/ sets up" machine
	machine=$(uname -m)
	case $(uname -s)-$(uname -r) in
	MINGW* | MSYS* | CYGWIN*)
		echo "Windows cannot run the lab kernel; install WSL 2 (wsl --install -d Debian) and clone the repository there, $codespaces"
		;;
	Linux-*-Microsoft)
		echo "WSL 1 cannot run the lab kernel; convert it to WSL 2 (wsl --list, then wsl --set-version NAME 2, in PowerShell), $codespaces"
		;;
	Linux-*)
		[ "$machine" = x86_64 ] ||
			echo "Linux on $machine cannot run the lab kernel, which is x86-64 code; use an x86-64 computer, $codespaces"
		;;
	Darwin-*)
		if [ "$machine" = x86_64 ]; then
			echo "macOS cannot run the lab kernel; use a virtual machine with Debian for x86-64, $codespaces"
		else
			echo "macOS on $machine cannot run the lab kernel, which is x86-64 code; use an x86-64 computer, $codespaces"
		fi
		;;
	*) echo "$(uname -s) cannot run the lab kernel; use Debian or Ubuntu on an x86-64 computer, $codespaces" ;;
	esac
}

reason=$(unsuitable)
if [ -n "$reason" ] && [ $# -eq 0 ]; then
	echo "!!  $reason"
	exit 1
fi

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"
# shellcheck source=SCRIPTDIR/packages.sh
. "$here/packages.sh"

case ${1:-} in
'') ;;
-h | --help)
	echo "usage: scripts/doctor.sh"
	echo "  ok: works   --: missing, but the default machine does not need it   !!: must be fixed"
	exit 0
	;;
*) die "unknown argument $1" "see --help" ;;
esac

broken=0
report() { printf '%s  %-18s %s\n' "$1" "$2" "$3"; }
ok() { report ok "$@"; }
missing() { report -- "$@"; }
bad() {
	report '!!' "$1" "$2; $3"
	broken=1
}

# unsuitable() has rejected all other architectures.
check_architecture() {
	local wsl=
	[[ $(uname -r) != *-microsoft-* ]] || wsl=" in WSL 2"
	ok architecture "x86-64 Linux$wsl, $(nproc) CPU(s)"
}

# Test ptrace, because a UML kernel traces the processes of its guest.
check_ptrace() {
	local scope=none result
	[ ! -r /proc/sys/kernel/yama/ptrace_scope ] || scope=$(cat /proc/sys/kernel/yama/ptrace_scope)
	if ! have python3; then
		missing ptrace "not tried: no python3"
		return
	fi
	result=$(python3 -I -S -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("ok" if libc.ptrace(0, 0, None, None) == 0 else os.strerror(ctypes.get_errno()))
' 2>&1 | tail -n 1) || true
	case $result in
	ok) ok ptrace "allowed (yama scope: $scope)" ;;
	*)
		if [[ $scope == [23] ]]; then
			bad ptrace "$result" "run sudo sysctl kernel.yama.ptrace_scope=1"
		else
			bad ptrace "$result" "start a container with --cap-add=SYS_PTRACE or --security-opt seccomp=unconfined"
		fi
		;;
	esac
}

# Test the folder for the guest's memory, because UML maps this unlinked file as executable.
check_memory_file() {
	local dir=${TMPDIR:-/dev/shm} free result
	[ -n "${TMPDIR:-}" ] || [ -d /dev/shm ] || dir=/tmp
	if ! [ -d "$dir" ] || ! [ -w "$dir" ]; then
		bad "guest memory" "cannot write to $dir" "set TMPDIR to a directory that you can write"
		return
	fi
	free=$(free_space "$dir")
	result=$(have python3 && python3 -I -S -c '
import mmap, sys, tempfile
with tempfile.TemporaryFile(dir=sys.argv[1]) as file:
    file.truncate(4096)
    try:
        mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        print("ok")
    except OSError as error:
        print(error.strerror)
' "$dir" 2>&1 | tail -n 1) || result="not tried"
	if [ "$result" != ok ] && [ "$result" != "not tried" ]; then
		bad "guest memory" "$dir does not allow executable mappings ($result)" "set TMPDIR to a directory that does"
	elif [ "$free" -lt 600 ]; then
		bad "guest memory" "$dir has only $free MB free" "free some space, or set TMPDIR to a larger directory"
	else
		ok "guest memory" "$dir, $free MB free, executable mappings: $result"
	fi
}

check_cache() {
	local dir=$LAB_CACHE free
	while [ ! -d "$dir" ]; do
		dir=$(dirname -- "$dir")
	done
	free=$(free_space "$dir")
	case $LAB_CACHE in
	*[[:space:]:#]*) bad cache "$LAB_CACHE has a space, colon or # in it, which kernel builds refuse" "set XDG_CACHE_HOME" && return ;;
	esac
	if [ ! -w "$dir" ]; then
		bad cache "cannot write to $dir" "set XDG_CACHE_HOME to a directory that you can write"
	elif [ "$free" -lt 2000 ]; then
		bad cache "$LAB_CACHE has $free MB free, a first set-up needs 2000" "free some space, or set XDG_CACHE_HOME"
	else
		ok cache "$LAB_CACHE, $free MB free"
	fi
}

check_packages() {
	local group list can_install=
	if have apt-get && { [ "$EUID" -eq 0 ] || have sudo; }; then
		can_install=1
	fi
	while read -r group; do
		list=$(missing_packages "$group" | xargs)
		if [ -z "$list" ]; then
			ok "packages: $group" "all there"
		elif [ -n "$can_install" ]; then
			missing "packages: $group" "missing: $list; run scripts/setup.sh $group"
		elif [ "$group" = core ]; then
			bad "packages: $group" "missing: $list" "run scripts/setup.sh $group, which prints the command for root"
		else
			missing "packages: $group" "missing: $list; run scripts/setup.sh $group, which prints the command for root"
		fi
	done < <(package_groups)
}

check_python() {
	local python venv
	if python=$("$here/python.sh" --which 2>/dev/null); then
		read -r python venv <<<"$python"
		if [ -f "$venv/.complete" ]; then
			ok python "$python, environment in the cache ($(du -sm -- "$venv" | cut -f1) MB)"
		else
			ok python "$python; the environment is made when it is first needed (about 360 MB)"
		fi
	else
		missing python "no Python 3.10 or later with venv; run scripts/setup.sh"
	fi
}

check_lab_kernels() {
	local flavour dir
	for flavour in uml uml-debug; do
		if dir=$("$here/lab-kernel.sh" "$flavour" --print 2>/dev/null); then
			ok "kernel: $flavour" "${dir##*/} ($(du -sm -- "$dir" | cut -f1) MB)"
		else
			missing "kernel: $flavour" "not built yet; built when it is first needed"
		fi
	done
}

# Print the result of the KVM probe since this computer was started: "ok", the reason why KVM does
# not work, or nothing if there was no probe.
kvm_probe() {
	local memory=$LAB_CACHE/kvm.json reason
	grep -qF -- "$(cat /proc/sys/kernel/random/boot_id)" "$memory" 2>/dev/null || return 0
	reason=$(sed -n 's/.*"refused": "\(.*\)"}$/\1/p' "$memory")
	printf '%s' "${reason:-ok}"
}

check_qemu() {
	local proved
	if have qemu-system-x86_64; then
		ok qemu "$(qemu-system-x86_64 --version | sed -n '1s/^QEMU emulator version \([^ ]*\).*/\1/p')"
	else
		missing qemu "not installed; run scripts/setup.sh qemu"
	fi
	proved=$(kvm_probe)
	if [ ! -e /dev/kvm ]; then
		missing kvm "no /dev/kvm: qemu emulates (exact counts need no KVM)"
	elif ! [ -r /dev/kvm ] || ! [ -w /dev/kvm ]; then
		missing kvm "you cannot open /dev/kvm; run sudo usermod -aG kvm $(id -un), then log in again"
	elif [ "$proved" = ok ]; then
		ok kvm "proved by a probe boot"
	elif [ -n "$proved" ]; then
		missing kvm "$proved: qemu emulates"
	else
		missing kvm "present, not tried yet: only a probe boot can tell, and machine=qemu-kvm makes one"
	fi
}

# Submissions from outside the checkout are built and run in a sandbox; every QEMU runs in one.
check_sandbox() {
	local python said scratch
	if ! python=$("$here/python.sh" --which 2>/dev/null); then
		missing sandbox "not tried: no Python"
		return
	fi
	scratch=$(mktemp -d)
	if said=$(cd "$here/.." && LAB_BUILD=$scratch "${python%% *}" -S -B -m grader.sandbox 2>&1); then
		ok sandbox "bubblewrap: $said"
	else
		missing sandbox "${said##*$'\n'}; without it QEMU is not confined, and trees from outside need --no-sandbox"
	fi
	rm -rf -- "$scratch"
}

# Check the requirements of the host machine, which runs insmod on this computer.
check_host_modules() {
	local release lockdown=none
	release=$(uname -r)
	if [ ! -e /proc/modules ]; then
		missing "machine=host" "the running kernel $release cannot load modules"
		return
	fi
	[ ! -r /sys/kernel/security/lockdown ] ||
		lockdown=$(sed -n 's/.*\[\(.*\)\].*/\1/p' /sys/kernel/security/lockdown)
	if [ ! -f "/lib/modules/$release/build/Makefile" ]; then
		missing "machine=host" "no headers for the running kernel; run sudo apt-get install linux-headers-$release"
	elif [ "${lockdown:-none}" != none ] ||
		[ "$(cat /sys/module/module/parameters/sig_enforce 2>/dev/null)" = Y ]; then
		missing "machine=host" "unsigned modules are refused (Secure Boot lockdown); sign them or turn it off"
	elif [ "$EUID" -ne 0 ] && ! have sudo; then
		missing "machine=host" "loading modules needs root, and there is no sudo"
	else
		ok "machine=host" "kernel $release loads modules, its headers are there"
	fi
}

check_architecture
check_ptrace
check_memory_file
check_cache
check_packages
check_python
check_lab_kernels
check_qemu
check_sandbox
check_host_modules
if [ "$broken" -ne 0 ]; then
	echo "the default machine (uml) cannot work here; follow the lines marked !!"
	exit 1
fi
