#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Run every linter of the kit on every file that git tracks or would track, and then print the
# verdict.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2

failed=()
# check NAME COMMAND…: run a linter, and remember whether it failed.
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

# Check the layers of grader/: .importlinter. Print nothing if all is right.
layers() {
	local said
	said=$(PYTHONPATH=$PWD scripts/python.sh -c \
		'from importlinter.cli import lint_imports_command as lint; lint()' --no-cache 2>&1) ||
		{ printf '%s\n' "$said"; return 1; }
}

# Check the workflows as GitHub would; the tool includes the schema.
workflows() {
	local files
	mapfile -t files < <(git ls-files -co --exclude-standard -- '.github/workflows/*' '*-workflow.yml')
	scripts/python.sh -m check_jsonschema --quiet --builtin-schema vendor.github-workflows "${files[@]}"
}

# Check the Markdown files by the rules of .rumdl.toml.
markdown() {
	local files
	mapfile -t files < <(git ls-files -co --exclude-standard -- '*.md')
	scripts/python.sh -c 'import os, sys
os.execv(os.path.join(sys.prefix, "bin/rumdl"), ["rumdl", *sys.argv[1:]])' \
		check --no-cache --quiet "${files[@]}"
}

# Search for the phrases of scripts/vocabulary.txt in all texts of the kit, except in its history,
# in translations with their originals, in the output of planted faults, and in a learner's copies.
vocabulary() {
	local pattern instead status=0
	while IFS=$'\t' read -r pattern instead; do
		[[ $pattern && $pattern != '#'* ]] || continue
		if git grep --untracked -nIiP -e "$pattern" -- . ':!scripts/vocabulary.txt' ':!CHANGELOG.md' \
			':!LICENSE' ':!*.po' ':!*.json' ':!tests/faults' ':!work'; then
			echo "scripts/vocabulary.txt: write instead: $instead"
			status=1
		fi
	done <scripts/vocabulary.txt
	return "$status"
}

# Some programs for kbench are wrong on purpose: format them, but do not analyse them.
mapfile -t c_files < <(git ls-files -co --exclude-standard -- '*.c' '*.h' | sort)
mapfile -t analysed < <(printf '%s\n' "${c_files[@]}" | grep -vE '^tests/kbench/' | grep '\.c$')
mapfile -t shell < <(git ls-files -co --exclude-standard -z |
	xargs -0 awk 'FNR == 1 { if (/^#!.*sh/ || FILENAME ~ /\.sh$/) print FILENAME; nextfile }')

clang_format='from clang_format import clang_format as format; format()'
check clang-format scripts/python.sh -c "$clang_format" --dry-run -Werror "${c_files[@]}"
# Macros of the kernel that cppcheck must know. CHECK(!"...") and numbers as pointers are intended.
# wheel_of() in stage 12 is called only with p = 3, 5 or 7, so its loop always runs.
check cppcheck cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 \
	--enable=warning,performance,portability --suppress=missingIncludeSystem \
	--suppress=normalCheckLevelMaxBranches --suppress=incorrectStringBooleanError \
	--suppress=intToPointerCast '--suppress=uninitvar:stages/12-*/fft_avx2.c' -D__x86_64__ '-D__has_include(x)=1' '-D__stringify(x)=#x' \
	-D__used= '-D__printf(a,b)=' '-D__noreturn=__attribute__((noreturn))' '-DKERNEL_VERSION(a,b,c)=0' \
	'-Dlist_for_each_entry_safe(e,n,h,m)=while ((e = list_next(h)))' \
	'-Dxa_for_each(xa,i,e)=while ((i = xa_next(xa)) && (e = xa_load(xa, i)))' -I common "${analysed[@]}"
check sparse scripts/sparse.sh
# not exported
# Run checkpatch.pl --strict, and coccinelle with the kernel's semantic patches. A course has
# skeletons and translated comments, which do not follow all rules of a finished source.
check "kernel checks" scripts/python.sh -m grader.tools.kernel_checks
# /not exported
check shellcheck shellcheck -x -P SCRIPTDIR "${shell[@]}"
check "ruff check" scripts/python.sh -m ruff check --no-cache .
check "ruff format" scripts/python.sh -m ruff format --no-cache --check .
check "import-linter" layers
check workflows workflows
check markdown markdown
check vocabulary vocabulary
check "mypy tests" scripts/python.sh -m mypy --config-file tests/mypy.ini --cache-dir build/mypy-tests tests
check mypy scripts/python.sh -m mypy --strict --cache-dir build/mypy grader electives handouts/pictures handouts/figures scripts/module.py

if [ "${#failed[@]}" -gt 0 ]; then
	echo "lint: not clean: ${failed[*]} (make format corrects the format)"
	exit 1
fi
