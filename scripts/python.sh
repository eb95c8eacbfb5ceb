#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Run the lab's Python, with the packages of requirements.txt, on the given arguments. Make the
# Python environment in the cache before the first use. LAB_PACKAGES selects another list of
# packages, with an environment of its own.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"
requirements=${LAB_PACKAGES:-$here/../requirements.txt}

# choose_python: choose the first Python, 3.10 or later, that can make an environment; try the
# distribution's own before those on PATH. Set python and its version.
choose_python() {
	local candidate
	for candidate in /usr/bin/python3 python3 python3.13 python3.12 python3.11 python3.10; do
		have "$candidate" || continue
		version=$("$candidate" -I -S -c '
import importlib.util, sys
print("%d.%d" % sys.version_info[:2])
sys.exit(sys.version_info < (3, 10) or importlib.util.find_spec("ensurepip") is None)
' 2>/dev/null) || continue
		python=$candidate
		return 0
	done
	return 1
}

make_environment() {
	local log=$LAB_CACHE/logs/${venv##*/}.log
	# Make the environment at its final path, because it contains this path. Without the stamp,
	# no run uses it.
	rm -rf -- "$venv"
	need_space 500 "the Python environment"
	LAB_SCRATCH+=("$venv")
	run_step "Python $version environment: creating" "$log" 0 . \
		env -u PYTHONPATH -u PYTHONHOME "$python" -I -m venv "$venv" ||
		failed "$log" "cannot create a Python environment with $python" "run sudo apt-get install python3-venv"
	run_step "Python $version environment: installing ${requirements##*/}" "$log" 33 '^ *Collecting ' \
		env -u PYTHONPATH -u PYTHONHOME PIP_DISABLE_PIP_VERSION_CHECK=1 \
		"$venv/bin/python" -m pip install --no-input --progress-bar off \
		--only-binary :all: -r "$requirements" ||
		failed "$log" "pip cannot install ${requirements##*/} (see above)" "check the network"
	: >"$venv/.complete"
	LAB_SCRATCH=()
}

complete() { [ -f "$venv/.complete" ] && [ -x "$venv/bin/python" ]; }

# Use a function, so that bash has read all of this file before the first step begins.
main() {
	# For scripts/doctor.sh: print the Python, and the path of its environment, existing or not.
	local which_only='' key
	[ "${1:-}" != --which ] || which_only=1

	if ! choose_python; then
		[ -z "$which_only" ] || exit 1
		"$here/setup.sh" core
		choose_python || die "no Python 3.10 or later with venv" "install python3 and python3-venv"
	fi
	key=$({ echo "$python $version"; cat -- "$requirements"; } | sha256sum | cut -c1-12)
	venv=$LAB_CACHE/venv-$version-$key
	if [ -n "$which_only" ]; then
		printf '%s %s\n' "$(command -v "$python")" "$venv"
		exit 0
	fi
	if ! complete; then
		make_cache
		# Use descriptor 7, which steps inherit: pip may outlive a killed run, and no other
		# run may begin before pip has ended.
		lock 7 "${venv##*/}" "it makes the Python environment"
		complete || make_environment
		exec 7>&-
	fi
	trap - EXIT INT TERM HUP
	# Some container images set PYTHONDONTWRITEBYTECODE, and then each command would compile all
	# modules again, a third of the time in which it starts.
	exec env -u PYTHONHOME -u PYTHONDONTWRITEBYTECODE "$venv/bin/python" "$@"
}

main "$@"
