#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Sets up everything that a grading run needs, several things at once: the lab kernel is compiled
# while Python's packages and the distribution's kernel are downloaded. Does nothing where a Python
# environment is there: the command that needs something else then sets it up.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"

# The scripts that run at the same time. Each removes what it has begun when it gets TERM; Ctrl-C
# does not reach them, because bash lets background commands ignore it.
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

# The seconds that setting up takes on this computer: a compiler needs 170 for the lab kernel, and
# what is downloaded or unpacked takes 45.
estimate() { echo $((170 / $(nproc) + 45)); }

main() {
	local kernel status=0 log
	! compgen -G "$LAB_CACHE/venv-*/.complete" >/dev/null || exit 0
	say "setting up the lab, once: packages, Python environment, kernels: about $(estimate) s"
	# In one step of apt-get. Where qemu is not to be had, time is measured without it.
	"$here/setup.sh" core qemu || "$here/setup.sh" core
	make_cache
	log=$LAB_CACHE/logs/first-run.log
	: >"$log"
	"$here/lab-kernel.sh" uml >/dev/null </dev/null &
	kernel=$!
	jobs+=("$kernel")
	# If one of these fails, the run does it again where it needs it, and says why it fails.
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

main; exit
