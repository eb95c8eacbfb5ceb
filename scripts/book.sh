#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Makes a book of the handouts: build/book/index.html, one file that fetches
# nothing, and build/book/fibdrv-lab.pdf. In another language: build/book-LANG/.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"
root=$(dirname "$here")
parts=$root/handouts/book
title="fibdrv lab"

# languages: those that the handouts are in, besides English.
languages() {
	local file names=
	for file in "$root"/handouts/*/book.yaml; do
		file=${file%/book.yaml}
		[ "$file" = "$parts" ] || names+=" ${file##*/}"
	done
	echo "${names:- (none)}"
}

instructor=0
pdf=1
lang=
while [ $# -gt 0 ]; do
	case $1 in
	--instructor) instructor=1 ;;
	--lang)
		lang=${2:-}
		[[ "$(languages) " == *" $lang "* ]] || die "no language '$lang': there are$(languages)"
		shift
		;;
	--html) pdf= ;;
	-h | --help)
		cat <<-END
			usage: scripts/book.sh [--instructor] [--html] [--lang LANG]
			  Makes build/book/index.html and build/book/fibdrv-lab.pdf of the handouts.
			  --instructor  with handouts/instructor.md, and the answers under the questions
			  --html        no PDF: then pandoc is all that is needed (the PDF needs LaTeX)
			  --lang LANG   in another language, into build/book-LANG/:$(languages)
		END
		exit 0
		;;
	*) die "no option '$1': see scripts/book.sh --help" ;;
	esac
	shift
done
words=$root/handouts/${lang:-book}/book.yaml
language=$(sed -n 's/^language: *//p' "$words")
# pandoc does not know LaTeX's name of every language.
babel=$(sed -n 's/^babel: *//p' "$words")

# convert OPTION...: pandoc, on no text of its own: book.lua brings the
# handouts. A warning (a formula or character it cannot show) is a failure.
convert() {
	TMPDIR=$new pandoc --from markdown --lua-filter "$parts/book.lua" --fail-if-warnings \
		--metadata-file "$words" -M root="$root" -M instructor="$instructor" \
		-M translated="${lang:+$new/translated}" -V lang="$language" --toc --toc-depth 2 "$@" </dev/null
}

make_html() {
	convert --to html5 --wrap none --template "$parts/book.html" --section-divs \
		-V pagetitle="$title" -V style="$(<"$parts/book.css")" -V script="$(<"$parts/book.js")" \
		--output "$new/index.html"
}

# LuaLaTeX, since it is the same on Debian and Ubuntu (which has Chromium as a
# snap only) and half as large as a browser. Its caches are not the user's.
make_pdf() {
	TEXMFVAR=$LAB_CACHE/texmf OSFONTDIR=/usr/share/fonts/truetype/dejavu:/usr/share/fonts/opentype/noto \
		convert --to latex --pdf-engine lualatex --include-in-header "$parts/book.tex" \
		--top-level-division chapter -V title="$title" -V title-meta="$title" \
		-V documentclass=scrreprt -V papersize=a4 -V geometry=margin=2.2cm -V fontsize=11pt \
		-V colorlinks ${babel:+-V babel-lang="$babel"} --output "$new/fibdrv-lab.pdf"
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
	local build out name fonts=() without=''
	build=$(realpath -m -- "${LAB_BUILD:-$root/build}")
	out=$build/book${lang:+-$lang}
	"$here/setup.sh" book
	# A browser has its own; on paper and in pictures they have to be here.
	[[ $language != zh-* ]] || fonts=(chinese)
	if [ -z "$pdf" ]; then
		without="--html was given"
	elif ! "$here/setup.sh" pdf "${fonts[@]}"; then
		without="LaTeX is missing (see above)"
	fi
	make_cache
	log=$build/book.log
	mkdir -p -- "$out" || die "cannot write to $build"
	new=$(mktemp -d -- "$out/.new.XXXXXX")
	LAB_SCRATCH+=("$new")
	[ -z "$lang" ] || "$here/translate.sh" --lang "$lang" make "$new/translated"

	step "book: HTML" make_html
	[ -n "$without" ] || step "book: PDF" make_pdf

	# Nothing may come between the two that belong together.
	trap '' INT TERM HUP
	for name in index.html fibdrv-lab.pdf; do
		if [ -e "$new/$name" ]; then
			mv -f -- "$new/$name" "$out/$name"
			echo "made $out/$name"
		else
			rm -f -- "$out/$name"
		fi
	done
	[ -z "$without" ] || [ -z "$pdf" ] || say "the PDF is left out: $without"
}

main
exit
