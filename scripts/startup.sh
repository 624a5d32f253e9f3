#!/bin/sh
# Measures what the init functions of all packages of a program take together, since every command pays for them. The
# goal is 10 ms, in the best of twenty runs, for a busy machine only ever adds to it. What can fail it on any machine
# alike is what they allocate, which is the same on every run: an import that costs time makes itself felt there. Beyond
# that it fails at 30 ms.
#
#	scripts/startup.sh PROGRAM
set -eu
goal=10
limit=30
bytes=5100000
allocs=37000

for _ in $(seq 20); do
	# init PACKAGE @0.1 ms, 0.2 ms clock, 300 bytes, 4 allocs
	GODEBUG=inittrace=1 "$1" version 2>&1 >/dev/null |
		awk '$1 == "init" { ms += $5; bytes += $8; allocs += $10 } END { if (ms) print ms, bytes, allocs }'
done | sort -n | awk -v goal="$goal" -v limit="$limit" -v bytes="$bytes" -v allocs="$allocs" '
	NR == 1 { best = $1; size = $2; count = $3 }
	END {
		printf "packages are initialized in %.2f ms (goal %d ms, limit %d ms), ", best, goal, limit
		printf "with %d bytes (limit %d) in %d allocations (limit %d)\n", size, bytes, count, allocs
		exit !(NR == 20 && best < limit && size <= bytes && count <= allocs)
	}'
