#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Set up everything that a grading run needs, several parts at the same time: the lab kernel is
# compiled while Python's packages and the distribution's kernel are downloaded. Do nothing if a
# Python environment exists: a command that needs anything else then sets it up.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"

# The scripts that run at the same time. On TERM, each removes its unfinished files; Ctrl-C does not
# reach them, because bash lets background commands ignore it.
jobs=()
stop_jobs() {
	local job
	trap '' INT TERM HUP
	for job in "${jobs[@]}"; do
		kill -TERM "$job" 2>/dev/null || true
	done
	for job in "${jobs[@]}"; do
		wait "$job" 2>/dev/null || true
	done
	lab_exit
}
trap stop_jobs EXIT

# minutes SECONDS: print the number of minutes, from this number of seconds to twice as many: a
# virtual machine can be half as fast as another one, and as itself an hour before.
minutes() { echo "$((($1 + 59) / 60)) to $((($1 * 2 + 59) / 60)) minutes"; }

# The argument, if given, is the number of seconds that the command needs afterwards, on two CPUs.
main() {
	local kernel status=0 log setup total
	! compgen -G "$LAB_CACHE/venv-*/.complete" >/dev/null || exit 0
	# Compiling the lab kernel takes 170 seconds on one CPU, downloading and unpacking 45.
	setup=$((170 / $(nproc) + 45))
	total=${1:+$((setup + $1 * 2 / $(nproc)))}
	say "setting up the lab, once: packages, Python environment, kernels: $(minutes "$setup")${total:+; the first report is there after $(minutes "$total")}"
	# Install both groups with one apt-get. Without qemu, time is measured instead of
	# instructions.
	"$here/setup.sh" core qemu || "$here/setup.sh" core
	make_cache
	log=$LAB_CACHE/logs/first-run.log
	: >"$log"
	"$here/lab-kernel.sh" uml >/dev/null </dev/null &
	kernel=$!
	jobs+=("$kernel")
	# If one of these fails, the grading run repeats it when needed, and reports why it fails.
	"$here/python.sh" -c pass >>"$log" 2>&1 </dev/null &
	jobs+=($!)
	"$here/distro-kernel.sh" >>"$log" 2>&1 </dev/null &
	jobs+=($!)
	wait "$kernel" || status=$?
	[ "$status" -eq 0 ] || exit "$status"
	! kill -0 "${jobs[@]:1}" 2>/dev/null ||
		say "waiting for Python's packages and the distribution's kernel"
	wait "${jobs[@]:1}" || true
	jobs=()
}

main "$@"; exit
