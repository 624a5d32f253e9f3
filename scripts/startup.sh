#!/bin/sh
# Fails where the init functions of all packages of a program together take 10 ms or more: every command pays for
# them. The best of twenty runs counts, for a busy machine only ever adds to it.
#
#	scripts/startup.sh PROGRAM
set -eu
limit=10

for _ in $(seq 20); do
	GODEBUG=inittrace=1 "$1" version 2>&1 >/dev/null |
		awk '$1 == "init" { sum += $5 } END { if (sum) print sum }' # init PACKAGE @0.1 ms, 0.2 ms clock, ...
done | sort -n | awk -v limit="$limit" '
	NR == 1 { best = $1 }
	END {
		printf "packages are initialized in %.2f ms (limit %d ms)\n", best, limit
		exit !(NR == 20 && best < limit)
	}'
