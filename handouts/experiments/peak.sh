#!/usr/bin/env bash
# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
# peak.sh [N]: measure by massif the peak memory of F(N), by default of F(1,000,000), for three
# versions: stage 6, which reserves what it needs; stage 6 with capacities that are powers of two; and
# stage 7, which reserves all memory at once. They run as programs, and their max_n is set to N.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
n=${1:-1000000}
if [[ ! $n =~ ^[1-9][0-9]{0,6}$ ]]; then
	echo "peak.sh: $n is out of range; give an N from 1 to 9,999,999" >&2
	exit 2
fi
scripts/setup.sh user
made=${LAB_BUILD:-build}/experiments/peak
rm -rf "$made"
mkdir -p "$made"
cp -r stages/6-* "$made/exact"
cp -r stages/6-* "$made/power-of-two"
cp -r stages/7-* "$made/preallocated"
if ! (cd "$made/power-of-two" && busybox patch -p1 -i "$here/4-capacity-doubling.patch") >/dev/null; then
	echo "peak.sh: 4-capacity-doubling.patch does not fit stage 6 any more; run git checkout stages" >&2
	exit 2
fi
printf '%-14s%12s%14s%14s\n' 'growth' 'allocations' 'its numbers' 'heap at peak'
for growth in exact power-of-two preallocated; do
	out=$(realpath "$made/$growth")
	sed -i "s/^max_n .*/max_n = $n/" "$out/exercise.toml"
	make -s -C common/userspace STAGE_DIR="$out" OUT="$out/user"
	said=$("$out/user/fib" time 1 "$n")
	valgrind -q --tool=massif --massif-out-file="$out/massif" "$out/user/fib" profile 1 "$n"
	heap=$(sed -n 's/^mem_heap_B=//p' "$out/massif" | sort -n | tail -n 1)
	[[ $said =~ ([0-9]+)\ allocations,\ ([0-9]+)\ bytes ]]
	printf '%-14s%12d%14d%14d\n' "$growth" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "$heap"
done
