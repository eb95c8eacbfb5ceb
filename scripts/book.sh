#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#
# Make a book of the handouts, build/book/fibdrv-lab.pdf (in another language: build/book-LANG/), or
# a site, build/site/, of static pages in all languages that load nothing from elsewhere.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=SCRIPTDIR/lib.sh
. "$here/lib.sh"
root=$(dirname "$here")
parts=$root/handouts/book
title="fibdrv lab"

# languages: print the languages of the handouts besides English.
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
site=
pages=
lang=
while [ $# -gt 0 ]; do
	case $1 in
	--site) site=1 ;;
	--instructor) instructor=1 ;;
	--lang)
		lang=${2:-}
		[[ "$(languages) " == *" $lang "* ]] || die "there is no language $lang" "choose one of$(languages)"
		shift
		;;
	--pages)
		pdf=
		pages=1
		;;
	-h | --help)
		cat <<-END
			usage: scripts/book.sh [--instructor] [--lang LANG]
			       scripts/book.sh --site [--instructor] [--pages]
			  Makes build/book/fibdrv-lab.pdf of the handouts, or the site build/site/index.html.
			  --lang LANG   in another language, into build/book-LANG/:$(languages)
			  --instructor  with the pages for teachers, and the answers under the questions;
			                of a site into build/site-instructor/, which is not to be published
			  --pages       of a site: without the sample report and the PDFs, which need LaTeX
		END
		exit 0
		;;
	*) die "unknown option $1" "see scripts/book.sh --help" ;;
	esac
	shift
done
[ -z "$pages" ] || [ -n "$site" ] || die "--pages is for a site" "add --site or omit --pages"
[ -z "$site" ] || [ -z "$lang" ] || die "a site always has all languages" "omit --lang"

# word NAME [LANG]: print the value of NAME in a language's book.yaml.
word() { sed -n "s/^$1: *//p" "$root/handouts/${2:-book}/book.yaml"; }

# convert LANG OPTION...: run pandoc on empty input, because book.lua reads the handouts. A warning
# (for example a formula or character that cannot be shown) is a failure.
convert() {
	local lang=$1
	shift
	TMPDIR=$new pandoc --from markdown --lua-filter "$parts/book.lua" --fail-if-warnings \
		--metadata-file "$root/handouts/${lang:-book}/book.yaml" -M root="$root" -M instructor="$instructor" \
		-M translated="${lang:+$new/translated-$lang}" "$@" </dev/null
}

# Use LuaLaTeX, because it is the same on Debian and Ubuntu (where Chromium is only a snap) and half
# as large as a browser. Keep its caches apart from the user's.
make_pdf() {
	# pandoc does not know LaTeX's name for every language.
	local babel fonts=$root/handouts/${1:-book}/fonts.tex
	babel=$(word babel "$1")
	TEXMFVAR=$LAB_CACHE/texmf OSFONTDIR=/usr/share/fonts/truetype/dejavu:/usr/share/fonts/opentype/noto \
		convert "$1" --to latex --pdf-engine lualatex --include-in-header "$fonts" --include-in-header "$parts/book.tex" \
		--toc --toc-depth 2 --top-level-division chapter -V title="$title" -V title-meta="$title" \
		-V lang="$(word language "$1")" -V documentclass=scrreprt -V papersize=a4 -V geometry=margin=2.2cm \
		-V fontsize=11pt -V colorlinks ${babel:+-V babel-lang="$babel"} --output "$2"
}

# make_pages LANG FOLDER LANGUAGES: write a language's pages into FOLDER, with links to LANGUAGES.
make_pages() {
	mkdir -p -- "$2/pictures"
	convert "$1" --to html5 --wrap none --template "$parts/page.html" --section-divs \
		-M site="$2" -M languages="$3" "${offers[@]}" \
		--output /dev/null
}

# make_report FOLDER: write a sample report of all stages.
make_report() {
	mkdir -p -- "$1"
	cp -- "$root/handouts/figures/report.json" "$1"
	PYTHONPATH=$root "$here/python.sh" -m grader.report "$1"
	rm -f -- "$1"/*.png
}

# step LABEL COMMAND...: run COMMAND and show progress; if it fails, print the message of book.lua
# or else the end of the log.
step() {
	local said
	run_step "$1" "$log" 0 . "${@:2}" && return
	said=$(sed -n 's/^book: //p' "$log")
	[ -z "$said" ] || die "$said; the old $kind is as it was" "correct the handout"
	failed "$log" "$1: failed; the old $kind is as it was" "see the lines above"
}

# Use a function, so that bash has read all of this file before the first step begins.
main() {
	local build out one folder list='' all=("$lang") fonts=() without='' kind=${site:+site}
	kind=${kind:-book}
	build=$(realpath -m -- "${LAB_BUILD:-$root/build}")
	out=$build/book${lang:+-$lang}
	if [ -n "$site" ]; then
		out=$build/site
		[ "$instructor" = 0 ] || out+=-instructor
		read -ra all <<<"$(languages | sed 's/(none)//')"
		all=('' "${all[@]}")
	fi
	"$here/setup.sh" book
	# Browsers have their own fonts, but PDFs and pictures need fonts installed here.
	for one in "${all[@]}"; do
		[[ $(word language "$one") != zh-* ]] || fonts=(chinese)
		list+="$(word language "$one")=$(word name "$one")=${one:+$one/} "
	done
	if [ -n "$pdf" ] && ! "$here/setup.sh" pdf "${fonts[@]}"; then
		[ -n "$site" ] || die "LaTeX is missing; the old book is as it was" "follow the message above"
		without=1 pdf=
	fi
	# Other parts of the site that the first page links to.
	offers=()
	[ -n "$pages" ] || offers+=(-M report=1)
	[ -z "$pdf" ] || offers+=(-M pdf=1)
	make_cache
	log=$build/book.log
	mkdir -p -- "$build" || die "cannot write to $build" "set LAB_BUILD to another folder"
	new=$(mktemp -d -- "$build/.book.XXXXXX")
	LAB_SCRATCH+=("$new")

	for one in "${all[@]}"; do
		[ -z "$one" ] || "$here/translate.sh" --lang "$one" make "$new/translated-$one"
		folder=$new/made${site:+${one:+/$one}}
		mkdir -p -- "$folder"
		[ -z "$site" ] || step "site: pages${one:+ in $one}" make_pages "$one" "$folder" "$list"
		[ -z "$pdf" ] || step "$kind: PDF${one:+ in $one}" make_pdf "$one" "$folder/fibdrv-lab.pdf"
	done
	[ -z "$site" ] || cp -- "$parts/site.css" "$parts/site.js" "$new/made"
	[ -z "$site" ] || [ -n "$pages" ] || step "site: sample report" make_report "$new/made/report"

	# Let no signal interrupt between removing the old folder and moving the new one.
	trap '' INT TERM HUP
	rm -rf -- "$out"
	chmod 755 -- "$new/made"
	mv -- "$new/made" "$out"
	[ -z "$without" ] || say "the PDFs are left out: LaTeX is missing (see above)"
	echo "made $out/$(if [ -n "$site" ]; then echo index.html; else echo fibdrv-lab.pdf; fi)"
}

main
exit
