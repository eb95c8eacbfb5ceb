# shellcheck shell=bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Functions that the scripts share. Source this file in bash after "set -euo pipefail". Standard
# output is only for the scripts' results; messages go to standard error.

LAB_CACHE=${XDG_CACHE_HOME:-${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}/.cache}/fibdrv-lab
export LAB_CACHE

say() { printf '%s\n' "$*" >&2; }

# die PROBLEM ACTION: print an error and exit with 2, because the run could not be done.
die() {
	say "${0##*/}: $1; ${2:?}"
	exit 2
}

have() { command -v "$1" >/dev/null 2>&1; }

# Directories that are removed when the script ends, even if a signal ends it.
LAB_SCRATCH=()
# The process group of the running step, if any; the signal that ends it, and the command that sends
# this signal as root. After TERM the group has 3 s to end, after any other signal 10 minutes.
LAB_STEP=
LAB_STEP_SIGNAL=TERM
LAB_STEP_AS_ROOT=()

lab_stop_step() {
	local group=$LAB_STEP i tenths=30
	[ -n "$group" ] || return 0
	LAB_STEP=
	[ "$LAB_STEP_SIGNAL" = TERM ] || tenths=6000
	"${LAB_STEP_AS_ROOT[@]}" kill "-$LAB_STEP_SIGNAL" -- "-$group" 2>/dev/null || return 0
	for ((i = 0; i < tenths; i++)); do
		"${LAB_STEP_AS_ROOT[@]}" kill -0 -- "-$group" 2>/dev/null || return 0
		sleep 0.1
	done
	"${LAB_STEP_AS_ROOT[@]}" kill -KILL -- "-$group" 2>/dev/null || true
}

lab_exit() {
	local dir
	trap '' INT TERM HUP
	lab_stop_step
	for dir in "${LAB_SCRATCH[@]}"; do
		rm -rf -- "$dir"
	done
}

trap lab_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# make_cache: make the cache directory.
make_cache() {
	{ mkdir -p -- "$LAB_CACHE/locks" "$LAB_CACHE/logs" 2>/dev/null && [ -w "$LAB_CACHE/locks" ]; } ||
		die "cannot write to $LAB_CACHE" "set XDG_CACHE_HOME to a directory that you can write"
}

# free_space DIR: print the free MB on its file system.
free_space() {
	df -Pk -- "$1" | awk 'NR == 2 { print int($4 / 1024) }'
}

# need_space MB WHAT: stop with an error unless the cache has that much free space.
need_space() {
	local free
	free=$(free_space "$LAB_CACHE")
	[ "$free" -ge "$1" ] ||
		die "$LAB_CACHE has $free MB free, $2 needs $1" "free some space, or set XDG_CACHE_HOME"
}

# lock FD NAME WHAT: hold the cache's lock NAME on descriptor FD until the script ends; print a
# message if another run holds it. Steps inherit FD unless it is 8 or 9: in that case the lock is
# free as soon as the script has ended, even by SIGKILL.
lock() {
	local fd=$1 name=$2 what=$3
	eval "exec $fd>>\"\$LAB_CACHE/locks/\$name\"" || die "cannot open the lock $LAB_CACHE/locks/$name" "delete it"
	flock -n "$fd" && return 0
	say "waiting for another run: $what"
	# Wait in the background, so that a signal is handled even before the lock is free.
	set -m
	flock "$fd" &
	LAB_STEP=$!
	set +m
	wait "$LAB_STEP"
	LAB_STEP=
}

# log_tail LOG: print the last lines of a log, indented, and its path.
log_tail() {
	tail -n 15 -- "$1" | sed 's/^/    /' >&2
	say "  the whole log: $1"
}

# failed LOG PROBLEM ACTION: print the last lines of a log and an error, and exit with 2.
failed() {
	log_tail "$1"
	die "$2" "$3"
}

# Pattern of log lines that begin the last part of a step, and the name of that part, if there is
# one.
LAB_LAST_PART=
LAB_LAST_PART_NAME=

# progress_line LABEL DONE TOTAL SECONDS LOG: print the progress; DONE is empty if unknown.
progress_line() {
	local text=$1
	if [ -n "$2" ] && [ "$3" -gt 0 ]; then
		text+=", $2 of about $(($3 > $2 ? $3 : $2))"
	fi
	if [ -n "$LAB_LAST_PART" ] && grep -qE -- "$LAB_LAST_PART" "$5"; then
		text+=", $LAB_LAST_PART_NAME"
	fi
	printf '%s, %d s' "$text" "$4"
}

# run_step LABEL LOG TOTAL PATTERN COMMAND...: run COMMAND in its own process group with its output
# in LOG, and show its progress: the number of lines of LOG that match PATTERN, of about TOTAL (0:
# unknown). Return COMMAND's status. An interrupt ends the whole group.
run_step() {
	local label=$1 log=$2 total=$3 pattern=$4 begun=$SECONDS next=10 seen='' status=0
	shift 4
	: >"$log"
	set -m
	"$@" >"$log" 2>&1 </dev/null 8>&- 9>&- &
	LAB_STEP=$!
	set +m
	local pid=$LAB_STEP
	[ -t 2 ] || say "$label"
	while kill -0 "$pid" 2>/dev/null; do
		if [ "$total" -gt 0 ]; then
			seen=$(grep -cE -- "$pattern" "$log" || true)
		fi
		if [ -t 2 ]; then
			printf '\r\033[K%s' "$(progress_line "$label" "$seen" "$total" $((SECONDS - begun)) "$log")" >&2
			sleep 0.3
		else
			if ((SECONDS - begun >= next)); then
				say "$(progress_line "$label" "$seen" "$total" $((SECONDS - begun)) "$log")"
				next=$((SECONDS - begun + 10))
			fi
			sleep 0.2
		fi
	done
	wait "$pid" || status=$?
	LAB_STEP=
	if [ -t 2 ]; then
		printf '\r\033[K' >&2
		[ "$status" -ne 0 ] || say "$label: done in $((SECONDS - begun)) s"
	elif [ "$status" -eq 0 ]; then
		say "$label: done in $((SECONDS - begun)) s"
	fi
	return "$status"
}
