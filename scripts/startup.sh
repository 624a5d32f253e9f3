#!/bin/sh
# Fails where the init functions of all packages of a program together take 10 ms or more: every command pays for
# them. The best of five runs counts, for a busy machine only ever adds to it.
#
#	scripts/startup.sh PROGRAM
set -eu
limit=10

for _ in 1 2 3 4 5; do
	GODEBUG=inittrace=1 "$1" version 2>&1 >/dev/null |
		awk '$1 == "init" { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^ms/ && $i !~ /^@/) sum += $i } END { print sum + 0 }'
done | sort -n | head -n 1 | awk -v limit="$limit" '
	{ printf "packages are initialized in %.2f ms (limit %d ms)\n", $1, limit; exit !($1 < limit) }'
