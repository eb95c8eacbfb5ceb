#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Makes a book of the handouts: build/book/index.html, one file that fetches
# nothing, and build/book/fibdrv-lab.pdf.
# shellcheck disable=SC2317 # step calls functions by their names
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"
root=$(dirname "$here")
parts=$root/handouts/book
title="fibdrv lab"

instructor=0
pdf=1
for word; do
	case $word in
	--instructor) instructor=1 ;;
	--html) pdf= ;;
	-h | --help)
		cat <<-END
			usage: scripts/book.sh [--instructor] [--html]
			  Makes build/book/index.html and build/book/fibdrv-lab.pdf of the handouts.
			  --instructor  with handouts/instructor.md, and the answers under the questions
			  --html        no PDF: then pandoc is all that is needed (the PDF needs LaTeX)
		END
		exit 0
		;;
	*) die "no option '$word': see scripts/book.sh --help" ;;
	esac
done

# convert OPTION...: pandoc, on no text of its own: book.lua brings the
# handouts. A warning (a formula or character it cannot show) is a failure.
convert() {
	TMPDIR=$new pandoc --from markdown --lua-filter "$parts/book.lua" --fail-if-warnings \
		-M root="$root" -M instructor="$instructor" -V lang=en-GB --toc --toc-depth 2 "$@" </dev/null
}

make_html() {
	convert --to html5 --template "$parts/book.html" --section-divs \
		-V pagetitle="$title" -V style="$(<"$parts/book.css")" -V script="$(<"$parts/book.js")" \
		--output "$new/index.html"
}

# LuaLaTeX, since it is the same on Debian and Ubuntu (which has Chromium as a
# snap only) and half as large as a browser. Its caches are not the user's.
make_pdf() {
	TEXMFVAR=$LAB_CACHE/texmf OSFONTDIR=/usr/share/fonts/truetype/dejavu \
		convert --to latex --pdf-engine lualatex --include-in-header "$parts/book.tex" \
		--top-level-division chapter -V title="$title" -V title-meta="$title" \
		-V documentclass=scrreprt -V papersize=a4 -V geometry=margin=2.2cm -V fontsize=11pt \
		-V colorlinks --output "$new/fibdrv-lab.pdf"
}

# step LABEL FUNCTION: shows progress; if it fails, what book.lua or else pandoc said.
step() {
	local said
	run_step "$1" "$log" 0 . "$2" && return
	said=$(sed -n 's/^book: //p' "$log")
	[ -z "$said" ] || die "$said; the old book is as it was"
	log_tail "$log"
	die "$1: pandoc failed, see above; the old book is as it was"
}

# In a function, so that bash has read all of this file before a step begins.
main() {
	local build name without=''
	build=$(realpath -m -- "${LAB_BUILD:-$root/build}")
	"$here/setup.sh" book
	if [ -z "$pdf" ]; then
		without="--html was given"
	elif ! "$here/setup.sh" pdf; then
		without="LaTeX is missing (see above)"
	fi
	make_cache
	log=$build/book.log
	mkdir -p -- "$build/book" || die "cannot write to $build"
	new=$(mktemp -d -- "$build/book/.new.XXXXXX")
	LAB_SCRATCH+=("$new")

	step "book: HTML" make_html
	[ -n "$without" ] || step "book: PDF" make_pdf

	# Nothing may come between the two that belong together.
	trap '' INT TERM HUP
	for name in index.html fibdrv-lab.pdf; do
		if [ -e "$new/$name" ]; then
			mv -f -- "$new/$name" "$build/book/$name"
			echo "made $build/book/$name"
		else
			rm -f -- "$build/book/$name"
		fi
	done
	[ -z "$without" ] || [ -z "$pdf" ] || say "the PDF is left out: $without"
}

main
exit
