#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# Make the golden output again with bc, whose decimal arithmetic shares no code with the stages, and
# above a million with GMP, whose arithmetic is binary: bc would take hours. See README.md. Takes
# about 20 s, and writes the files only after all values are computed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# The chosen n: the largest n of each stage; the smallest and the largest n that the report
# measures; powers of two and their neighbours; pairs of n between which F(n) gets one more limb of
# 64 or of 32 bits, or one digit more than a multiple of 19 or of 9; and some random n.
chosen=(
	93 94 185 186 1000 1001 1002 1023 1024 1025 1476 1477 1522 1523 2047 2048 2049 2951 3000
	4095 4096 4097 4657 4658 5901 5902 6234 8191 8192 8193 9233 9385 9957 9958 9999 10000
	10002 10003 10004 16383 16384 16385 19960 19961 23452 23601 23602 30000 32767 32768 32769
	39266 40913 40914 65535 65536 65537 86174 86175 88778 90916 90917 92188 92189 94829 99932
	99933 99999 100000
	131071 131072 262144 300000 460936 460937 524288 683594 909146 909147 1000000
)

# GMP computes these n. bc also computes the first of them, and both results must be equal.
large=(1000000 1234567 2097152 3000000 5000000 9999999 10000000)

command -v bc >/dev/null || {
	echo "expected/make.sh: bc not found; run scripts/setup.sh" >&2
	exit 2
}
printf '#include <gmp.h>\n' | "${CC:-gcc}" -E -x c - >/dev/null 2>&1 || {
	echo "expected/make.sh: gmp.h not found; run scripts/setup.sh user" >&2
	exit 2
}
# Use a folder on the same file system, so that moving the result is one step.
tmp=$(mktemp -d ./.new.XXXXXX)
trap 'rm -rf "$tmp"' EXIT
export BC_LINE_LENGTH=0

# Compute F(0) to F(1000), each by one addition.
bc -q >"$tmp/small" <<'END'
a = 0; b = 1
for (n = 0; n <= 1000; n++) {
	print n, " ", a, "\n"
	t = a + b; a = b; b = t
}
END

# F(2m - 1) = F(m - 1)^2 + F(m)^2 and F(2m) = F(m) (2 F(m - 1) + F(m)), from the top bit of n down;
# p is the bit of n that m has reached.
doubling='define f(n) {
	auto a, b, c, p
	p = 1
	while (2 * p <= n) p *= 2
	a = 0; b = 1
	n -= p
	while (p > 1) {
		p /= 2
		c = a * a + b * b
		b *= 2 * a + b
		a = c
		if (n >= p) { n -= p; c = a + b; a = b; b = c }
	}
	return b
}'
# row N DIGITS: a line of digests.tsv.
row() {
	local last=$2 sha
	[ ${#2} -le 20 ] || last=${2: -20}
	sha=$(printf %s "$2" | sha256sum)
	printf '%d\t%d\t%s\t%s\t%s\n' "$1" "${#2}" "${2:0:20}" "$last" "${sha%% *}"
}

[ "$(wc -l <"$tmp/small")" = 1001 ]
{
	printf 'n\tdigits\tfirst\tlast\tsha256\n'
	count=$(cut -d' ' -f2 "$tmp/small" | tr -d '\n' | wc -c)
	sha=$(sha256sum "$tmp/small")
	printf '0-1000\t%d\t\t\t%s\n' "$count" "${sha%% *}"
} >"$tmp/digests"
done=0
for n in "${chosen[@]}"; do
	digits=$(printf '%s\nf(%d)\n' "$doubling" "$n" | bc -q)
	[ -n "$digits" ] || {
		echo "expected/make.sh: bc printed no F($n); run it again" >&2
		exit 1
	}
	row "$n" "$digits" >>"$tmp/digests"
	done=$((done + 1))
	[ ! -t 2 ] || printf '\r%d of %d, n = %d, %d s ' "$done" "${#chosen[@]}" "$n" "$SECONDS" >&2
done
[ ! -t 2 ] || echo >&2

"${CC:-gcc}" -O2 -o "$tmp/large" large.c -lgmp
for n in "${large[@]}"; do
	row "$n" "$("$tmp/large" "$n")" >>"$tmp/by-gmp"
done
[ "$(tail -n 1 "$tmp/digests")" = "$(head -n 1 "$tmp/by-gmp")" ] || {
	echo "expected/make.sh: bc and GMP disagree on F(${large[0]}); install other versions" >&2
	exit 1
}
tail -n +2 "$tmp/by-gmp" >>"$tmp/digests"

chmod 644 "$tmp/digests"
mv "$tmp/digests" digests.tsv
echo "expected/: a digest of 1001 numbers, $((${#chosen[@]} + ${#large[@]} - 1)) of single ones, ${SECONDS} s"
