#!/bin/sh
# Measures what the init functions of all packages of a program take together, since every command pays for them. The
# goal is 10 ms. It fails at 30 ms: a slow or busy machine takes twice as long, and one careless import as much again.
# The best of twenty runs counts, for a busy machine only ever adds to it.
#
#	scripts/startup.sh PROGRAM
set -eu
goal=10
limit=30

for _ in $(seq 20); do
	GODEBUG=inittrace=1 "$1" version 2>&1 >/dev/null |
		awk '$1 == "init" { sum += $5 } END { if (sum) print sum }' # init PACKAGE @0.1 ms, 0.2 ms clock, ...
done | sort -n | awk -v goal="$goal" -v limit="$limit" '
	NR == 1 { best = $1 }
	END {
		printf "packages are initialized in %.2f ms (goal %d ms, limit %d ms)\n", best, goal, limit
		exit !(NR == 20 && best < limit)
	}'
