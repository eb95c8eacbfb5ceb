#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Every linter of the kit over every file git knows or would know; all run, then the verdict.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2

failed=()
# check NAME COMMAND…
check() {
	local name=$1 begin=$SECONDS
	shift
	if "$@"; then
		echo "lint: $name: clean ($((SECONDS - begin)) s)"
	else
		echo "lint: $name: see above"
		failed+=("$name")
	fi
}

# What a layer of grader/ uses: .importlinter. Says nothing while all is well.
layers() {
	local said
	said=$(PYTHONPATH=$PWD scripts/python.sh -c \
		'from importlinter.cli import lint_imports_command as lint; lint()' --no-cache 2>&1) ||
		{ printf '%s\n' "$said"; return 1; }
}

# What GitHub would refuse of its workflows; the tool brings the schema along.
workflows() {
	local files
	mapfile -t files < <(git ls-files -co --exclude-standard -- '.github/workflows/*' '*-workflow.yml')
	scripts/python.sh -m check_jsonschema --quiet --builtin-schema vendor.github-workflows "${files[@]}"
}

# Some programs that kbench measures are wrong on purpose: formatted, not analysed.
mapfile -t c_files < <(git ls-files -co --exclude-standard -- '*.c' '*.h' | sort)
mapfile -t analysed < <(printf '%s\n' "${c_files[@]}" | grep -vE '^tests/kbench/' | grep '\.c$')
mapfile -t shell < <(git ls-files -co --exclude-standard -z |
	xargs -0 awk 'FNR == 1 { if (/^#!.*sh/ || FILENAME ~ /\.sh$/) print FILENAME; nextfile }')

clang_format='from clang_format import clang_format as format; format()'
check clang-format scripts/python.sh -c "$clang_format" --dry-run -Werror "${c_files[@]}"
# The kernel's macros, as far as cppcheck must know them. CHECK(!"...") and numbers as pointers are meant.
# wheel_of() in stage 12 is called with p of 3, 5 or 7 only, so that its loop runs.
check cppcheck cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 \
	--enable=warning,performance,portability --suppress=missingIncludeSystem \
	--suppress=normalCheckLevelMaxBranches --suppress=incorrectStringBooleanError \
	--suppress=intToPointerCast '--suppress=uninitvar:stages/12-*/fft_avx2.c' -D__x86_64__ '-D__has_include(x)=1' '-D__stringify(x)=#x' \
	-D__used= '-D__printf(a,b)=' '-D__noreturn=__attribute__((noreturn))' '-DKERNEL_VERSION(a,b,c)=0' \
	'-Dlist_for_each_entry_safe(e,n,h,m)=while ((e = list_next(h)))' \
	'-Dxa_for_each(xa,i,e)=while ((i = xa_next(xa)) && (e = xa_load(xa, i)))' -I common "${analysed[@]}"
check sparse scripts/sparse.sh
# checkpatch.pl --strict, and coccinelle with the kernel's semantic patches.
check "kernel checks" scripts/python.sh -m grader.tools.kernel_checks
check shellcheck shellcheck -x -P SCRIPTDIR "${shell[@]}"
check "ruff check" scripts/python.sh -m ruff check --no-cache .
check "ruff format" scripts/python.sh -m ruff format --no-cache --check .
check "import-linter" layers
check workflows workflows
check mypy scripts/python.sh -m mypy --strict --cache-dir build/mypy grader electives handouts/pictures handouts/figures scripts/module.py

if [ "${#failed[@]}" -gt 0 ]; then
	echo "lint: not clean: ${failed[*]} (make format mends what is only form)"
	exit 1
fi
